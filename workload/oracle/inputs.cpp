// SPDX-License-Identifier: MIT
#include "oracle/inputs.h"
#include "oracle/convert.h"

#include <cmath>
#include <numbers>

namespace tegula::oracle {
namespace {

/// The generator splitmix64 (Steele et al. 2014). It gives the same numbers everywhere, unlike
/// std::normal_distribution.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  double uniform() { return double((bits() >> 11) + 1) * 0x1p-53; } // (0, 1]
  double normal() {                                                 // Box and Muller 1958
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t state_;
};

void addNormal(std::vector<float> &x, Random &random, double deviation) {
  for (float &number : x)
    number += float(deviation * random.normal());
}

void addOutliers(std::vector<float> &x, Random &random) {
  for (float &number : x)
    if (random.uniform() < 0.001)
      number += float(10 * random.normal());
}

/// Adds about `boost(key)` to the scores of each key, through the first element of q and k.
template <class Boost> void addToScores(Inputs &in, const Shape &shape, double scale, Boost boost) {
  constexpr double size = 32;
  if (shape.head_dim == 0)
    return;
  for (size_t n = 0; n < in.q.size(); n += shape.head_dim)
    in.q[n] = size;
  for (size_t n = 0; n < in.k.size(); n += shape.head_dim)
    in.k[n] = float(boost(int64_t(n / shape.head_dim) % shape.seqlen_k) / (scale * size));
}

/// Makes keys that carry their position in binary, as signs, and queries that carry the position that they select.
void makeOneHot(Inputs &in, const Shape &shape, double scale) {
  auto sign = [&](int64_t position, size_t c) { return c < 63 && (position >> c & 1) ? 1.0f : -1.0f; };
  float size = float(std::exp2(std::ceil(std::log2(128 / scale))));
  for (size_t n = 0; n < in.q.size(); ++n)
    in.q[n] = size * sign(oneHotKey(shape, int64_t(n / shape.head_dim) % shape.seqlen_q), n % shape.head_dim);
  for (size_t n = 0; n < in.k.size(); ++n)
    in.k[n] = sign(int64_t(n / shape.head_dim) % shape.seqlen_k, n % shape.head_dim);
}

void shape(Inputs &in, const Shape &shape, double scale, Family family, Random &random) {
  double last = double(shape.seqlen_k);
  switch (family) {
  case Family::normal:
    return;
  case Family::enlarged:
    for (auto *x : {&in.q, &in.k, &in.v})
      for (float &number : *x)
        number *= 4;
    return;
  case Family::outliers:
    for (auto *x : {&in.q, &in.k, &in.v})
      addOutliers(*x, random);
    return;
  case Family::growing_max:
    return addToScores(in, shape, scale, [&](int64_t key) { return 60 * double(key) / last; });
  case Family::growing_below:
    return addToScores(in, shape, scale, [&](int64_t key) { return 100 * double(key) / last - 120; });
  case Family::crossing_zero:
    return addToScores(in, shape, scale, [&](int64_t key) { return 120 * double(key) / last - 60; });
  case Family::falling_max:
    return addToScores(in, shape, scale, [&](int64_t key) { return -60 * double(key) / last; });
  case Family::one_hot:
    return makeOneHot(in, shape, scale);
  case Family::sinks:
    return addToScores(in, shape, scale, [](int64_t key) { return key < 4 ? 12 : 0; });
  case Family::shifted_up:
    return addToScores(in, shape, scale, [](int64_t) { return 120; });
  case Family::shifted_down:
    return addToScores(in, shape, scale, [](int64_t) { return -120; });
  case Family::far_down:
    return addToScores(in, shape, scale, [](int64_t) { return -51000; });
  case Family::uniform:
    in.q.assign(in.q.size(), 0.0f);
    return;
  }
}

void roundAll(std::vector<float> &x, DType dtype) {
  for (float &number : x)
    number = rounded(number, dtype);
}

constexpr Family kFamilies[] = {Family::normal,        Family::enlarged,      Family::outliers,     Family::growing_max,
                                Family::growing_below, Family::crossing_zero, Family::falling_max,  Family::one_hot,
                                Family::sinks,         Family::shifted_up,    Family::shifted_down, Family::far_down,
                                Family::uniform};
constexpr std::string_view kFamilyNames[] = {"normal",        "enlarged",    "outliers", "growing_max", "growing_below",
                                             "crossing_zero", "falling_max", "one_hot",  "sinks",       "shifted_up",
                                             "shifted_down",  "far_down",    "uniform"};

} // namespace

std::span<const Family> allFamilies() { return kFamilies; }

std::string_view toString(Family family) { return kFamilyNames[size_t(family)]; }

int64_t oneHotKey(const Shape &shape, int64_t query) { return shape.seqlen_k ? (query * 7 + 3) % shape.seqlen_k : 0; }

Inputs makeInputs(const Shape &s, double scale, DType dtype, Family family, uint64_t seed) {
  Inputs in{std::vector<float>(s.sizeQ()), std::vector<float>(s.sizeK()), std::vector<float>(s.sizeV())};
  Random random(seed);
  for (auto *x : {&in.q, &in.k, &in.v})
    addNormal(*x, random, 1);
  shape(in, s, scale, family, random);
  for (auto *x : {&in.q, &in.k, &in.v})
    roundAll(*x, dtype);
  return in;
}

std::vector<float> normalNumbers(int64_t count, DType dtype, uint64_t seed) {
  std::vector<float> x(count);
  Random random(seed);
  addNormal(x, random, 1);
  roundAll(x, dtype);
  return x;
}

} // namespace tegula::oracle
