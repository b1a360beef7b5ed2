// SPDX-License-Identifier: MIT
// The schedules of a kernel that are worth trying, and the resources that each one needs. Every kernel declares its
// own.
#pragma once

#include "tegula/attention.h"
#include "tegula/configuration.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tegula {

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

} // namespace tegula
