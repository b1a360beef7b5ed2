// SPDX-License-Identifier: MIT
// The choice of the lane that goes on, and of the moment at which copies complete. It is random, and the same for the
// same seed.
#pragma once

#include "tegula/simt_device.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::simt {

class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t next() { // SplitMix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(uint64_t{next()} * limit >> 32); }

private:
  uint64_t state_;
};

class Chooser {
public:
  Chooser(SimtScheduler scheduler, uint64_t seed, uint32_t warps);

  /// Returns one of the ready lanes. `ready` has a mask for each warp; at least one lane is ready. `last` is the lane
  /// that stops.
  uint32_t lane(std::span<const uint32_t> ready, uint32_t last);
  /// Returns true if a ready lane need not wait until all copies in flight are complete. Only laggards wait for that.
  bool anyHurries(std::span<const uint32_t> ready) const;
  /// Returns true if a lane stops at a memory access although it could go on.
  bool interrupts() { return !hasPriorities() && random_.next() < kRarely; }
  bool obeysSequence() const { return scheduler_ != SimtScheduler::runaway; }
  bool copyCompletesAtOnce();
  bool copyLandsNow();
  uint32_t below(uint32_t limit) { return random_.below(limit); }

private:
  static constexpr uint32_t kRarely = ~0U / 256;

  bool hasPriorities() const { return scheduler_ == SimtScheduler::priority || scheduler_ == SimtScheduler::runaway; }
  bool landsLate() const { return scheduler_ == SimtScheduler::lazy || scheduler_ == SimtScheduler::runaway; }
  uint32_t priorityOf(uint32_t warp) const { return priorities_[warp / warpsOfPriority_]; }
  uint32_t anyWarp(std::span<const uint32_t> ready);
  uint32_t firstWarp(std::span<const uint32_t> ready);
  std::span<const uint32_t> withoutLaggards(std::span<const uint32_t> ready);

  SimtScheduler scheduler_;
  Random random_;
  uint32_t warpsOfPriority_;
  std::vector<uint32_t> priorities_; ///< One for each `warpsOfPriority_` warps. The rest is unused.
  std::vector<uint32_t> laggards_;   ///< The laggard of each warp, as a mask.
  std::vector<uint32_t> hurrying_;   ///< The result of withoutLaggards.
  bool lastIsLast_ = false;          ///< The laggard of the last warp goes last, otherwise that of warp 0.
};

} // namespace tegula::simt
