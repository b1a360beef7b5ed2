// SPDX-License-Identifier: MIT
// What is told about an error.
#include "simt/block.h"

#include <iterator>

namespace tegula {

std::string_view toString(SimtFault fault) {
  constexpr std::string_view names[] = {"race",       "unwaited copy", "uninitialised", "out of bounds",
                                        "misaligned", "divergence",    "deadlock",      "pending copy"};
  return names[static_cast<size_t>(fault)];
}

} // namespace tegula

namespace tegula::simt {
namespace {

std::string_view verbOf(AccessKind kind) {
  constexpr std::string_view verbs[] = {"read", "write", "atomic addition", "asynchronous read", "asynchronous write"};
  return verbs[static_cast<size_t>(kind)];
}

bool isCopy(AccessKind kind) { return kind == AccessKind::CopyRead || kind == AccessKind::CopyWrite; }

} // namespace

std::string Block::describeSite(uint32_t site) const {
  if (site >= launch_->sites.size())
    return "";
  return " (" + launch_->sites[site].instruction + " at " + launch_->sites[site].place + ")";
}

std::string Block::describe(uint32_t lane, uint32_t site) const {
  return "warp " + std::to_string(lane / kWarp) + " lane " + std::to_string(lane % kWarp) + describeSite(site);
}

std::string Block::describeInstance(uint64_t instance) const {
  const auto x = static_cast<uint64_t>(launch_->grid.x), y = static_cast<uint64_t>(launch_->grid.y);
  return "program instance " + std::to_string(instance % x) + ", " + std::to_string(instance / x % y) + ", " +
         std::to_string(instance / x / y);
}

std::string Block::runText() const {
  return "; " + describeInstance(instance_) + ", scheduler " + std::string(toString(launch_->schedule.scheduler)) +
         ", seed " + std::to_string(launch_->schedule.seed);
}

void Block::reportInstances(uint32_t tensor, int64_t offset, const Touch &earlier, const Touch &later) {
  launch_->findings.add(SimtFault::Race, earlier.site, later.site, [&] {
    return "race on tensor '" + launch_->memory.tensors()[tensor].name() + "', byte " + std::to_string(offset) + ": " +
           std::string(verbOf(earlier.kind)) + " by " + describeInstance(earlier.instance - 1) +
           describeSite(earlier.site) + " and " + std::string(verbOf(later.kind)) + " by " +
           describeInstance(later.instance - 1) + describeSite(later.site) + ", which nothing orders";
  });
}

void Block::reportConflict(const Access &access, const Conflict &conflict, const std::string &memory) {
  const Access &earlier = *conflict.earlier;
  // A copy that its own lane has not waited for; otherwise the others do not know that it did.
  const bool unwaited = isCopy(earlier.kind) && !clocks_.knows(laneOf(earlier), earlier.when);
  const SimtFault fault = unwaited ? SimtFault::UnwaitedCopy : SimtFault::Race;
  launch_->findings.add(fault, earlier.site, access.site, [&] {
    return std::string(toString(fault)) + " on " + memory + ", byte " + std::to_string(conflict.byte) + ": " +
           std::string(verbOf(earlier.kind)) + " by " + describe(laneOf(earlier), earlier.site) + ", then " +
           std::string(verbOf(access.kind)) + " by " + describe(laneOf(access), access.site) + ", without " +
           (unwaited ? "a wait for the copy" : "a barrier") + " between" + runText();
  });
}

void Block::reportAccess(SimtFault fault, const Access &access, uint32_t bytes, const std::string &problem) {
  launch_->findings.add(fault, access.site, access.site, [&] {
    return std::string(toString(fault)) + ": " + std::string(verbOf(access.kind)) + " of " + std::to_string(bytes) +
           " bytes " + problem + ", by " + describe(laneOf(access), access.site) + runText();
  });
}

void Block::reportDivergence(const Lane &lane, const Lane &other) {
  launch_->findings.add(SimtFault::Divergence, lane.site, other.site, [&] {
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
  launch_->findings.add(SimtFault::Deadlock, 0, 0, [&] {
    return "deadlock: " + std::to_string(running_) + " of " + std::to_string(lanes_.size()) +
           " lanes wait for ever: " + waiting + runText();
  });
}

void Block::reportPending(const Lane &lane) {
  const uint32_t site = lane.lastCopy.site;
  launch_->findings.add(SimtFault::PendingCopy, site, site, [&] {
    return "pending copy: " + describe(lane.number, site) + " is not waited for" + runText();
  });
}

} // namespace tegula::simt
