// SPDX-License-Identifier: MIT
// Compiles candidates in threads and returns each as soon as it is done.
#pragma once

#include "tegula/kernel.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tegula::tuning {

struct Compiled {
  size_t candidate;
  Expected<std::shared_ptr<Kernel>> kernel; ///< The one that is searched.
};

class CompileQueue {
public:
  using Compile = std::function<Expected<std::shared_ptr<Kernel>>(size_t candidate)>;

  CompileQueue(std::vector<size_t> candidates, int threads, Compile compile);
  /// Waits for running compilations and starts no more.
  ~CompileQueue();

  /// Returns true if next() has returned every candidate.
  bool empty() const { return handed_over_ == candidates_.size(); }
  /// Returns a candidate that is done. Waits at most `moment` for one, then returns nullopt.
  std::optional<Compiled> next(std::chrono::milliseconds moment);

private:
  void work();
  std::optional<size_t> take();

  const std::vector<size_t> candidates_;
  const Compile compile_;
  size_t handed_over_ = 0;

  std::mutex mutex_; ///< Guards the next three members.
  std::condition_variable is_done_;
  size_t taken_ = 0;
  std::deque<Compiled> done_;

  std::vector<std::jthread> threads_;
};

} // namespace tegula::tuning
