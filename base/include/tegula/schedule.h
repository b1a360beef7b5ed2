// SPDX-License-Identifier: MIT
// How a program is mapped to a machine, apart from what it computes.
#pragma once

#include "tegula/status.h"

#include <span>
#include <string>
#include <string_view>

namespace tegula {

/// The choices that map a program to a machine; plain data. The compiler chooses a field that is 0. Any other value is
/// obeyed or refused. If a legal value has no effect on the program, Artifact::remarks says why. A field whose comment
/// names a program is read by that program only. Block sizes are fields although the program is recorded with them,
/// because a tuner searches them together with the others.
struct Schedule {
  int block_m = 0;    ///< Query rows per tile.
  int block_n = 0;    ///< Key rows per tile.
  int num_warps = 0;  ///< Warps per program instance (cuda).
  int num_stages = 0; ///< Buffers of a software-pipelined load (cuda).
  /// 1: all warps load and compute. 2: `num_warps` warps compute, and four producer warps load tiles for them (cuda,
  /// sm_90a).
  int num_roles = 0;
  /// 1: a warpgroup waits for each matrix product. 2: the last product of an iteration overlaps with the first one of
  /// the next, and warpgroups start their products one after another (cuda, `num_roles` of 2).
  int num_products = 0;
  /// 1: the online softmax finds a row's maximum before its exponentials. 2: exponentials are relative to the maximum
  /// of the keys before. If a row's sum shows that the maximum was too small, the scores are computed again (16-bit
  /// types; cuda, `num_roles` of 2).
  int num_attempts = 0;
  /// 1: each product reads its operands from shared memory. 2: a left operand of 16-bit elements stays in registers if
  /// the loop does not change it (cuda; with `num_roles` of 2, `num_products` must be 2, too).
  int held_operands = 0;
  /// The least number of program instances that share a multiprocessor, up to 4. One computes while others wait; each
  /// has its share of the registers and of shared memory (cuda; 0 means 1).
  int instances_per_sm = 0;
  /// The number of heads whose blocks of queries start together: first the first block of each head, then the second of
  /// each. Blocks that see many keys then start early, and the keys stay in the L2 cache (flash2_forward; 0 means 1).
  int heads_per_group = 0;
  /// 0: a program instance for each block of queries. 1 and 2: only the instances that the device runs at the same
  /// time, each of which works on one block after another. 1: blocks are assigned statically, from groups of heads that
  /// two rounds finish. 2: an instance that is free takes the next block from a counter in the workspace, in the order
  /// of `heads_per_group` (flash2_forward).
  int persistent = 0;

  bool operator==(const Schedule &) const = default;
};

/// A field of Schedule and its name in texts.
struct ScheduleField {
  std::string_view name;
  int Schedule::*member;
};

/// Returns all fields, in the order in which texts have them.
std::span<const ScheduleField> scheduleFields();

/// Returns one line, `block_m=96 block_n=96`, without the fields that are 0. It is part of a cache key.
std::string toString(const Schedule &schedule);
/// Parses a result of toString. The error names the unknown word and lists the legal ones.
Expected<Schedule> parseSchedule(std::string_view text);

} // namespace tegula
