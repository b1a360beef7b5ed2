// SPDX-License-Identifier: MIT
#include "compile_queue.h"

#include <utility>

namespace tegula::tuning {

CompileQueue::CompileQueue(std::vector<size_t> candidates, int threads, Compile compile)
    : candidates_(std::move(candidates)), compile_(std::move(compile)) {
  for (int n = 0; n < threads; ++n)
    threads_.emplace_back([this] { work(); });
}

CompileQueue::~CompileQueue() {
  const std::lock_guard lock(mutex_);
  taken_ = candidates_.size();
}

std::optional<size_t> CompileQueue::take() {
  const std::lock_guard lock(mutex_);
  return taken_ < candidates_.size() ? std::optional(candidates_[taken_++]) : std::nullopt;
}

void CompileQueue::work() {
  while (std::optional<size_t> candidate = take()) {
    Compiled compiled{*candidate, compile_(*candidate)};
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(compiled));
    is_done_.notify_one();
  }
}

std::optional<Compiled> CompileQueue::next(std::chrono::milliseconds moment) {
  std::unique_lock lock(mutex_);
  if (!is_done_.wait_for(lock, moment, [&] { return !done_.empty(); }))
    return std::nullopt;
  Compiled compiled = std::move(done_.front());
  done_.pop_front();
  ++handed_over_;
  return compiled;
}

} // namespace tegula::tuning
