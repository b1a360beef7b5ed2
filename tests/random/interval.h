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
  bool contains(double x) const { return lo <= x && x <= hi; }
};

/// Returns the smallest interval that contains both.
Interval hull(Interval a, Interval b);

/// Returns the nearest number of the type, ties to even; an infinity if it is too large.
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

/// A sum in f32 in any order, of terms that may be products.
class Sum {
public:
  void add(Interval term);
  /// Adds a * b, which may be rounded to f32.
  void addProduct(Interval a, Interval b);
  Interval total() const;
  int64_t terms() const { return terms_; }

private:
  double lo_ = 0, hi_ = 0, magnitude_ = 0;
  double unit_ = std::numeric_limits<double>::infinity(); ///< Divides all terms; 0 if a term is not exact.
  int64_t terms_ = 0;
};

} // namespace tegula::random_programs
