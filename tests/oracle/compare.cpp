// SPDX-License-Identifier: MIT
#include "oracle/convert.h"
#include "oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

/// |x - exact|, 0 for equal infinities, NaN for anything else that is not finite.
double distance(double x, double exact) {
  if (x == exact)
    return 0;
  return std::isfinite(x) && std::isfinite(exact) ? std::fabs(x - exact) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

double Error::ratio() const { return worst == 0 ? 0 : worst / std::max(plain, noise); }

Error compare(const std::vector<float> &x, const std::vector<double> &plain, const std::vector<double> &exact,
              double noise, DType dtype) {
  Error error;
  double largest = 0;
  for (size_t n = 0; n < exact.size(); ++n) {
    double worst = distance(x[n], exact[n]);
    error.worst = std::isnan(worst) || std::isnan(error.worst) ? std::nan("") : std::max(error.worst, worst);
    if (double d = distance(plain[n], exact[n]); d > error.plain)
      error.plain = d;
    if (std::isfinite(exact[n]))
      largest = std::max(largest, std::fabs(exact[n]));
  }
  error.noise = std::max(noise, largest * unitRoundoff(dtype));
  return error;
}

} // namespace tegula::oracle
