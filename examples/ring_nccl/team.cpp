// SPDX-License-Identifier: MIT
#include "team.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {
thread_local int this_rank = -1;
}

void fail(const std::string &message) {
  static std::mutex one_message;
  one_message.lock(); // For ever: the other ranks fail because this one does.
  if (this_rank >= 0)
    std::fprintf(stderr, "ring_nccl: rank %d: %s\n", this_rank, message.c_str());
  else
    std::fprintf(stderr, "ring_nccl: %s\n", message.c_str());
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE); // Destructors would wait for other ranks.
}

void Team::run(const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks_; ++rank)
    threads.emplace_back([this, rank, &body] {
      this_rank = rank;
      body(rank);
      const std::lock_guard lock(mutex_);
      ++returned_;
      ++progress_;
      changed_.notify_all();
    });
  watch(std::unique_lock(mutex_));
  for (std::thread &thread : threads)
    thread.join();
}

void Team::watch(std::unique_lock<std::mutex> lock) {
  while (returned_ < ranks_) {
    const int64_t seen = progress_;
    const auto advanced = [&] { return progress_ != seen; };
    if (changed_.wait_for(lock, std::chrono::seconds(timeout_), advanced))
      continue;
    std::string message = "no rank has advanced for " + std::to_string(timeout_) + " s";
    for (int rank = 0; rank < ranks_; ++rank)
      message += "; rank " + std::to_string(rank) + ": " + doing_[rank];
    fail(message);
  }
}

void Team::doing(const std::string &what) {
  const std::lock_guard lock(mutex_);
  doing_[this_rank] = what;
  ++progress_;
  changed_.notify_all();
}

double Team::meet(double value) {
  std::unique_lock lock(mutex_);
  ++progress_;
  largest_ = waiting_ == 0 ? value : std::max(largest_, value);
  const int64_t meeting = meeting_;
  if (++waiting_ == ranks_) {
    result_ = largest_;
    waiting_ = 0;
    ++meeting_;
  }
  changed_.notify_all();
  changed_.wait(lock, [&] { return meeting_ != meeting; });
  return result_; // The next meeting ends only after this rank has come to it.
}
