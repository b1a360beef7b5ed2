// SPDX-License-Identifier: MIT
// Instructions with which program instances take turns and arrive.
#include "simt/block.h"

#include <algorithm>
#include <atomic>

namespace tegula::simt {
namespace {

std::atomic_ref<int32_t> counterAt(std::byte *place) { return std::atomic_ref(*reinterpret_cast<int32_t *>(place)); }

bool hasCome(std::byte *place, int32_t number) { return counterAt(place).load(std::memory_order_acquire) >= number; }

} // namespace

std::byte *Block::counterAt(Lane &lane, uint32_t site, uint64_t address) {
  maybeInterrupt(lane);
  std::byte *place = accessGlobal(lane, address, sizeof(int32_t), accessOf(lane, site, AccessKind::Atomic));
  return address % sizeof(int32_t) == 0 ? place : nullptr;
}

void Block::waitForTurn(Lane &lane, uint32_t site, uint64_t address, int32_t number) {
  if (executionOf(lane, site, [=, this, &lane] { waitForTurn(lane, site, address, number); }) != Execution::Normal)
    return;
  std::byte *place = counterAt(lane, site, address);
  if (place == nullptr)
    return;
  if (!hasCome(place, number)) {
    awaited_.push_back({lane.number, place, number});
    block(lane, LaneState::AtTurn, site);
  }
  lane.turn = clocks_.now(lane.number);
  recordTurn(lane);
}

/// Wakes lanes whose turns have come. If there are none, waits for other program instances. Returns false if no lane
/// waits for a turn that can still come.
bool Block::awaitTurns() {
  const auto come = [](const AwaitedTurn &turn) { return hasCome(turn.place, turn.number); };
  if (awaited_.empty() ||
      !launch_->turns.await(cluster_, [&] { return std::any_of(awaited_.begin(), awaited_.end(), come); }))
    return false;
  std::erase_if(awaited_, [&](const AwaitedTurn &turn) {
    if (!come(turn))
      return false;
    wake(lanes_[turn.lane]);
    return true;
  });
  return true;
}

int32_t Block::readTurn(Lane &lane, uint32_t site, uint64_t address) {
  std::byte *place = counterAt(lane, site, address);
  return place == nullptr ? 0 : simt::counterAt(place).load(std::memory_order_acquire);
}

void Block::passTurn(Lane &lane, uint32_t site, uint64_t address, int32_t number) {
  if (executionOf(lane, site, [=, this, &lane] { passTurn(lane, site, address, number); }) != Execution::Normal)
    return;
  std::byte *place = counterAt(lane, site, address);
  if (place == nullptr)
    return;
  checkAdditions(lane, site);
  const std::atomic_ref<int32_t> counter = simt::counterAt(place);
  for (int32_t now = counter.load(); now < number && !counter.compare_exchange_weak(now, number);)
    ;
  launch_->turns.pass();
  recordTurn(lane);
}

int32_t Block::arrive(Lane &lane, uint32_t site, uint64_t address, int32_t last) {
  std::byte *place = counterAt(lane, site, address);
  if (place == nullptr)
    return 0;
  checkStores(lane, site);
  const std::atomic_ref<int32_t> counter = simt::counterAt(place);
  int32_t before = 0;
  const auto count = [&] {
    before = counter.load();
    counter.store(uint32_t(before) >= uint32_t(last) ? 0 : before + 1);
  };
  const Knowledge *known = known_.empty() ? nullptr : known_.back();
  known_.push_back(&launch_->arrivals.arrive(place, instance_, uint32_t(known_.size()), known, count));
  return before;
}

//===-- Checks ----------------------------------------------------------------------------------------------------===//

void Block::recordTurn(const Lane &lane) {
  if (lane.added)
    turn_ = {clocks_.now(lane.number), lane.added->tensor};
}

/// Reports an addition to the tensor of the last turn that does not happen after the wait for the turn, or not before
/// it was passed on.
void Block::recordAddition(Lane &lane, uint32_t site, uint64_t address) {
  lane.added = {clocks_.now(lane.number), launch_->memory.find(address)->tensor};
  if (turn_ && turn_->tensor == lane.added->tensor && !clocks_.knows(lane.number, turn_->when))
    report(SimtErrorKind::race, lane.number, site, "adds outside of its turn");
}

/// Reports a bulk addition that does not happen after the wait of its warp for a turn.
void Block::checkTurn(const Lane &lane, uint32_t site) {
  const Lane *warp = &lanes_[lane.number / kWarp * kWarp];
  if (std::any_of(warp, warp + kWarp,
                  [&](const Lane &other) { return other.turn && !clocks_.knows(lane.number, *other.turn); }))
    report(SimtErrorKind::race, lane.number, site, "adds outside of its turn");
}

/// Reports additions that do not happen before this lane passes a turn: those of other lanes, if the lane adds as they
/// do, and those by TMA that lanes of its warp have started.
void Block::checkAdditions(const Lane &lane, uint32_t site) {
  for (const Lane &other : lanes_) {
    if (lane.added && other.added && lane.added->tensor == other.added->tensor &&
        !clocks_.knows(lane.number, other.added->when))
      report(SimtErrorKind::race, lane.number, site,
             "passes a turn, but additions of warp " + std::to_string(other.number / kWarp) + " may come later");
    const bool isOfWarp = other.number / kWarp == lane.number / kWarp;
    if (isOfWarp && other.bulk.targets != 0 && !clocks_.knows(lane.number, {other.bulk.targets, other.bulk.started}))
      report(SimtErrorKind::unwaited_copy, lane.number, site, "passes a turn, but bulk additions may come later");
  }
}

/// Reports stores and additions of other lanes that do not happen before this lane arrives.
void Block::checkStores(const Lane &lane, uint32_t site) {
  for (const Lane &other : lanes_)
    if ((other.stored && !clocks_.knows(lane.number, *other.stored)) ||
        (other.added && !clocks_.knows(lane.number, other.added->when)))
      report(SimtErrorKind::race, lane.number, site,
             "arrives, but stores of warp " + std::to_string(other.number / kWarp) + " may come later");
}

} // namespace tegula::simt
