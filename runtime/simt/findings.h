// SPDX-License-Identifier: MIT
// Collects errors, each once.
#pragma once

#include "tegula/simt_device.h"

#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tegula::simt {

/// Returns for each site the number of the first one with the same instruction and line of source. An unrolled loop has
/// many copies of an instruction.
inline std::vector<uint32_t> firstCopies(const std::vector<SimtSite> &sites) {
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> known;
  std::vector<uint32_t> first;
  for (const SimtSite &site : sites) {
    const auto number = static_cast<uint32_t>(first.size());
    first.push_back(known.try_emplace({site.instruction, site.location}, number).first->second);
  }
  return first;
}

/// The findings of one launch. Threads may add findings at the same time.
class Findings {
public:
  /// `firstCopies` must outlive the object.
  explicit Findings(std::span<const uint32_t> firstCopies) : firstCopies_(firstCopies) {}

  /// Adds a finding with the text message(), unless there is one of the same fault and of copies of these sites, or
  /// kMax others.
  template <class Message> void add(SimtErrorKind fault, uint32_t site, uint32_t otherSite, Message message) {
    const std::lock_guard lock(mutex_);
    if (list_.size() < kMax && known_.insert({fault, original(site), original(otherSite)}).second)
      list_.push_back({fault, message()});
  }

  bool any() {
    const std::lock_guard lock(mutex_);
    return !list_.empty();
  }

  std::vector<SimtFinding> take() { return std::move(list_); }

private:
  static constexpr size_t kMax = 100;

  uint32_t original(uint32_t site) const { return site < firstCopies_.size() ? firstCopies_[site] : site; }

  std::span<const uint32_t> firstCopies_;
  std::mutex mutex_;
  std::set<std::tuple<SimtErrorKind, uint32_t, uint32_t>> known_;
  std::vector<SimtFinding> list_;
};

} // namespace tegula::simt
