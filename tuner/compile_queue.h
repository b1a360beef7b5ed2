// SPDX-License-Identifier: MIT
// Candidates compiled in threads, handed over as they are done.
#pragma once

#include "messages.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tegula::tuning {

struct Compiled {
  size_t candidate;
  Expected<CompiledProgram> program;
};

class CompileQueue {
public:
  using Compile = std::function<Expected<CompiledProgram>(size_t candidate)>;

  CompileQueue(std::vector<size_t> candidates, int threads, Compile compile);
  /// Waits for what is being compiled; starts nothing more.
  ~CompileQueue();

  /// Whether all have been handed over.
  bool empty() const { return handed_over_ == candidates_.size(); }
  /// One that is done; nullopt if none is, after a moment.
  std::optional<Compiled> next(std::chrono::milliseconds moment);

private:
  void work();
  std::optional<size_t> take();

  const std::vector<size_t> candidates_;
  const Compile compile_;
  size_t handed_over_ = 0;

  std::mutex mutex_; ///< Of the next three.
  std::condition_variable is_done_;
  size_t taken_ = 0;
  std::deque<Compiled> done_;

  std::vector<std::jthread> threads_;
};

} // namespace tegula::tuning
