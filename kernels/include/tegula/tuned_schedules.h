// SPDX-License-Identifier: MIT
// Schedules that were measured on the machine at hand, to be used before those that ship.
#pragma once

#include "tegula/attention.h"

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// Returns the part of a problem that decides which schedules are fast, as one line: "flash2 bf16 128 128 none", and
/// for a variant "flash2 bf16 128 128 none score peak f32[heads] alibi". A variant counts with
///   - what takes registers: whether it has a score, a mask, and a peak, and how many ranges,
///   - what is read: the element type and axes of its tensors,
///   - what is visited: how far its bands reach, rounded up to powers of two,
///   - its name, which stands for what its functions compute. A parameter such as the cap of softcap does not count.
std::string problemClass(const AttentionProblem &problem);

/// Shapes of one class share a schedule. Each size is rounded up to a power of two.
struct ShapeClass {
  int64_t heads = 0; ///< Of all entries of the batch.
  int64_t group = 0; ///< Heads that share one kv head.
  int64_t seqlen_q = 0;
  int64_t seqlen_k = 0;

  auto operator<=>(const ShapeClass &) const = default;
};

ShapeClass shapeClass(const AttentionShape &shape);

/// Returns whether a schedule that was tuned for one class may be used for another one of the same problem. Their
/// numbers of queries and their numbers of keys must each differ by a factor of 2 at most: the fastest schedule often
/// changes from one power of two to the next, and tunings whose lengths are a factor of 8 apart still leave no gap.
/// Decode steps, of 16 queries or fewer, are never near prefills, because they fill no more than one block. Heads do
/// not matter, because hosts rarely know them when they make a plan.
bool isNear(const ShapeClass &tuned, const ShapeClass &shape);

/// The result of one tuning.
struct TunedSchedule {
  std::string program; ///< "flash2_forward"
  std::string problem; ///< A problemClass().
  ShapeClass shape;
  Schedule schedule;
};

/// All that is known about one machine with one build of the compiler. A const one may be used from any thread.
class TunedSchedules {
public:
  void add(TunedSchedule tuned) { all_.push_back(std::move(tuned)); }
  size_t size() const { return all_.size(); }

  /// Returns the schedule of the nearest class that isNear that of `problem.expected`, in doublings over all four
  /// sizes, for the same program and problemClass. Of two that are equally near, the one for smaller sizes counts.
  /// Returns nullopt if there is none, and for variants that have functions and no name, which cannot be told apart.
  std::optional<Schedule> find(std::string_view program, const AttentionProblem &problem) const;

private:
  std::vector<TunedSchedule> all_;
};

} // namespace tegula
