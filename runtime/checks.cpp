// SPDX-License-Identifier: MIT
#include "checks.h"

#include "launch_limits.h"
#include "tensor_map.h"

namespace tegula {
namespace {

Status checkParameter(const Parameter &parameter) {
  const bool isTensor = parameter.kind == Parameter::Kind::tensor;
  if (isTensor && (parameter.rank < 1 || parameter.rank > kMaxRank))
    return invalid("parameter '" + parameter.name + "': a tensor of rank " + std::to_string(parameter.rank) +
                   ", but ranks are 1 to " + std::to_string(kMaxRank));
  const DType dtype = parameter.dtype;
  if (parameter.counter && (parameter.rank != 1 || dtype != i32))
    return invalid("parameter '" + parameter.name + "': a counter of type " + std::string(toString(dtype)) +
                   " and rank " + std::to_string(parameter.rank) + ", but counters are i32 of rank 1");
  if (!isTensor && dtype != f32 && dtype != i32 && dtype != i64)
    return invalid("parameter '" + parameter.name + "': a scalar of type " + std::string(toString(dtype)) +
                   ", but scalars are f32, i32 or i64");
  return {};
}

} // namespace

Status checkBytes(int64_t bytes) {
  return bytes >= 0 ? Status() : invalid(std::to_string(bytes) + " bytes: a size is not negative");
}

Status checkCopy(const void *to, const void *from, int64_t bytes) {
  TEGULA_RETURN_IF_ERROR(checkBytes(bytes));
  if (bytes > 0 && (to == nullptr || from == nullptr))
    return invalid(std::string("the ") + (to == nullptr ? "destination" : "source") + " of a copy is null");
  return {};
}

std::string toString(const Grid &grid) {
  return std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z);
}

Status checkGrid(const Grid &grid) {
  for (const int64_t count : {grid.x, grid.y, grid.z})
    if (count < 0 || count >= kPositionLimit)
      return invalid("grid " + toString(grid) + ": a count lies outside 0 to 2^31 - 1");
  if (!isEmpty(grid) && grid.x * grid.y > kMaxInstances / grid.z)
    return invalid("grid " + toString(grid) + ": more than 2^62 program instances");
  return {};
}

Status checkArtifact(const Artifact &artifact, std::string_view target) {
  if (artifact.target != target)
    return invalid("the artifact is for target '" + artifact.target + "', this device is '" + std::string(target) +
                   "'");
  if (artifact.parameters.size() > kMaxParameters)
    return {ErrorCode::resource_exhausted,
            std::to_string(artifact.parameters.size()) + " parameters, at most " + std::to_string(kMaxParameters)};
  if (artifact.scratch_bytes < 0)
    return invalid("scratch_bytes is " + std::to_string(artifact.scratch_bytes));
  for (const Parameter &parameter : artifact.parameters)
    TEGULA_RETURN_IF_ERROR(checkParameter(parameter));
  return checkTensorMaps(artifact);
}

Status named(const std::string &kernel, Status status) {
  return status.ok() ? status : Status(status.code(), "kernel '" + kernel + "': " + status.message());
}

Status noInterval() { return invalid("the timer has no start with a stop after it"); }

} // namespace tegula
