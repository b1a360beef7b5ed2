// SPDX-License-Identifier: MIT
// mbarriers, and the fences that make their initialisation visible.
#include "simt/block.h"

namespace tegula::simt {

constexpr uint32_t kBytes = 8; // Size of an mbarrier.

void Block::initMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t count) {
  if (checkShared(address, kBytes, accessOf(lane, site, AccessKind::Write)) == nullptr)
    return;
  mbarriers_.insert_or_assign(*placeOf(lane.number, address, kBytes),
                              Mbarrier(count, clocks_.now(lane.number), site, clocks_.addEngine()));
}

void Block::fenceProxy(Lane &lane, uint32_t site, SimtFence kind) {
  if (executionOf(lane, site, [=, this, &lane] { fenceProxy(lane, site, kind); }) != Execution::Normal)
    return;
  for (auto &[offset, mbarrier] : mbarriers_)
    mbarrier.fenced |= mbarrier.initialised().agent == lane.number;
  if (kind == SimtFence::async_proxy)
    clocks_.fence(lane.number);
}

Mbarrier *Block::mbarrierAt(Lane &lane, uint32_t site, uint32_t address) {
  const std::optional<uint32_t> place = placeOf(lane.number, address, kBytes);
  const auto found = place ? mbarriers_.find(*place) : mbarriers_.end();
  if (found == mbarriers_.end()) {
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "uses shared memory, byte " + std::to_string(address - kSimtSharedBase) + ", which is no mbarrier");
    return nullptr;
  }
  Mbarrier &mbarrier = found->second;
  if (shadow_.lastWrite(found->first).site != mbarrier.site())
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "uses an mbarrier that was overwritten by" + describeSite(shadow_.lastWrite(found->first).site));
  if (!clocks_.knows(lane.number, mbarrier.initialised()))
    launch_->findings.add(SimtErrorKind::race, mbarrier.site(), site, [&] {
      return "race on an mbarrier: initialised by " + describe(mbarrier.initialised().agent, mbarrier.site()) +
             ", then used by " + describe(lane.number, site) + ", without a barrier between" + runText();
    });
  return &mbarrier;
}

Mbarrier *Block::signalledMbarrier(Lane &lane, uint32_t site, uint32_t address) {
  Mbarrier *mbarrier = mbarrierAt(lane, site, address);
  if (mbarrier != nullptr && !mbarrier->fenced)
    report(SimtErrorKind::missing_fence, lane.number, site,
           "signals an mbarrier that was initialised" + describeSite(mbarrier->site()) +
               " without fence.mbarrier_init after that");
  return mbarrier;
}

void Block::arriveAtMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t arrivals, uint32_t transactions) {
  const auto unchanged = [=, this, &lane] { arriveAtMbarrier(lane, site, address, arrivals, transactions); };
  const Execution execution = executionOf(lane, site, unchanged);
  if (execution == Execution::Not)
    return;
  maybeInterrupt(lane);
  Mbarrier *mbarrier = mbarrierAt(lane, site, address);
  if (mbarrier == nullptr)
    return;
  const bool isRelaxed = execution == Execution::Weaker && transactions == 0;
  mbarrier->expect(execution == Execution::Weaker ? 0 : transactions);
  if (arrivals > 0 && !isRelaxed)
    clocks_.publish(lane.number, mbarrier->arriving);
  if (!mbarrier->arrive(arrivals))
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "arrives at an mbarrier whose phase already has all " + std::to_string(mbarrier->count()) + " arrivals");
  advance(*placeOf(lane.number, address, kBytes), *mbarrier);
}

bool Block::waitAtMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t parity, bool blocking) {
  // A lane that only polls would spin for ever in a deadlock. It therefore waits after the second failed test.
  constexpr uint32_t kTries = 2;
  const auto unchanged = [=, this, &lane] { waitAtMbarrier(lane, site, address, parity, blocking); };
  const Execution execution = executionOf(lane, site, unchanged);
  if (execution == Execution::Not)
    return true;
  maybeInterrupt(lane);
  Mbarrier *mbarrier = mbarrierAt(lane, site, address);
  if (mbarrier == nullptr)
    return true;
  if (!blocking && !mbarrier->isOver(parity) && ++lane.failedTries < kTries)
    return false;
  lane.failedTries = 0;
  while (!mbarrier->isOver(parity)) {
    mbarrier->waiting.push_back(lane.number);
    block(lane, LaneState::AtMbarrier, site);
  }
  mbarrier->waited = std::max(mbarrier->waited, mbarrier->over().time);
  if (execution == Execution::Weaker)
    return true;
  clocks_.acquire(lane.number, mbarrier->arrived);
  clocks_.waited(lane.number, mbarrier->over());
  return true;
}

void Block::advance(uint32_t place, Mbarrier &mbarrier) {
  const uint32_t phase = mbarrier.current().time;
  if (!mbarrier.advance())
    return;
  for (const BulkCopy &copy : bulk_)
    if (copy.kind == SimtBulk::load && copy.mbarrier == place && mbarrier.started == phase)
      report(SimtErrorKind::barrier_misuse, copy.lane, copy.site,
             "is not done when the phase of its mbarrier ends: too few bytes are expected");
  for (uint32_t lane : std::exchange(mbarrier.waiting, {}))
    wake(lanes_[lane]);
}

} // namespace tegula::simt
