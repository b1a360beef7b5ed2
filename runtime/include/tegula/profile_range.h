// SPDX-License-Identifier: MIT
// Ranges that profilers such as Nsight Systems show on a thread's time line.
#pragma once

#include <atomic>
#include <string_view>

namespace tegula {

/// A range of this thread's time, in the NVTX domain "tegula", from construction to destruction. Without a profiler it
/// costs a load and a branch. The first range of the process decides whether there is a profiler, at the latest when
/// the first kernel is loaded.
class ProfileRange {
public:
  /// Begins a range. Its name is `activity` and `subject` with a space in between, up to 127 bytes.
  explicit ProfileRange(std::string_view activity, std::string_view subject = {}) noexcept {
    if (wanted_.load(std::memory_order_relaxed))
      push(activity, subject);
  }
  ~ProfileRange() {
    if (pushed_)
      pop();
  }
  ProfileRange(const ProfileRange &) = delete;
  ProfileRange &operator=(const ProfileRange &) = delete;

private:
  void push(std::string_view activity, std::string_view subject) noexcept;
  static void pop() noexcept;

  static std::atomic<bool> wanted_; ///< False once it is known that no profiler listens.
  bool pushed_ = false;
};

} // namespace tegula
