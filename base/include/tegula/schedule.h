// SPDX-License-Identifier: MIT
// How a program is mapped to a machine, apart from what it computes.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tegula {

/// The work that has warps of its own.
enum class Roles : uint8_t {
  none, ///< All warps load and compute.
  /// `num_warps` warps compute. Others, in a warpgroup of their own, load and prepare tiles for them (sm_90a).
  load,
};

/// Which MMAs run at the same time as other work.
enum class Overlap : uint8_t {
  none,     ///< A warpgroup waits for each MMA.
  pingpong, ///< The last MMA of an iteration overlaps with the first of the next; warpgroups start MMAs one by one.
};

/// How program instances get their tiles of work.
enum class TileScheduler : uint8_t {
  single_tile,        ///< One program instance for each block of queries.
  static_persistent,  ///< As many instances as run at the same time; each has a fixed sequence of blocks.
  dynamic_persistent, ///< As many; an instance that is free takes the next block from a counter in the workspace.
};

/// The choices that map a program to a machine; plain data. The compiler chooses a field that is 0 or has no value. Any
/// other value is obeyed or refused. If a legal value has no effect on the program, Artifact::remarks says why. A field
/// whose comment names a program is read by that program only. Block sizes are fields although the program is recorded
/// with them, because a tuner searches them together with the others.
struct Schedule {
  int block_m = 0;                     ///< Query rows per tile.
  int block_n = 0;                     ///< Key rows per tile.
  int num_warps = 0;                   ///< Warps per program instance that compute (cuda).
  int num_stages = 0;                  ///< Slots of a software-pipelined load (cuda).
  std::optional<Roles> roles = {};     ///< cuda; the compiler chooses load where wgmma and TMA suit the program.
  std::optional<Overlap> overlap = {}; ///< cuda; pingpong needs Roles::load.
  /// False: the online softmax finds a row's maximum before its exponentials. True: exponentials are relative to the
  /// maximum of the keys before. If a row's sum shows that the maximum was too small, the scores are computed again
  /// (cuda, 16-bit types; needs Roles::load). The compiler chooses false.
  std::optional<bool> optimistic_softmax = {};
  /// False: each MMA reads its operands from shared memory. True: a left operand of 16-bit elements stays in registers
  /// if the loop does not change it (cuda; with Roles::load it needs Overlap::pingpong). The compiler chooses false.
  std::optional<bool> lhs_in_registers = {};
  /// False: lanes add the accumulators of an MMA to memory from registers. True: TMA adds those of a loop from shared
  /// memory (cuda; needs Roles::load).
  std::optional<bool> add_by_tma = {};
  /// The order in which the MMAs of a loop start, such as "s o@1" (docs/design/step_lists.md), for each loop whose MMAs
  /// have all labels of the list. It comes before the loop's own Steps (cuda; needs Roles::load). Empty: the compiler
  /// chooses.
  std::string steps = {};
  /// The least number of program instances that share a multiprocessor, up to 4. One computes while others wait; each
  /// has its share of the registers and of shared memory (cuda; 0 means 1).
  int instances_per_sm = 0;
  /// The number of heads whose blocks of queries start together: first the first block of each head, then the second of
  /// each. Blocks that see many keys then start early, and the keys stay in the L2 cache (flash2_forward; 0 means 1).
  int heads_in_l2 = 0;
  std::optional<TileScheduler> tile_scheduler = {}; ///< flash2_forward; it chooses single_tile.

  bool operator==(const Schedule &) const = default;
};

/// Returns whether program instances work on one block after another.
inline bool isPersistent(const Schedule &schedule) {
  return schedule.tile_scheduler.value_or(TileScheduler::single_tile) != TileScheduler::single_tile;
}

std::string_view toString(Roles roles);
std::string_view toString(Overlap overlap);
std::string_view toString(TileScheduler scheduler);

/// A field of Schedule and its name in texts.
struct ScheduleField {
  std::string_view name;
  /// Returns the value as a text has it; empty if the field is not set. A value with spaces is in quotation marks.
  std::string (*text)(const Schedule &schedule);
  bool (*parse)(Schedule &schedule, std::string_view text); ///< Sets the field; false if `text` is no legal value.
  std::string (*legal)();                                   ///< The legal values, for errors.
};

/// Returns all fields, in the order in which texts have them.
std::span<const ScheduleField> scheduleFields();

/// Returns `given` with the values of `choice` in fields that it does not set.
Schedule filled(Schedule given, const Schedule &choice);

/// Returns one line, `block_m=96 steps="s o@1"`, without the fields that are not set. It is part of a cache key.
std::string toString(const Schedule &schedule);
/// Parses a result of toString. The error names the unknown word and lists the legal ones.
Expected<Schedule> parseSchedule(std::string_view text);

} // namespace tegula
