// SPDX-License-Identifier: MIT
#include "tegula/output_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula {
namespace {

constexpr double kLeast = 1e-30;

double differenceOf(double result, double expected) {
  if (result == expected || (std::isnan(result) && std::isnan(expected)))
    return 0;
  const double difference = std::abs(result - expected);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

std::vector<int64_t> positionOf(size_t element, const std::vector<int64_t> &shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = int64_t(element) % shape[axis];
    element /= size_t(shape[axis]);
  }
  return position;
}

OutputError compared(const HostTensor &result, const HostTensor &expected) {
  OutputError error{.name = result.name};
  size_t worst = 0;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const double difference = differenceOf(result.values[i], expected.values[i]);
    error.different += difference != 0;
    if (difference > error.error) {
      error.error = difference;
      worst = i;
    }
    if (std::isfinite(expected.values[i]))
      error.largest = std::max(error.largest, std::abs(expected.values[i]));
  }
  if (error.different > 0) {
    error.at = positionOf(worst, result.shape);
    error.result = result.values[worst];
    error.expected = expected.values[worst];
  }
  return error;
}

} // namespace

double OutputError::relative() const { return error == 0 ? 0 : error / std::max(largest, kLeast); }

std::vector<OutputError> compareOutputs(const std::vector<HostTensor> &results,
                                        const std::vector<HostTensor> &expected) {
  std::vector<OutputError> errors;
  for (const HostTensor &result : results) {
    const auto right = std::ranges::find(expected, result.name, &HostTensor::name);
    if (right != expected.end() && right->values.size() == result.values.size())
      errors.push_back(compared(result, *right));
  }
  return errors;
}

double largestError(const std::vector<OutputError> &errors) {
  double largest = 0;
  for (const OutputError &error : errors)
    largest = std::max(largest, error.relative());
  return largest;
}

Status verdict(const std::vector<OutputError> &errors, double tolerance) {
  for (const OutputError &error : errors)
    if (!(error.relative() <= tolerance))
      return {ErrorCode::launch_failed,
              fmt::format("'{}' is {} instead of {} at [{}]; the largest difference is {:.3g} of the largest number, "
                          "the tolerance {:.3g}",
                          error.name, error.result, error.expected, fmt::join(error.at, ", "), error.relative(),
                          tolerance)};
  return {};
}

} // namespace tegula
