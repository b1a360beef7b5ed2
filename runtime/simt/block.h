// SPDX-License-Identifier: MIT
// One running program instance: its lanes, its shared memory, and what happens to them.
#pragma once

#include "simt/clocks.h"
#include "simt/fiber.h"
#include "simt/findings.h"
#include "simt/fragments.h"
#include "simt/instances.h"
#include "simt/memory.h"
#include "simt/schedule.h"
#include "simt/shadow.h"
#include "simt/traffic.h"
#include "tegula/simt_ops.h"

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::simt {

/// What all program instances of a launch have in common.
struct Launch {
  SimtKernel kernel;
  const Memory &memory;
  const std::vector<SimtSite> &sites;
  Grid grid;
  uint32_t sharedBytes;
  SimtSchedule schedule;
  Findings &findings;
  Instances &instances;
  std::atomic<bool> &mutationReached;
};

class Block;

/// A copy that has started and has not landed. Nothing is copied where `bytes` is 0.
struct Copy {
  uint32_t site = 0, group = 0; ///< Groups are counted from 1.
  uint32_t shared = 0, size = 0, bytes = 0;
  const std::byte *from = nullptr;
};

enum class LaneState : uint8_t { Ready, InWarp, AtBarrier, Done };

struct Lane {
  Block *block = nullptr;
  uint32_t number = 0;
  LaneState state = LaneState::Ready;
  uint32_t site = 0; ///< Where the lane is, unless it is ready.
  Fiber fiber;
  /// Operands of the instruction that the lane waits in: see Block::together.
  const void *in = nullptr;
  void *out = nullptr;
  uint32_t committed = 0; ///< Groups.
  uint32_t waited = 0;    ///< Groups that are done and seen to be.
  Copy lastCopy = {};     ///< Landed or not.
  std::vector<Copy> copies;
};

/// Reused from one program instance to the next.
class Block {
public:
  explicit Block(uint32_t lanes);

  /// Throws std::bad_alloc if the memory for what has happened is used up.
  void run(const Launch &launch, int64_t instance);
  uint32_t lanes() const { return clocks_.lanes(); }
  int64_t switches() const { return switches_; }
  /// Of the runs since the last call, if their schedule asked for it.
  TrafficSums takeTraffic() { return traffic_.take(); }
  /// Ends the run from the stack of a lane: there is no memory.
  [[noreturn]] void giveUp(Lane &lane);

  //===-- Instructions, called on the lane's own stack; see SimtOps -----------------------------------------------===//
  uint32_t special(const Lane &lane, SimtRegister which) const;
  /// An access whose predicate does not hold.
  void skip(const Lane &lane, uint32_t site, Space space) { countTraffic(lane, site, space, 0, 0); }
  void load(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, void *to);
  void store(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, const void *from);
  void loadShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, void *to);
  void storeShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, const void *from);
  void atomicAdd(Lane &lane, uint32_t site, uint64_t address, SimtAtomic type, uint32_t count, const void *from);
  void loadMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed, void *to);
  void storeMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed, const void *from);
  void copyAsync(Lane &lane, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes);
  void commitCopies(Lane &lane, uint32_t site);
  void waitCopies(Lane &lane, uint32_t site, uint32_t pending);
  void barrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void barrierWarp(Lane &lane, uint32_t site);
  uint32_t shuffle(Lane &lane, uint32_t site, SimtShuffle kind, uint32_t value, uint32_t operand);
  uint32_t vote(Lane &lane, uint32_t site, SimtVote kind, bool predicate);
  void mma(Lane &lane, uint32_t site, SimtMma kind, const MmaRegisters &registers);

private:
  //===-- Execution: block.cpp ------------------------------------------------------------------------------------===//
  struct Barrier {
    uint32_t threads = 0; ///< 0 while nobody waits.
    std::vector<uint32_t> waiting;
  };

  void start(int64_t instance);
  static void runLane(void *lane);
  /// Goes on with another lane, if there is one that can.
  void leave(Lane &lane);
  /// Lets the lane wait in `state` until somebody wakes it.
  void block(Lane &lane, LaneState state, uint32_t site);
  void wake(Lane &lane);
  void maybeInterrupt(Lane &lane);
  /// Waits for all lanes of the warp; the last to come runs operation(first lane of the warp).
  template <class Operation> void together(Lane &lane, uint32_t site, Operation operation);
  /// Reports a lane that is elsewhere.
  bool warpIsTogether(const Lane &lane);
  void wakeWarp(Lane &lane);
  void completeBarrier(Barrier &barrier);
  void meetWarp(Lane *warp);
  void land(Lane &lane, size_t copy);
  void landSomeCopy();
  void finish(Lane &lane);
  /// The mutation of the schedule, if it is for this site.
  const SimtMutation *mutationOf(uint32_t site) const;

  //===-- Memory: access.cpp --------------------------------------------------------------------------------------===//
  /// Reports what is wrong with an access, and whether it can be made.
  /// Where in the host's memory it is; null if it cannot be made.
  std::byte *accessGlobal(const Lane &lane, uint64_t address, uint32_t bytes, const Access &access);
  /// The same for shared memory.
  std::byte *accessShared(const Lane &lane, uint32_t address, uint32_t bytes, const Access &access);
  void countTraffic(const Lane &lane, uint32_t site, Space space, uint64_t address, uint32_t bytes) {
    if (launch_->schedule.count_traffic)
      traffic_.add(lane.number, site, space, address, bytes);
  }
  Access accessOf(const Lane &lane, uint32_t site, AccessKind kind) const {
    return {.when = clocks_.now(lane.number), .site = site, .kind = kind};
  }
  void skipOthers(const Lane *warp, uint32_t site, uint32_t count);
  void gatherMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);
  void scatterMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);

  //===-- Reports: reports.cpp ------------------------------------------------------------------------------------===//
  /// `memory` says which memory a byte is in.
  void reportConflict(const Access &access, const Conflict &conflict, const std::string &memory);
  void reportAccess(SimtFault fault, const Access &access, uint32_t bytes, const std::string &problem);
  void reportInstances(uint32_t tensor, int64_t offset, const Touch &earlier, const Touch &later);
  void reportDivergence(const Lane &lane, const Lane &other);
  void reportDeadlock();
  void reportPending(const Lane &lane);
  uint32_t laneOf(const Access &access) const { return access.when.agent % clocks_.lanes(); }
  std::string describe(uint32_t lane, uint32_t site) const;
  std::string describeSite(uint32_t site) const;
  std::string describeInstance(uint64_t instance) const;
  /// Which run it was.
  std::string runText() const;

  std::byte *sharedAt(uint32_t address) { return shared_.data() + (address - kSimtSharedBase); }

  const Launch *launch_ = nullptr;
  uint64_t instance_ = 0;
  uint32_t program_[3] = {};
  Stacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> ready_; ///< Of each warp, a bit per lane.
  std::vector<uint32_t> inWarp_;
  std::map<uint32_t, Barrier> barriers_;
  std::vector<std::byte> shared_;
  Clocks clocks_;
  Shadow shadow_;
  TrafficCounter traffic_;
  std::optional<Chooser> choose_;
  Fiber main_;
  uint32_t running_ = 0; ///< Lanes that are not done.
  bool outOfMemory_ = false;
  int64_t switches_ = 0;
};

template <class Operation> void Block::together(Lane &lane, uint32_t site, Operation operation) {
  const uint32_t warp = lane.number / kWarp;
  lane.site = site;
  inWarp_[warp] |= 1U << lane.number % kWarp;
  if (inWarp_[warp] != ~0U)
    return block(lane, LaneState::InWarp, site);
  if (warpIsTogether(lane))
    operation(&lanes_[warp * kWarp]);
  wakeWarp(lane);
}

} // namespace tegula::simt
