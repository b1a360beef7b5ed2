// SPDX-License-Identifier: MIT
#include "oracle/convert.h"
#include "oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

/// Returns |x - exact|: 0 for equal infinities, and NaN for anything else that is not finite.
double distance(double x, double exact) {
  if (x == exact)
    return 0;
  return std::isfinite(x) && std::isfinite(exact) ? std::fabs(x - exact) : std::numeric_limits<double>::quiet_NaN();
}

/// Returns the smallest rounding error to expect. Subnormal f32 and bf16 numbers may count as 0, each term of a sum,
/// too.
double smallestRounding(DType dtype) {
  constexpr double terms = 256;
  return dtype == f16 ? 0x1p-25 : terms * 0x1p-126;
}

} // namespace

double Error::ratio() const { return worst == 0 ? 0 : worst / (std::max(plain, rounding) + lse); }

Error measure(const std::vector<float> &x, const std::vector<double> &exact, DType dtype) {
  Error error;
  double largest = 0;
  for (size_t n = 0; n < exact.size(); ++n) {
    double worst = distance(x[n], exact[n]);
    error.worst = std::isnan(worst) || std::isnan(error.worst) ? std::nan("") : std::max(error.worst, worst);
    if (std::isfinite(exact[n]))
      largest = std::max(largest, std::fabs(exact[n]));
  }
  error.rounding = std::max(largest * unitRoundoff(dtype), smallestRounding(dtype));
  return error;
}

double plainError(const std::vector<double> &plain, const std::vector<double> &exact) {
  double largest = 0;
  for (size_t n = 0; n < exact.size(); ++n)
    if (double d = distance(plain[n], exact[n]); d > largest)
      largest = d;
  return largest;
}

} // namespace tegula::oracle
