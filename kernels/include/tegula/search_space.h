// SPDX-License-Identifier: MIT
// Which schedules of a kernel are worth trying, and what each of them needs. Every kernel declares its own.
#pragma once

#include "tegula/attention.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tegula {

/// Values to try for one field of a schedule.
class ScheduleAxis {
public:
  /// `values` are those of the field `member`: ScheduleAxis(&Schedule::block_m, {64, 128}).
  template <class Field> ScheduleAxis(Field Schedule::*member, const std::vector<std::type_identity_t<Field>> &values) {
    for (const Field &value : values)
      choices_.push_back([member, value](Schedule &schedule) { schedule.*member = value; });
  }

  /// Functions that each set the field to one of the values.
  const std::vector<std::function<void(Schedule &)>> &choices() const { return choices_; }

private:
  std::vector<std::function<void(Schedule &)>> choices_;
};

/// Every combination of one value of each axis.
using ScheduleBox = std::vector<ScheduleAxis>;

/// What a schedule needs of a machine, counted from the program before anything is compiled: one launch has `instances`
/// program instances, each of which runs its loop `iterations` times.
struct Demand {
  int64_t shared_bytes = 0;   ///< Tiles of an instance in shared memory at the same time.
  int64_t register_words = 0; ///< 32-bit numbers of an instance in registers at the same time.
  int64_t instances = 0;
  double iterations = 0; ///< On average; the rest is of one iteration.
  double mma_flops = 0;
  double shared_traffic = 0; ///< Bytes that warps read from shared memory.
  double exponentials = 0;
  bool uses_wgmma = false; ///< By wgmma, which is twice as fast as mma.sync.
};

/// The schedules of one program.
struct SearchSpace {
  std::vector<ScheduleBox> (*boxes)(const Target &target, const AttentionProblem &problem);
  /// `schedule` has a value in each field that the boxes name.
  Demand (*demand)(const AttentionProblem &problem, const AttentionShape &shape, const Schedule &schedule);
};

/// Returns unsupported, with the names of those that have one, if `program` has no search space.
Expected<SearchSpace> findSearchSpace(std::string_view program);

/// All schedules of the boxes, each once.
std::vector<Schedule> enumerate(const std::vector<ScheduleBox> &boxes);

} // namespace tegula
