// SPDX-License-Identifier: MIT
// The turns that program instances of a launch take at counters in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

namespace tegula::simt {

/// Lets instances wait for each other. Threads start the instances in order, so that an instance waits only for
/// instances that have started. The instances of a cluster count as one.
class Turns {
public:
  /// Waits until come() is true. Returns false if it is not and never will be: all earlier instances have ended.
  template <class Come> bool await(int64_t instance, Come come) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return come() || first_ >= instance || abandoned_; });
    return come();
  }

  /// Wakes the instances that wait, after a counter has been raised.
  void pass() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  void end(int64_t instance) {
    const std::lock_guard lock(mutex_);
    ended_.insert(instance);
    while (ended_.erase(first_) != 0)
      ++first_;
    changed_.notify_all();
  }

  /// Ends all waits, because some instances will not run.
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t first_ = 0;       ///< The first instance that has not ended.
  std::set<int64_t> ended_; ///< The instances after it that have ended.
  bool abandoned_ = false;
};

} // namespace tegula::simt
