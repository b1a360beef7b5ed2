// SPDX-License-Identifier: MIT
// Schedules that were measured on this machine. They are used before those that ship.
#pragma once

#include "tegula/attention.h"

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// Returns the part of a problem that decides which schedules are fast, as one line: "flash2 bf16 128 128 none", or for
/// a variant "flash2 bf16 128 128 none score peak f32[heads] alibi". `contain_nonfinite` stands before the mask if the
/// problem has it, because containment takes registers and shared memory. So does `dropout`. The line of a variant has
/// - the parts that take registers: a score, a mask, a peak, and the number of ranges,
/// - the element types and axes of the tensors that it reads,
/// - the reach of its bands, rounded up to powers of two, which decides what is visited,
/// - its name, which stands for what its functions compute. A parameter such as the cap of softcap does not count.
std::string problemClass(const AttentionProblem &problem);

/// A class of shapes that share a schedule. Each size is rounded up to a power of two.
struct ShapeClass {
  int64_t heads = 0;                   ///< Query heads of all entries of the batch.
  int64_t query_heads_per_kv_head = 0; ///< Query heads that share one kv head.
  int64_t seqlen_q = 0;
  int64_t seqlen_k = 0;

  auto operator<=>(const ShapeClass &) const = default;
};

ShapeClass shapeClass(const AttentionShape &shape);

/// Returns true if a schedule that was tuned for one class may be used for another class of the same problem. The
/// numbers of queries, and the numbers of keys, may each differ by a factor of at most 2. The fastest schedule often
/// changes from one power of two to the next, and tunings whose lengths are a factor of 8 apart still leave no gap.
/// Decode steps, of 16 queries or fewer, are never near prefills, because they fill at most one block. Heads do not
/// matter, because hosts rarely know them when they make a plan.
bool isNear(const ShapeClass &tuned, const ShapeClass &shape);

/// The result of one tuning.
struct TunedSchedule {
  std::string program; ///< "flash2_forward"
  std::string problem; ///< A problemClass().
  ShapeClass shape;
  Schedule schedule;
};

/// The tuned schedules of one machine with one build of the compiler. Any thread may use a const object.
class TunedSchedules {
public:
  void add(TunedSchedule tuned) { all_.push_back(std::move(tuned)); }
  size_t size() const { return all_.size(); }

  /// Returns the schedule of the nearest class that isNear the class of `problem.expected`, for the same program and
  /// problemClass. The distance counts doublings over all four sizes. Of two equally near classes, the one of smaller
  /// sizes is chosen. Returns nullopt if there is none, and for variants that have functions and no name, which cannot
  /// be told apart.
  std::optional<Schedule> find(std::string_view program, const AttentionProblem &problem) const;

private:
  std::vector<TunedSchedule> all_;
};

} // namespace tegula
