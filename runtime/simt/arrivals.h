// SPDX-License-Identifier: MIT
// The order of program instances that arrive at counters in memory: what an instance did before it arrived happens
// before what a later one does after it has arrived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace tegula::simt {

/// For each program instance, how many of its arrivals happen before.
using Knowledge = std::unordered_map<uint64_t, uint32_t>;

/// The arrivals of all program instances of a launch. Threads may arrive at the same time.
class Arrivals {
public:
  /// Calls count(), which changes the counter, and orders this arrival of the instance, which has arrived `before`
  /// times, after earlier ones at the counter. `known` is what happens before it, or null. Returns what happens before
  /// the next accesses of the instance. It lives as long as this object.
  template <class Count>
  const Knowledge &arrive(const std::byte *counter, uint64_t instance, uint32_t before, const Knowledge *known,
                          Count count) {
    const std::lock_guard lock(mutex_);
    count();
    Knowledge &all = counters_[counter];
    all[instance] = before + 1;
    join(all, known);
    return known_.emplace_back(all);
  }

private:
  static void join(Knowledge &all, const Knowledge *more) {
    if (more != nullptr)
      for (const auto &[instance, arrivals] : *more)
        all[instance] = std::max(all[instance], arrivals);
  }

  std::mutex mutex_;
  std::unordered_map<const std::byte *, Knowledge> counters_;
  std::deque<Knowledge> known_;
};

} // namespace tegula::simt
