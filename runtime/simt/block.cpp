// SPDX-License-Identifier: MIT
#include "simt/block.h"

#include "simt/ops.h"

#include <algorithm>
#include <new>

namespace tegula::simt {

Block::Block(uint32_t lanes)
    : stacks_(lanes), lanes_(lanes), ready_(lanes / kWarp), inWarp_(lanes / kWarp), clocks_(lanes), shadow_(clocks_) {}

//===-- Start and end ---------------------------------------------------------------------------------------------===//

void Block::run(const Launch &launch, int64_t instance) {
  launch_ = &launch;
  start(instance);
  main_.switchTo(lanes_[choose_->lane(ready_, 0)].fiber);
  if (outOfMemory_)
    throw std::bad_alloc();
  launch.instances.add(instance_, shadow_, [this](auto... what) { reportInstances(what...); });
}

void Block::start(int64_t instance) {
  const Grid &grid = launch_->grid;
  instance_ = static_cast<uint64_t>(instance);
  program_[0] = static_cast<uint32_t>(instance % grid.x);
  program_[1] = static_cast<uint32_t>(instance / grid.x % grid.y);
  program_[2] = static_cast<uint32_t>(instance / grid.x / grid.y);
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    Lane &lane = lanes_[i];
    lane.block = this;
    lane.number = i;
    lane.state = LaneState::Ready;
    lane.committed = lane.waited = 0;
    lane.lastCopy = {};
    lane.copies.clear();
    lane.fiber.prepare(stacks_.top(i), runLane, &lane);
  }
  std::fill(ready_.begin(), ready_.end(), ~0U);
  std::fill(inWarp_.begin(), inWarp_.end(), 0);
  // What nobody wrote is not a number in any of the types.
  shared_.assign(launch_->sharedBytes, std::byte{0xff});
  barriers_.clear();
  clocks_.reset();
  shadow_.reset(shared_.size());
  choose_.emplace(launch_->schedule.scheduler,
                  launch_->schedule.seed * 0x9E3779B97F4A7C15 + static_cast<uint64_t>(instance),
                  static_cast<uint32_t>(ready_.size()));
  running_ = static_cast<uint32_t>(lanes_.size());
  outOfMemory_ = false;
}

void Block::runLane(void *argument) {
  Lane &lane = *static_cast<Lane *>(argument);
  const Launch &launch = *lane.block->launch_;
  launch.kernel(&simtOps, reinterpret_cast<SimtLane *>(&lane), launch.memory.words());
  lane.block->finish(lane);
}

void Block::finish(Lane &lane) {
  if (lane.lastCopy.group > lane.waited)
    reportPending(lane);
  --running_;
  block(lane, LaneState::Done, 0);
}

void Block::giveUp(Lane &lane) {
  outOfMemory_ = true;
  lane.fiber.switchTo(main_);
  __builtin_unreachable();
}

//===-- Switching -------------------------------------------------------------------------------------------------===//

void Block::leave(Lane &lane) {
  const bool anyReady = std::any_of(ready_.begin(), ready_.end(), [](uint32_t mask) { return mask != 0; });
  if (!anyReady) {
    if (running_ > 0)
      reportDeadlock();
    return lane.fiber.switchTo(main_);
  }
  if (choose_->copyLandsNow())
    landSomeCopy();
  Lane &next = lanes_[choose_->lane(ready_, lane.number)];
  ++switches_;
  if (&next != &lane)
    lane.fiber.switchTo(next.fiber);
}

void Block::block(Lane &lane, LaneState state, uint32_t site) {
  lane.state = state;
  lane.site = site;
  ready_[lane.number / kWarp] &= ~(1U << lane.number % kWarp);
  leave(lane);
}

void Block::wake(Lane &lane) {
  lane.state = LaneState::Ready;
  ready_[lane.number / kWarp] |= 1U << lane.number % kWarp;
}

void Block::maybeInterrupt(Lane &lane) {
  if (choose_->interrupts())
    leave(lane);
}

const SimtMutation *Block::mutationOf(uint32_t site) const {
  const auto &mutation = launch_->schedule.mutation;
  if (!mutation || mutation->site != site)
    return nullptr;
  launch_->mutationReached = true;
  return &*mutation;
}

//===-- Lanes that wait for each other ----------------------------------------------------------------------------===//

bool Block::warpIsTogether(const Lane &lane) {
  const Lane *warp = &lanes_[lane.number / kWarp * kWarp];
  for (uint32_t i = 0; i < kWarp; ++i)
    if (warp[i].site != lane.site) {
      reportDivergence(lane, warp[i]);
      return false;
    }
  return true;
}

void Block::wakeWarp(Lane &lane) {
  const uint32_t warp = lane.number / kWarp;
  inWarp_[warp] = 0;
  for (uint32_t i = 0; i < kWarp; ++i)
    wake(lanes_[warp * kWarp + i]);
}

void Block::meetWarp(Lane *warp) {
  uint32_t numbers[kWarp];
  for (uint32_t i = 0; i < kWarp; ++i)
    numbers[i] = warp[i].number;
  clocks_.meet(numbers);
}

void Block::barrierWarp(Lane &lane, uint32_t site) {
  if (!mutationOf(site))
    together(lane, site, [this](Lane *warp) { meetWarp(warp); });
}

void Block::barrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  if (const SimtMutation *mutation = mutationOf(site)) {
    if (mutation->weaken)
      together(lane, site, [this](Lane *warp) { meetWarp(warp); });
    return;
  }
  Barrier &barrier = barriers_[id];
  if (threads == 0)
    threads = static_cast<uint32_t>(lanes_.size());
  if (barrier.waiting.empty())
    barrier.threads = threads;
  else if (barrier.threads != threads)
    reportDivergence(lane, lanes_[barrier.waiting.front()]);
  barrier.waiting.push_back(lane.number);
  lane.site = site;
  if (barrier.waiting.size() < barrier.threads)
    return block(lane, LaneState::AtBarrier, site);
  completeBarrier(barrier);
}

void Block::completeBarrier(Barrier &barrier) {
  for (uint32_t number : barrier.waiting) {
    const Lane &lane = lanes_[number], &neighbour = lanes_[number ^ 1];
    if (lane.site != neighbour.site)
      reportDivergence(lane, neighbour);
  }
  clocks_.meet(barrier.waiting);
  for (uint32_t number : barrier.waiting)
    wake(lanes_[number]);
  barrier.waiting.clear();
}

//===-- Asynchronous copies ---------------------------------------------------------------------------------------===//

void Block::commitCopies(Lane &lane, uint32_t site) {
  if (!mutationOf(site))
    ++lane.committed;
}

void Block::waitCopies(Lane &lane, uint32_t site, uint32_t pending) {
  if (const SimtMutation *mutation = mutationOf(site)) {
    if (!mutation->weaken)
      return;
    ++pending;
  }
  if (lane.committed <= pending)
    return;
  const uint32_t last = lane.committed - pending;
  for (size_t i = lane.copies.size(); i-- > 0;)
    if (lane.copies[i].group <= last)
      land(lane, i);
  lane.waited = std::max(lane.waited, last);
  clocks_.waited(lane.number, lane.waited);
}

void Block::land(Lane &lane, size_t index) {
  const Copy copy = lane.copies[index];
  lane.copies.erase(lane.copies.begin() + static_cast<ptrdiff_t>(index));
  std::byte *to = sharedAt(copy.shared);
  std::copy_n(copy.from, copy.bytes, to);
  std::fill(to + copy.bytes, to + copy.size, std::byte{0});
}

void Block::landSomeCopy() {
  Lane &lane = lanes_[choose_->below(static_cast<uint32_t>(lanes_.size()))];
  if (!lane.copies.empty())
    land(lane, choose_->below(static_cast<uint32_t>(lane.copies.size())));
}

} // namespace tegula::simt
