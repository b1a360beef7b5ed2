// SPDX-License-Identifier: MIT
// How a program is mapped to a machine, apart from what it computes.
#pragma once

#include "tegula/status.h"

#include <span>
#include <string>
#include <string_view>

namespace tegula {

/// Plain data. A field left at 0 is the compiler's to choose; any other value is obeyed or refused, or, where it is
/// legal but the program has no use for it, named in Artifact::remarks. What names a program is for that one alone.
/// Block sizes belong here although the program is recorded with them: a tuner searches them together with the rest.
struct Schedule {
  int block_m = 0;    ///< Query rows per tile.
  int block_n = 0;    ///< Key rows per tile.
  int num_warps = 0;  ///< Warps per program instance (cuda).
  int num_stages = 0; ///< Buffers of a software-pipelined load (cuda).
  /// 1: all warps do the same. 2: `num_warps` compute, and four more feed them from memory (cuda, sm_90a).
  int num_roles = 0;
  /// 1: a warpgroup waits for each product. 2: the last one of an iteration runs beside the first of the next, and
  /// warpgroups take turns (cuda, `num_roles` of 2).
  int num_products = 0;
  /// 1: a row's largest score is found before its exponentials. 2: exponentials are relative to the maximum that the
  /// row had before; its sum, which is needed anyway, tells whether that was wrong, and scores are then computed a
  /// second time (online softmax of 16-bit types; cuda, `num_roles` of 2).
  int num_attempts = 0;
  /// 1: each product reads its operands from shared memory. 2: left operands of 16-bit elements that a loop does not
  /// change stay in registers (cuda; with `num_roles` of 2, `num_products` must be 2, too).
  int held_operands = 0;
  /// So many program instances, up to 4, share a multiprocessor at least: one computes while others wait. Each has its
  /// part of the registers and of the shared memory (cuda; 0 is 1).
  int instances_per_sm = 0;
  /// Program instances start with the first blocks of queries of so many heads, then their second ones, and so on:
  /// rows that see many keys come early, and the keys stay in the cache (flash2_forward; 0 is 1).
  int heads_per_group = 0;
  /// 1: as many program instances as the device runs at the same time work on one block of queries after another, of as
  /// many heads at a time as two rounds take. 2: whichever is free takes the next block, in the order of
  /// `heads_per_group`, from a counter in the workspace (flash2_forward; 0: an instance for each block).
  int persistent = 0;

  bool operator==(const Schedule &) const = default;
};

/// A field by its name in texts.
struct ScheduleField {
  std::string_view name;
  int Schedule::*member;
};

/// All of them, in the order in which texts have them.
std::span<const ScheduleField> scheduleFields();

/// One line, `block_m=96 block_n=96`, without the fields that are 0; part of a cache key.
std::string toString(const Schedule &schedule);
/// The inverse of toString. The error names the unknown word and lists the legal ones.
Expected<Schedule> parseSchedule(std::string_view text);

} // namespace tegula
