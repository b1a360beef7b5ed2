// SPDX-License-Identifier: MIT
// Which lane goes on, and when copies land: random, and the same for the same seed.
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

  /// One of the lanes that are ready, of which each warp has a mask; at least one is. `last` is the lane that stops.
  uint32_t lane(std::span<const uint32_t> ready, uint32_t last);
  /// Whether some lane is ready that need not lag behind copies.
  bool anyHurries(std::span<const uint32_t> ready) const;
  /// Whether a lane stops at a memory access, where it need not.
  bool interrupts() { return !hasPriorities() && random_.next() < kRarely; }
  bool obeysSequence() const { return scheduler_ != SimtScheduler::runaway; }
  bool copyLandsAtOnce();
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
  std::vector<uint32_t> priorities_; ///< Of each so many warps; then some that nobody has.
  std::vector<uint32_t> laggards_;   ///< A lane of each warp, as a mask.
  std::vector<uint32_t> hurrying_;   ///< What withoutLaggards returns.
  bool lastIsLast_ = false;          ///< Of laggards, that of the last warp.
};

} // namespace tegula::simt
