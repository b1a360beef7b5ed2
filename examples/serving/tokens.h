// SPDX-License-Identifier: MIT
// A stand-in for the layers around attention: queries, keys and values as functions of request and position. And
// attention of a token by the definition.
#pragma once

#include "tegula/convert.h"
#include "tegula/dtype.h"

#include <cmath>
#include <cstdint>
#include <vector>

/// Returns a number of a token, from -1 to 1, which bf16 has, too. `kind` is q, k or v.
inline float number(int request, char kind, int64_t position, int64_t place) {
  uint64_t x = uint64_t(request) << 48 ^ uint64_t(kind) << 40 ^ uint64_t(position) << 16 ^ uint64_t(place);
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u; // SplitMix64.
  x = (x ^ x >> 27) * 0xBF58476D1CE4E5B9u;
  return float(int(x >> 56) - 128) / 128;
}

/// A rotary embedding of `dim` columns, whose pairs are halves apart. Its angles are those of RoFormer (Su et al.
/// 2021).
struct Rotary {
  Rotary(tegula::DType dtype, int dim, int64_t positions) : dtype(dtype), dim(dim) {
    for (int64_t position = 0; position < positions; ++position)
      for (int pair = 0; pair < dim / 2; ++pair) {
        const double angle = double(position) / std::pow(10000, 2.0 * pair / dim);
        cos.push_back(rounded(float(std::cos(angle))));
        sin.push_back(rounded(float(std::sin(angle))));
      }
  }

  /// Returns a head of q or k of a token, rotated by its position.
  std::vector<float> turned(int request, char kind, int64_t position, int64_t head) const {
    const int half = dim / 2;
    std::vector<float> row(dim);
    for (int pair = 0; pair < half; ++pair) {
      const float a = number(request, kind, position, head * dim + pair), c = cos[position * half + pair];
      const float b = number(request, kind, position, head * dim + pair + half), s = sin[position * half + pair];
      row[pair] = rounded(a * c - b * s);
      row[pair + half] = rounded(a * s + b * c);
    }
    return row;
  }
  float rounded(float x) const { return dtype == tegula::bf16 ? tegula::fromBf16(tegula::toBf16(x)) : x; }

  tegula::DType dtype;
  int dim;
  std::vector<float> cos, sin; ///< [positions, dim / 2]
};

/// Returns softmax(q k^T / sqrt(dim)) v of a token over the keys up to its position. `owner(position)` is the request
/// that has a position.
template <class Owner>
std::vector<double> plainAttention(const Rotary &rotary, Owner owner, int64_t position, int64_t head, int64_t kv_head) {
  const std::vector<float> q = rotary.turned(owner(position), 'q', position, head);
  double sum = 0;
  std::vector<double> o(rotary.dim);
  for (int64_t key = 0; key <= position; ++key) {
    const std::vector<float> k = rotary.turned(owner(key), 'k', key, kv_head);
    double score = 0;
    for (int c = 0; c < rotary.dim; ++c)
      score += double(q[c]) * k[c];
    const double p = std::exp(score / std::sqrt(double(rotary.dim)));
    sum += p;
    for (int c = 0; c < rotary.dim; ++c)
      o[c] += p * number(owner(key), 'v', key, kv_head * rotary.dim + c);
  }
  for (double &x : o)
    x /= sum;
  return o;
}
