// SPDX-License-Identifier: MIT
// Numbers in 64 bits with a bound of their rounding error. An interval contains the exact result and each result that a
// correct implementation may compute.
#pragma once

#include "tegula/dtype.h"

#include <cstdint>
#include <limits>

namespace tegula::random_programs {

struct Interval {
  double lo = 0, hi = 0;

  bool isExact() const { return lo == hi; }
  /// Returns true if nothing is known of the number. It may be NaN.
  bool isUnknown() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return lo == -infinity && hi == infinity;
  }
  bool contains(double x) const { return lo <= x && x <= hi; }
};

/// Returns the smallest interval that contains both.
Interval hull(Interval a, Interval b);

/// The numbers of a type of floats: multiples of 2^lowest with some significant bits.
struct FloatFormat {
  int significantBits;
  int lowest;
  double largest;
  bool hasInfinity;

  /// Returns what a number that is too large becomes.
  double overflow() const { return hasInfinity ? std::numeric_limits<double>::infinity() : largest; }
};
FloatFormat formatOf(DType dtype);

/// Returns the nearest number of a type of floats, ties to even; the overflow of the type if it is too large.
double rounded(DType dtype, double x);

/// Returns the interval of a number that is rounded once to f32, or not at all, as inside a fused multiply-add.
Interval inF32(Interval x);
/// Returns the interval of a number that is rounded to the type.
Interval cast(DType dtype, Interval x);

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
/// Returns a / b. b must not contain 0, or the result is everything.
Interval operator/(Interval a, Interval b);
Interval min(Interval a, Interval b);
Interval max(Interval a, Interval b);
Interval abs(Interval x);

/// Returns an increasing function of x whose implementation has a relative error of at most `error`.
Interval increasing(double (*function)(double), Interval x, double error);

/// A sum in any order, of terms that may be products, in floats with the exponents of f32.
class Sum {
public:
  explicit Sum(int significantBits = 24) : significantBits_(significantBits) {}
  void add(Interval term);
  /// Adds a * b, which may be rounded to f32.
  void addProduct(Interval a, Interval b);
  Interval total() const;
  int64_t terms() const { return terms_; }

private:
  int significantBits_;
  double lo_ = 0, hi_ = 0, magnitude_ = 0;
  double unit_ = std::numeric_limits<double>::infinity(); ///< Divides all terms; 0 if a term is not exact.
  int64_t terms_ = 0;
};

} // namespace tegula::random_programs
