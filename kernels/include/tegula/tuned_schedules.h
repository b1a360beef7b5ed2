// SPDX-License-Identifier: MIT
// Schedules that were measured on the machine at hand, to be used before those that ship.
#pragma once

#include "tegula/attention.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// The part of a problem that decides which schedules are fast, as one line: "flash2 bf16 128 128 none". A variant
/// counts as the same problem without it.
std::string problemClass(const AttentionProblem &problem);

/// Shapes of one class share a schedule. Each size is rounded up to a power of two.
struct ShapeClass {
  int64_t heads = 0; ///< Of all entries of the batch.
  int64_t group = 0; ///< Heads that share one kv head.
  int64_t seqlen_q = 0;
  int64_t seqlen_k = 0;

  bool operator==(const ShapeClass &) const = default;
};

ShapeClass shapeClass(const AttentionShape &shape);

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

  /// The schedule for the class of `problem.expected`, or for the nearest class that is known for this program and
  /// problem; nullopt if there is none.
  std::optional<Schedule> find(std::string_view program, const AttentionProblem &problem) const;

private:
  std::vector<TunedSchedule> all_;
};

} // namespace tegula
