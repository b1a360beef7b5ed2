// SPDX-License-Identifier: MIT
#include "random/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::random_programs {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Below this, f32 and what a GPU does with subnormal numbers may lose everything.
constexpr double kSmallest = 0x1p-126;

double down(double x) {
  float y = static_cast<float>(x);
  if (double(y) > x)
    y = std::nextafter(y, -std::numeric_limits<float>::infinity());
  return std::abs(x) < kSmallest && x != 0 ? std::min(double(y), x > 0 ? 0.0 : -kSmallest) : double(y);
}

double up(double x) { return -down(-x); }

/// Returns the value of the last bit of a number that is not 0.
double lastBit(double x) {
  int exponent;
  auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 53));
  return std::ldexp(double(mantissa & -mantissa), exponent - 53);
}

Interval ordered(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return {-kInfinity, kInfinity};
  return {std::min(a, b), std::max(a, b)};
}

} // namespace

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

FloatFormat formatOf(DType dtype) {
  switch (dtype) {
  case DType::e4m3:
    return {.significantBits = 4, .lowest = -9, .largest = 448, .hasInfinity = false};
  case DType::f16:
    return {.significantBits = 11, .lowest = -24, .largest = 65504, .hasInfinity = true};
  case DType::bf16:
    return {.significantBits = 8, .lowest = -133, .largest = 0x1.fep127, .hasInfinity = true};
  default:
    return {.significantBits = 24, .lowest = -149, .largest = 0x1.fffffep127, .hasInfinity = true};
  }
}

double rounded(DType dtype, double x) {
  if (x == 0 || std::isnan(x))
    return x;
  const FloatFormat format = formatOf(dtype);
  if (std::isinf(x))
    return std::copysign(format.overflow(), x);
  const int exponent = std::max(std::ilogb(x) - format.significantBits + 1, format.lowest);
  const double result = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  return std::abs(result) > format.largest ? std::copysign(format.overflow(), x) : result;
}

Interval inF32(Interval x) { return {down(x.lo), up(x.hi)}; }

Interval cast(DType dtype, Interval x) {
  return x.isUnknown() ? x : Interval{rounded(dtype, x.lo), rounded(dtype, x.hi)};
}

Interval operator+(Interval a, Interval b) {
  Interval sum = ordered(a.lo + b.lo, a.hi + b.hi);
  return inF32(sum);
}

Interval operator-(Interval a, Interval b) { return a + Interval{-b.hi, -b.lo}; }

static Interval exactProduct(Interval a, Interval b) {
  Interval x = ordered(a.lo * b.lo, a.lo * b.hi), y = ordered(a.hi * b.lo, a.hi * b.hi);
  return hull(x, y);
}

Interval operator*(Interval a, Interval b) { return inF32(exactProduct(a, b)); }

Interval operator/(Interval a, Interval b) {
  if (b.contains(0))
    return {-kInfinity, kInfinity};
  Interval quotient = exactProduct(a, {1 / b.hi, 1 / b.lo});
  // A GPU divides with an error of at most 2 ulp.
  const double slack = 0x1p-22 * std::max(std::abs(quotient.lo), std::abs(quotient.hi));
  const bool isZero = a.lo == 0 && a.hi == 0;
  return isZero ? a : inF32({quotient.lo - slack, quotient.hi + slack});
}

Interval min(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval max(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval abs(Interval x) {
  const double largest = std::max(std::abs(x.lo), std::abs(x.hi));
  return {x.contains(0) ? 0 : std::min(std::abs(x.lo), std::abs(x.hi)), largest};
}

Interval increasing(double (*function)(double), Interval x, double error) {
  Interval y = ordered(function(x.lo), function(x.hi));
  return inF32({y.lo - error * std::abs(y.lo), y.hi + error * std::abs(y.hi)});
}

void Sum::add(Interval term) {
  lo_ += term.lo;
  hi_ += term.hi;
  const double size = std::max(std::abs(term.lo), std::abs(term.hi));
  magnitude_ += size;
  ++terms_;
  if (size == 0)
    return;
  unit_ = std::min(unit_, term.isExact() && std::isfinite(size) ? lastBit(size) : 0);
}

void Sum::addProduct(Interval a, Interval b) { add(exactProduct(a, b)); }

Interval Sum::total() const {
  if (std::isnan(lo_) || std::isnan(hi_))
    return {-kInfinity, kInfinity};
  const double lastBit = std::ldexp(1, 1 - significantBits_);
  const bool isExact = lo_ == hi_ && (magnitude_ == 0 || (unit_ > 0 && magnitude_ / unit_ <= 1 / lastBit));
  if (isExact)
    return {lo_, hi_};
  // Each addition may cut off what is below the last bit of the sum.
  const double slack = double(terms_ + 1) * lastBit * magnitude_;
  return inF32({lo_ - slack, hi_ + slack});
}

} // namespace tegula::random_programs
