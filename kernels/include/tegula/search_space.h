// SPDX-License-Identifier: MIT
// The schedules of a kernel that are worth trying, and the resources that each one needs. Every kernel declares its
// own.
#pragma once

#include "tegula/attention.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tegula {

/// The values to try for one field of a schedule.
class ScheduleAxis {
public:
  /// Makes an axis of values of the field `member`, as in ScheduleAxis(&Schedule::block_m, {64, 128}).
  template <class Field> ScheduleAxis(Field Schedule::*member, const std::vector<std::type_identity_t<Field>> &values) {
    for (const Field &value : values)
      choices_.push_back([member, value](Schedule &schedule) { schedule.*member = value; });
  }

  /// Returns functions that each set the field to one of the values.
  const std::vector<std::function<void(Schedule &)>> &choices() const { return choices_; }

private:
  std::vector<std::function<void(Schedule &)>> choices_;
};

/// All combinations of one value of each axis.
using ScheduleSpace = std::vector<ScheduleAxis>;

/// The resources that a schedule needs, estimated from the program before anything is compiled. One launch has
/// `instances` program instances, each of which runs its loop `iterations` times.
struct ResourceEstimate {
  int64_t shared_bytes = 0;   ///< Tiles of an instance that are in shared memory at the same time.
  int64_t register_words = 0; ///< 32-bit values of an instance that are in registers at the same time.
  int64_t instances = 0;
  double iterations = 0; ///< On average. The fields below are for one iteration.
  double mma_flops = 0;
  double shared_traffic = 0; ///< Bytes that warps read from shared memory.
  double exponentials = 0;
  bool uses_wgmma = false; ///< MMAs are wgmma, which is twice as fast as mma.sync.
};

/// The schedules of one program.
struct SearchSpace {
  std::vector<ScheduleSpace> (*boxes)(const Target &target, const AttentionProblem &problem);
  /// Returns the demand of a schedule. `schedule` has a value in each field that the boxes name.
  ResourceEstimate (*estimate)(const AttentionProblem &problem, const AttentionShape &shape, const Schedule &schedule);
};

/// Returns the search space of a program. Returns unsupported, with the programs that have one, if it has none.
Expected<SearchSpace> findSearchSpace(std::string_view program);

/// Returns all schedules of the boxes, each once.
std::vector<Schedule> enumerate(const std::vector<ScheduleSpace> &boxes);

} // namespace tegula
