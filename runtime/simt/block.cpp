// SPDX-License-Identifier: MIT
#include "simt/block.h"

#include "simt/ops.h"

#include <algorithm>
#include <new>

namespace tegula::simt {

/// Registers of a multiprocessor, and the most that a lane can have.
constexpr uint32_t kRegisters = 65536, kMaxRegisters = 256;

Block::Block(uint32_t lanes)
    : stacks_(lanes), lanes_(lanes), ready_(lanes / kWarp), inWarp_(lanes / kWarp), warps_(lanes / kWarp),
      warpgroups_((lanes + kWarpgroup - 1) / kWarpgroup), clocks_(lanes), shadow_(clocks_), tensorShadow_(clocks_) {}

//===-- Start and end ---------------------------------------------------------------------------------------------===//

void Block::run(const Launch &launch, int64_t cluster) {
  launch_ = &launch;
  start(cluster);
  main_.switchTo(lanes_[choose_->lane(ready_, 0)].fiber);
  if (outOfMemory_)
    throw std::bad_alloc();
  launch.instances.add(instance_, shadow_, known_, [this](auto... what) { reportInstances(what...); });
  launch.turns.end(cluster);
}

void Block::start(int64_t cluster) {
  const Grid &grid = launch_->grid;
  const int64_t instance = cluster * launch_->cluster;
  cluster_ = cluster;
  awaited_.clear();
  turn_.reset();
  known_.clear();
  instance_ = static_cast<uint64_t>(instance);
  program_[0] = static_cast<uint32_t>(instance % grid.x);
  program_[1] = static_cast<uint32_t>(instance / grid.x % grid.y);
  program_[2] = static_cast<uint32_t>(instance / grid.x / grid.y);
  // Shared memory that no lane wrote reads as NaN in all floating-point types.
  shared_.assign(size_t{launch_->sharedBytes} * launch_->cluster, std::byte{0xff});
  barriers_.clear();
  clusterBarrier_ = {};
  mbarriers_.clear();
  bulk_.clear();
  clocks_.reset();
  shadow_.reset(shared_.size());
  tensorShadow_.reset(0);
  tensors_.assign(launch_->cluster, {});
  issuers_.clear();
  choose_.emplace(launch_->schedule.scheduler, launch_->schedule.seed * 0x9E3779B97F4A7C15 + instance_,
                  static_cast<uint32_t>(ready_.size()));
  outOfMemory_ = false;
  startLanes();
  startWarps();
}

void Block::startLanes() {
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    Lane &lane = lanes_[i];
    lane = Lane();
    lane.block = this;
    lane.number = i;
    lane.fiber.prepare(stacks_.top(i), runLane, &lane);
  }
  std::fill(ready_.begin(), ready_.end(), ~0U);
  std::fill(inWarp_.begin(), inWarp_.end(), 0);
  running_ = clocks_.lanes();
  runningOf_.assign(launch_->cluster, lanesOfInstance());
}

/// Resets the warps. ptxas starts all warps of a kernel that moves registers between warps with equal shares.
void Block::startWarps() {
  const auto registers = std::min(kRegisters / (lanesOfInstance() * launch_->instancesPerSm) / 8 * 8, kMaxRegisters);
  freeRegisters_.assign(launch_->cluster, 0);
  for (Warp &warp : warps_)
    warp = {.elected = choose_->below(kWarp), .registers = registers, .groups = {}};
  for (Warpgroup &warpgroup : warpgroups_)
    warpgroup = {};
}

void Block::runLane(void *argument) {
  Lane &lane = *static_cast<Lane *>(argument);
  const Launch &launch = *lane.block->launch_;
  launch.kernel(&simtOps, reinterpret_cast<SimtLane *>(&lane), launch.memory.words());
  lane.block->finish(lane);
}

void Block::finish(Lane &lane) {
  runDelayed(lane);
  if (lane.lastCopy.group > lane.waited)
    report(SimtErrorKind::pending_copy, lane.number, lane.lastCopy.site, "is not waited for");
  if (!lane.tensorLoads.values.empty())
    report(SimtErrorKind::pending_copy, lane.number, lane.tensorLoads.site, "is not waited for");
  if (lane.bulk.started > lane.bulk.read)
    report(SimtErrorKind::pending_copy, lane.number, lane.bulk.site, "is not waited for");
  const Warpgroup &warpgroup = warpgroupOf(lane);
  if (warpgroup.started > warpOf(lane).waited)
    report(SimtErrorKind::pending_copy, lane.number, warpgroup.site, "is not waited for");
  --running_;
  --runningOf_[rankOf(lane.number)];
  block(lane, LaneState::Done, 0);
}

void Block::giveUp(Lane &lane) {
  outOfMemory_ = true;
  lane.fiber.switchTo(main_);
  __builtin_unreachable();
}

//===-- Switching -------------------------------------------------------------------------------------------------===//

void Block::leave(Lane &lane) {
  if (choose_->copyLandsNow())
    completeSomeCopy();
  while (!choose_->anyHurries(ready_) && advanceSomething())
    ;
  const auto isStuck = [&] {
    return std::all_of(ready_.begin(), ready_.end(), [](uint32_t mask) { return mask == 0; });
  };
  if (isStuck() && !awaitTurns()) {
    end();
    return lane.fiber.switchTo(main_);
  }
  Lane &next = lanes_[choose_->lane(ready_, lane.number)];
  ++switches_;
  if (&next != &lane)
    lane.fiber.switchTo(next.fiber);
}

/// Ends a run in which nothing can go on. Reports a deadlock, or loads that no lane has waited for.
void Block::end() {
  if (running_ > 0)
    return reportDeadlock();
  for (const auto &[offset, mbarrier] : mbarriers_)
    if (mbarrier.started > mbarrier.waited)
      report(SimtErrorKind::pending_copy, mbarrier.lane, mbarrier.copySite, "is not waited for");
  for (const TensorCells &tensor : tensors_)
    if (!tensor.allocated.empty())
      report(SimtErrorKind::pending_copy, tensor.lane, tensor.site, "allocates columns that are never deallocated");
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

Execution Block::executionOf(Lane &lane, uint32_t site, std::function<void()> unchanged) {
  const auto &mutation = launch_->schedule.mutation;
  if (!mutation || mutation->site != site || lane.isLate)
    return Execution::Normal;
  if (mutation->change == SimtChange::delay) {
    lane.delayed = std::move(unchanged);
    return Execution::Not;
  }
  launch_->mutationReached = true;
  return mutation->change == SimtChange::weaken ? Execution::Weaker : Execution::Not;
}

void Block::runDelayed(Lane &lane) {
  if (!lane.delayed)
    return;
  lane.isLate = true;
  std::exchange(lane.delayed, nullptr)();
  lane.isLate = false;
}

//===-- Lanes that wait for each other ----------------------------------------------------------------------------===//

bool Block::areTogether(const Lane &lane, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i)
    if (lanes_[i].site != lane.site) {
      reportDivergence(lane, lanes_[i]);
      return false;
    }
  return true;
}

void Block::meetWarp(Lane *warp) {
  uint32_t numbers[kWarp];
  for (uint32_t i = 0; i < kWarp; ++i)
    numbers[i] = warp[i].number;
  clocks_.joinAll(numbers);
}

void Block::barrierWarp(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, [=, this, &lane] { barrierWarp(lane, site); }) == Execution::Normal)
    together(lane, site, [this](Lane *warp) { meetWarp(warp); });
}

void Block::barrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  const Execution execution = executionOf(lane, site, [=, this, &lane] { barrier(lane, site, id, threads); });
  if (execution == Execution::Weaker)
    together(lane, site, [this](Lane *warp) { meetWarp(warp); });
  if (execution != Execution::Normal)
    return;
  waitAt(come(lane, site, id, threads), lane, site);
}

void Block::arriveAtBarrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  if (executionOf(lane, site, [=, this, &lane] { arriveAtBarrier(lane, site, id, threads); }) != Execution::Normal)
    return;
  const std::vector<uint32_t> &gone = barriers_[{rankOf(lane.number), id}].gone;
  if (std::ranges::find(gone, lane.number) != gone.end()) {
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "arrives again at barrier " + std::to_string(id) + ", for which other threads have not come");
    return block(lane, LaneState::AtBarrier, site); // For good: nothing wakes it.
  }
  Barrier &barrier = come(lane, site, id, threads);
  barrier.gone.push_back(lane.number);
  clocks_.publish(lane.number, barrier.arrived);
  if (barrier.come == barrier.threads)
    completeBarrier(barrier);
}

void Block::waitForSequence(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  if (!choose_->obeysSequence())
    return;
  Barrier &barrier = come(lane, site, id, threads);
  barrier.isSequence = true;
  waitAt(barrier, lane, site);
}

void Block::arriveAtSequence(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  if (!choose_->obeysSequence())
    return;
  Barrier &barrier = come(lane, site, id, threads);
  barrier.isSequence = true;
  if (barrier.come == barrier.threads)
    completeBarrier(barrier);
}

/// Counts the lane as arrived, and reports wrong numbers of threads.
Block::Barrier &Block::come(Lane &lane, uint32_t site, uint32_t id, uint32_t threads) {
  constexpr uint32_t kBarriers = 16;
  Barrier &barrier = barriers_[{rankOf(lane.number), id}];
  if (threads == 0)
    threads = lanesOfInstance();
  if (id >= kBarriers || threads % kWarp != 0)
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "names barrier " + std::to_string(id) + " for " + std::to_string(threads) +
               " threads; legal are 0 to 15 and multiples of 32");
  if (barrier.come == 0)
    barrier.threads = threads;
  else if (barrier.threads != threads)
    report(SimtErrorKind::barrier_misuse, lane.number, site,
           "brings " + std::to_string(threads) + " threads to barrier " + std::to_string(id) +
               ", which already waits for " + std::to_string(barrier.threads));
  ++barrier.come;
  lane.site = site;
  return barrier;
}

void Block::waitAt(Barrier &barrier, Lane &lane, uint32_t site) {
  barrier.waiting.push_back(lane.number);
  if (barrier.come < barrier.threads)
    return block(lane, LaneState::AtBarrier, site);
  completeBarrier(barrier);
}

void Block::completeBarrier(Barrier &barrier) {
  for (uint32_t number : barrier.waiting) {
    const Lane &lane = lanes_[number], &neighbour = lanes_[number ^ 1];
    if (lane.site != neighbour.site)
      reportDivergence(lane, neighbour);
  }
  if (!std::exchange(barrier.isSequence, false))
    clocks_.joinAll(barrier.waiting, std::exchange(barrier.arrived, {}));
  for (uint32_t number : barrier.waiting)
    wake(lanes_[number]);
  barrier.waiting.clear();
  barrier.gone.clear();
  barrier.come = 0;
}

void Block::arriveAtCluster(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, [=, this, &lane] { arriveAtCluster(lane, site); }) != Execution::Normal)
    return;
  if (lane.clusterArrivals != lane.clusterWaits)
    report(SimtErrorKind::barrier_misuse, lane.number, site, "arrives at the cluster's barrier again without a wait");
  ++lane.clusterArrivals;
  clocks_.publish(lane.number, clusterBarrier_.arriving);
  if (++clusterBarrier_.come < lanes_.size())
    return;
  clusterBarrier_.come = 0;
  ++clusterBarrier_.phase;
  clusterBarrier_.arrived = std::exchange(clusterBarrier_.arriving, {});
  for (uint32_t waiting : std::exchange(clusterBarrier_.waiting, {}))
    wake(lanes_[waiting]);
}

void Block::waitForCluster(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, [=, this, &lane] { waitForCluster(lane, site); }) != Execution::Normal)
    return;
  if (++lane.clusterWaits != lane.clusterArrivals)
    return report(SimtErrorKind::barrier_misuse, lane.number, site,
                  "waits at the cluster's barrier without having arrived");
  while (clusterBarrier_.phase < lane.clusterWaits) {
    clusterBarrier_.waiting.push_back(lane.number);
    block(lane, LaneState::AtCluster, site);
  }
  clocks_.acquire(lane.number, clusterBarrier_.arrived);
}

//===-- Asynchronous copies ---------------------------------------------------------------------------------------===//

void Block::commitCopies(Lane &lane, uint32_t site) {
  if (executionOf(lane, site, [=, this, &lane] { commitCopies(lane, site); }) == Execution::Normal)
    ++lane.committed;
}

void Block::waitCopies(Lane &lane, uint32_t site, uint32_t pending) {
  const Execution execution = executionOf(lane, site, [=, this, &lane] { waitCopies(lane, site, pending); });
  if (execution == Execution::Not)
    return;
  pending += execution == Execution::Weaker ? 1 : 0;
  if (lane.committed <= pending)
    return;
  const uint32_t last = lane.committed - pending;
  for (size_t i = lane.copies.size(); i-- > 0;)
    if (lane.copies[i].group <= last)
      complete(lane, i);
  lane.waited = std::max(lane.waited, last);
  clocks_.waited(lane.number, {lane.copyEngine, lane.waited});
}

void Block::complete(Lane &lane, size_t index) {
  const Copy copy = lane.copies[index];
  lane.copies.erase(lane.copies.begin() + static_cast<ptrdiff_t>(index));
  std::copy_n(copy.from, copy.bytes, copy.to);
  std::fill(copy.to + copy.bytes, copy.to + copy.size, std::byte{0});
}

void Block::completeSomeCopy() {
  Lane &lane = lanes_[choose_->below(static_cast<uint32_t>(lanes_.size()))];
  if (!lane.copies.empty())
    complete(lane, choose_->below(static_cast<uint32_t>(lane.copies.size())));
  advanceSomething();
}

bool Block::advanceSomething() {
  const size_t all = bulk_.size() + issuers_.size();
  if (all == 0)
    return false;
  const uint32_t chosen = choose_->below(static_cast<uint32_t>(all));
  if (chosen < bulk_.size())
    advanceBulk(chosen);
  else
    advanceTensor(lanes_[issuers_[chosen - bulk_.size()]]);
  return true;
}

} // namespace tegula::simt
