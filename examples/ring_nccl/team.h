// SPDX-License-Identifier: MIT
// The ranks of one process: a thread for each. An error or a time-out in any rank ends the process, so no rank is left
// waiting for another one.
#pragma once

#include "tegula/tegula.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

/// Ends the process, with a message that names the rank of the calling thread, if it is one.
[[noreturn]] void fail(const std::string &message);

/// Ends the process if `status` is an error of `call`.
inline void require(const tegula::host::Status &status, const char *call) {
  if (!status.ok())
    fail(std::string(call) + ": " + std::string(status.message()));
}

/// Returns the value, or ends the process if there is none.
template <class T> T valueOf(tegula::host::Expected<T> value, const char *call) {
  require(value.status(), call);
  return std::move(*value);
}

class Team {
public:
  /// Ends the process if no rank calls doing() or meet() for `timeout` seconds.
  Team(int ranks, int timeout) : ranks_(ranks), timeout_(timeout), doing_(ranks, "starting") {}

  /// Runs body(rank) for each rank in a thread of its own. Returns when all have returned.
  void run(const std::function<void(int)> &body);

  /// Notes what the calling rank does next, for the message of a time-out.
  void doing(const std::string &what);
  /// Waits until all ranks have come here. Returns the largest of their values.
  double meet(double value = 0);

private:
  void watch(std::unique_lock<std::mutex> lock);

  const int ranks_, timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> doing_;
  int returned_ = 0;
  int64_t progress_ = 0; ///< Counts calls of doing() and meet().
  int waiting_ = 0;      ///< Ranks in meet().
  int64_t meeting_ = 0;  ///< Meetings that have ended.
  double largest_ = 0, result_ = 0;
};
