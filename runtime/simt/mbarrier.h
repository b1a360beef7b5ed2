// SPDX-License-Identifier: MIT
// An mbarrier: an object in shared memory that counts arrivals and bytes of copies, phase by phase.
#pragma once

#include "simt/clocks.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tegula::simt {

class Mbarrier {
public:
  /// Makes an mbarrier that the copies of `engine` signal. The epochs of the engine are phases, counted from 1.
  Mbarrier(uint32_t count, Epoch initialised, uint32_t site, uint32_t engine)
      : initialised_(initialised), site_(site), engine_(engine), count_(count), pending_(count) {}

  Epoch initialised() const { return initialised_; }
  uint32_t site() const { return site_; }
  uint32_t count() const { return count_; }
  /// Returns the epoch of copies that start in the current phase.
  Epoch current() const { return {engine_, phase_ + 1}; }
  /// Returns the epoch of the last finished phase.
  Epoch over() const { return {engine_, phase_}; }
  bool isOver(uint32_t parity) const { return (phase_ & 1) != (parity & 1); }

  void expect(uint32_t bytes) { transactions_ += bytes; }
  /// Counts arrivals. Returns false if the phase needs fewer.
  bool arrive(uint32_t arrivals);
  void complete(uint32_t bytes) { transactions_ -= bytes; }
  /// Ends the phase and returns true if no arrival and no byte is missing.
  bool advance();

  VectorClock arriving, arrived;   ///< Clocks of the lanes that arrived in this phase, and in the one before.
  bool fenced = false;             ///< The asynchronous proxy sees the initialisation.
  std::vector<uint32_t> waiting;   ///< Lanes that wait for the phase to end.
  uint32_t started = 0;            ///< The last phase in which a copy started, and
  uint32_t lane = 0, copySite = 0; ///< the lane and site of that copy.
  uint32_t waited = 0;             ///< The last phase that a lane has waited for.

private:
  Epoch initialised_;
  uint32_t site_, engine_, count_, pending_;
  int64_t transactions_ = 0;
  uint32_t phase_ = 0;
};

inline bool Mbarrier::arrive(uint32_t arrivals) {
  const bool legal = arrivals <= pending_;
  pending_ -= legal ? arrivals : pending_;
  return legal;
}

inline bool Mbarrier::advance() {
  if (pending_ != 0 || transactions_ != 0)
    return false;
  pending_ = count_;
  ++phase_;
  arrived = std::exchange(arriving, {});
  return true;
}

} // namespace tegula::simt
