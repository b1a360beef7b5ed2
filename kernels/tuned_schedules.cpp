// SPDX-License-Identifier: MIT
#include "tegula/tuned_schedules.h"
#include "tegula/attention_words.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

namespace tegula {
namespace {

/// How many doublings lie between two classes, over all sizes.
int64_t distance(const ShapeClass &a, const ShapeClass &b) {
  int64_t sum = 0;
  for (int64_t ShapeClass::*size :
       {&ShapeClass::heads, &ShapeClass::group, &ShapeClass::seqlen_q, &ShapeClass::seqlen_k})
    sum += std::abs(int(std::bit_width(uint64_t(a.*size))) - int(std::bit_width(uint64_t(b.*size))));
  return sum;
}

int64_t roundedUp(int64_t size) { return size <= 0 ? 0 : int64_t(std::bit_ceil(uint64_t(size))); }

} // namespace

std::string problemClass(const AttentionProblem &problem) {
  return std::string(toString(problem.algorithm)) + " " + std::string(toString(problem.dtype)) + " " +
         std::to_string(problem.head_dim) + " " + std::to_string(problem.value_dim) + " " +
         std::string(toString(problem.causal));
}

ShapeClass shapeClass(const AttentionShape &shape) {
  return {.heads = roundedUp(shape.batch * shape.heads),
          .group = roundedUp(shape.kv_heads > 0 ? shape.heads / shape.kv_heads : 0),
          .seqlen_q = roundedUp(shape.seqlen_q),
          .seqlen_k = roundedUp(shape.seqlen_k)};
}

std::optional<Schedule> TunedSchedules::find(std::string_view program, const AttentionProblem &problem) const {
  std::string wanted = problemClass(problem);
  ShapeClass shape = shapeClass(problem.expected);
  const TunedSchedule *best = nullptr;
  int64_t nearest = std::numeric_limits<int64_t>::max();
  for (const TunedSchedule &tuned : all_) {
    if (tuned.program != program || tuned.problem != wanted || distance(tuned.shape, shape) >= nearest)
      continue;
    best = &tuned;
    nearest = distance(tuned.shape, shape);
  }
  return best ? std::optional(best->schedule) : std::nullopt;
}

} // namespace tegula
