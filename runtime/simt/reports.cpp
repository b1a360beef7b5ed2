// SPDX-License-Identifier: MIT
// The messages of findings.
#include "simt/block.h"

#include <algorithm>
#include <iterator>

namespace tegula {

std::string_view toString(SimtErrorKind fault) {
  constexpr std::string_view names[] = {"race",           "unwaited copy", "missing fence", "uninitialised",
                                        "out of bounds",  "misaligned",    "illegal map",   "divergence",
                                        "barrier misuse", "deadlock",      "pending copy"};
  return names[static_cast<size_t>(fault)];
}

} // namespace tegula

namespace tegula::simt {
namespace {

std::string_view verbOf(AccessKind kind) {
  constexpr std::string_view verbs[] = {"read",
                                        "write",
                                        "atomic addition",
                                        "asynchronous read",
                                        "asynchronous write",
                                        "bulk read",
                                        "bulk write",
                                        "bulk addition",
                                        "read",
                                        "write"};
  return verbs[static_cast<size_t>(kind)];
}

} // namespace

std::string Block::describeSite(uint32_t site) const {
  if (site >= launch_->sites.size())
    return "";
  return " (" + launch_->sites[site].instruction + " at " + launch_->sites[site].location + ")";
}

std::string Block::describe(uint32_t lane, uint32_t site) const {
  const std::string rank = launch_->cluster > 1 ? "instance " + std::to_string(rankOf(lane)) + " " : "";
  return rank + "warp " + std::to_string(lane % lanesOfInstance() / kWarp) + " lane " + std::to_string(lane % kWarp) +
         describeSite(site);
}

std::string Block::describeInstance(uint64_t instance) const {
  const auto x = static_cast<uint64_t>(launch_->grid.x), y = static_cast<uint64_t>(launch_->grid.y);
  return "program instance " + std::to_string(instance % x) + ", " + std::to_string(instance / x % y) + ", " +
         std::to_string(instance / x / y);
}

std::string Block::runText() const {
  return "; " + describeInstance(instance_) + ", --scheduler " + std::string(toString(launch_->schedule.scheduler)) +
         " --seed " + std::to_string(launch_->schedule.seed);
}

void Block::reportInstances(uint32_t tensor, int64_t offset, const Touch &earlier, const Touch &later) {
  launch_->findings.add(SimtErrorKind::race, earlier.site, later.site, [&] {
    return "race on tensor '" + launch_->memory.tensors()[tensor].name() + "', byte " + std::to_string(offset) + ": " +
           std::string(verbOf(earlier.kind)) + " by " + describeInstance(earlier.instance - 1) +
           describeSite(earlier.site) + " and " + std::string(verbOf(later.kind)) + " by " +
           describeInstance(later.instance - 1) + describeSite(later.site) + ", which nothing orders";
  });
}

SimtErrorKind Block::faultOf(const Access &access, const Access &earlier) const {
  // If no lane knows that an asynchronous access is complete, a wait is missing. If only the lanes of `access` do not
  // know, it is a race.
  const bool isAsync = isCopy(earlier.kind) || proxyOf(earlier.kind) == Proxy::Async || isTensor(earlier.kind);
  if (isAsync &&
      std::ranges::none_of(lanes_, [&](const Lane &lane) { return clocks_.knows(lane.number, earlier.when); }))
    return earlier.kind == AccessKind::TensorRead ? SimtErrorKind::missing_fence : SimtErrorKind::unwaited_copy;
  const uint32_t first = access.lane / access.group * access.group;
  return clocks_.allKnow(first, access.group, earlier.when, Proxy::Generic) ? SimtErrorKind::missing_fence
                                                                            : SimtErrorKind::race;
}

void Block::reportConflict(const Access &access, const Access &earlier, const std::string &where) {
  const SimtErrorKind fault = faultOf(access, earlier);
  const char *fence = isTensor(access.kind) ? "tcgen05.fence" : "fence.proxy.async";
  const char *missing = fault == SimtErrorKind::unwaited_copy   ? "a wait for the copy"
                        : fault == SimtErrorKind::missing_fence ? fence
                                                                : "a barrier";
  launch_->findings.add(fault, earlier.site, access.site, [&] {
    return std::string(toString(fault)) + " on " + where + ": " + std::string(verbOf(earlier.kind)) + " by " +
           describe(earlier.lane, earlier.site) + ", then " + std::string(verbOf(access.kind)) + " by " +
           describe(access.lane, access.site) + ", without " + missing + " between" + runText();
  });
}

void Block::reportAccess(SimtErrorKind fault, const Access &access, uint32_t bytes, const std::string &problem) {
  launch_->findings.add(fault, access.site, access.site, [&] {
    return std::string(toString(fault)) + ": " + std::string(verbOf(access.kind)) + " of " + std::to_string(bytes) +
           " bytes " + problem + ", by " + describe(access.lane, access.site) + runText();
  });
}

void Block::report(SimtErrorKind fault, uint32_t lane, uint32_t site, const std::string &problem) {
  launch_->findings.add(fault, site, site, [&] {
    return std::string(toString(fault)) + ": " + describe(lane, site) + " " + problem + runText();
  });
}

void Block::reportDivergence(const Lane &lane, const Lane &other) {
  launch_->findings.add(SimtErrorKind::divergence, lane.site, other.site, [&] {
    return "divergence: " + describe(lane.number, lane.site) + " waits for its warp, but " +
           describe(other.number, other.site) + " is elsewhere" + runText();
  });
}

void Block::reportDeadlock() {
  std::string waiting;
  uint32_t lastSite = ~0U, lastWarp = ~0U;
  for (const Lane &lane : lanes_) {
    if (lane.state == LaneState::Done || (lane.site == lastSite && lane.number / kWarp == lastWarp))
      continue;
    lastSite = lane.site;
    lastWarp = lane.number / kWarp;
    waiting += (waiting.empty() ? "" : "; ") + describe(lane.number, lane.site);
  }
  launch_->findings.add(SimtErrorKind::deadlock, 0, 0, [&] {
    return "deadlock: " + std::to_string(running_) + " of " + std::to_string(lanes_.size()) +
           " lanes wait for ever: " + waiting + runText();
  });
}

} // namespace tegula::simt
