// SPDX-License-Identifier: MIT
// The fates of the stand-in's candidates.
#pragma once

#include "tegula/schedule.h"

#include <cmath>

namespace tegula {

enum class Fate { runs, crashesLoading, crashes, hangs, isWrong, isNan, losesDevice, crashesLate };

inline Fate fateOf(const Schedule &schedule) {
  if (schedule.block_m == 16 && schedule.block_n == 32)
    return Fate::crashes;
  if (schedule.block_m == 16 && schedule.block_n == 48)
    return Fate::hangs;
  if (schedule.block_m == 16 && schedule.block_n == 64)
    return Fate::isWrong;
  if (schedule.block_m == 16 && schedule.block_n == 96)
    return Fate::isNan;
  if (schedule.block_m == 16 && schedule.block_n == 128)
    return Fate::losesDevice;
  if (schedule.block_m == 32 && schedule.block_n == 48)
    return Fate::crashesLoading;
  return schedule.block_m == 16 ? Fate::crashesLate : Fate::runs;
}

/// Returns the time of a candidate. The fastest one has block_m = 64 and block_n = 48, by about 10 %.
inline double msOf(const Schedule &schedule) {
  return 1 + 0.3 * std::abs(std::log2(schedule.block_m / 64.0)) + 0.3 * std::abs(std::log2(schedule.block_n / 48.0));
}

} // namespace tegula
