// SPDX-License-Identifier: MIT
// The schedules of a kernel that are worth trying, and the resources that each one needs. Every kernel declares its
// own.
#pragma once

#include "tegula/attention.h"
#include "tegula/configuration.h"

#include <cstdint>
#include <functional>
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

/// A launch, as far as the work of a kernel depends on it.
struct ModelledLaunch {
  AttentionShape shape;
  int64_t diagonal_offset = 0; ///< If the problem has one.
  /// Returns true if calls give a block that some of the queries and some of the keys belong to. If empty, all blocks
  /// are given.
  std::function<bool(KeyInterval queries, KeyInterval keys)> is_listed = {};
};

/// The schedules of one program.
struct SearchSpace {
  std::vector<ScheduleSpace> (*boxes)(const Target &target, const AttentionProblem &problem);
  /// Returns the demand of a schedule. `schedule` has a value in each field that the boxes name.
  ResourceEstimate (*estimate)(const AttentionProblem &problem, const ModelledLaunch &launch, const Schedule &schedule);
};

/// Returns the search space of a program. Returns unsupported, with the programs that have one, if it has none.
Expected<SearchSpace> findSearchSpace(std::string_view program);

} // namespace tegula
