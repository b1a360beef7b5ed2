// SPDX-License-Identifier: MIT
#include "reference.h"

#include <algorithm>
#include <cmath>

namespace {

using Row = std::vector<double>;

double round(double x, bool rounded) { return rounded ? fromBf16(toBf16(static_cast<float>(x))) : x; }

double dot(const Row &a, const Row &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

void addScaled(Row &sum, double factor, const Row &x) {
  for (size_t i = 0; i < x.size(); ++i)
    sum[i] += factor * x[i];
}

void roundAll(Row &x, bool rounded) {
  for (double &number : x)
    number = round(number, rounded);
}

} // namespace

Reference::Reference(const Options &options, const std::vector<uint16_t> &o, const std::vector<float> &lse)
    : options_(options), inputs_(options), o_(o), lse_(lse),
      scale_(1 / std::sqrt(static_cast<double>(options.head_dim))) {}

void Reference::read(Input input, int64_t head, int64_t position, Row &row) const {
  uint16_t numbers[256]; // The largest head_dim.
  const int64_t heads = inputs_.headsOf(input);
  inputs_.row(input, head / heads, head % heads, position, numbers);
  std::transform(numbers, numbers + options_.head_dim, row.begin(), fromBf16);
}

Row Reference::row(Input input, int64_t head, int64_t position) const {
  Row result(options_.head_dim);
  read(input, head, position, result);
  return result;
}

QueryRow Reference::query(int64_t head, int64_t position, bool rounded) const {
  const int64_t kv_head = head / (options_.heads / options_.kv_heads);
  const int64_t keys = options_.causal ? position + 1 : options_.tokens;
  const Row q = row(Input::q, head, position), d_o = row(Input::d_o, head, position);
  Row p(keys), k(q.size()), v(q.size());
  for (int64_t j = 0; j < keys; ++j) {
    read(Input::k, kv_head, j, k);
    p[j] = round(round(dot(q, k), rounded) * scale_, rounded);
  }
  const double largest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double &x : p)
    sum += x = std::exp(x - largest);

  QueryRow result{Row(q.size()), Row(q.size()), largest + std::log(sum)};
  for (int64_t j = 0; j < keys; ++j) {
    p[j] = round(p[j] / sum, rounded);
    read(Input::v, kv_head, j, v);
    addScaled(result.o, p[j], v);
  }
  roundAll(result.o, rounded);
  const double mean = round(dot(d_o, result.o), rounded);
  for (int64_t j = 0; j < keys; ++j) {
    read(Input::k, kv_head, j, k);
    read(Input::v, kv_head, j, v);
    const double dp = round(dot(d_o, v), rounded);
    addScaled(result.dq, round(p[j] * round(dp - mean, rounded) * scale_, rounded), k);
  }
  roundAll(result.dq, rounded);
  return result;
}

KeyRow Reference::key(int64_t kv_head, int64_t position, bool rounded) const {
  const int64_t group = options_.heads / options_.kv_heads, dim = options_.head_dim;
  const Row k = row(Input::k, kv_head, position), v = row(Input::v, kv_head, position);
  KeyRow result{Row(dim), Row(dim)};
  Row q(dim), d_o(dim), o(dim);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (int64_t i = options_.causal ? position : 0; i < options_.tokens; ++i) {
      read(Input::q, head, i, q);
      read(Input::d_o, head, i, d_o);
      const int64_t query = head * options_.tokens + i;
      std::transform(&o_[query * dim], &o_[query * dim] + dim, o.begin(), fromBf16);
      const double s = round(round(dot(q, k), rounded) * scale_, rounded);
      const double p = round(std::exp(s - lse_[query]), rounded);
      const double dp = round(dot(d_o, v), rounded), mean = round(dot(d_o, o), rounded);
      addScaled(result.dv, p, d_o);
      addScaled(result.dk, round(p * round(dp - mean, rounded) * scale_, rounded), q);
    }
  roundAll(result.dk, rounded);
  roundAll(result.dv, rounded);
  return result;
}
