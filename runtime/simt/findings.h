// SPDX-License-Identifier: MIT
// Collects errors, each once.
#pragma once

#include "tegula/simt_device.h"

#include <mutex>
#include <set>
#include <tuple>

namespace tegula::simt {

/// The findings of one launch. Threads may add findings at the same time.
class Findings {
public:
  /// Adds a finding with the text message(), unless there is one with the same sites and fault, or kMax others.
  template <class Message> void add(SimtErrorKind fault, uint32_t site, uint32_t otherSite, Message message) {
    const std::lock_guard lock(mutex_);
    if (list_.size() < kMax && known_.insert({fault, site, otherSite}).second)
      list_.push_back({fault, message()});
  }

  bool any() {
    const std::lock_guard lock(mutex_);
    return !list_.empty();
  }

  std::vector<SimtFinding> take() { return std::move(list_); }

private:
  static constexpr size_t kMax = 100;

  std::mutex mutex_;
  std::set<std::tuple<SimtErrorKind, uint32_t, uint32_t>> known_;
  std::vector<SimtFinding> list_;
};

} // namespace tegula::simt
