// SPDX-License-Identifier: MIT
// One running program instance, or a cluster of them: lanes, shared memory, and what happens to them.
#pragma once

#include "simt/clocks.h"
#include "simt/fiber.h"
#include "simt/findings.h"
#include "simt/fragments.h"
#include "simt/instances.h"
#include "simt/mbarrier.h"
#include "simt/memory.h"
#include "simt/product.h"
#include "simt/schedule.h"
#include "simt/shadow.h"
#include "simt/tensor_box.h"
#include "simt/traffic.h"
#include "tegula/simt_ops.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
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
  uint32_t cluster; ///< Program instances along x that run together.
  uint32_t sharedBytes;
  uint32_t instancesPerSm; ///< They share its registers.
  SimtSchedule schedule;
  Findings &findings;
  Instances &instances;
  std::atomic<bool> &mutationReached;
};

class Block;

/// A copy that has started and has not landed. Nothing is copied where `bytes` is 0.
struct Copy {
  uint32_t site = 0, group = 0; ///< Groups are counted from 1.
  uint32_t size = 0, bytes = 0;
  const std::byte *from = nullptr;
  std::byte *to = nullptr;
};

/// A bulk copy in flight: rows go from the source to `data` a few at a time, then to where they belong.
struct BulkCopy {
  SimtBulk kind = SimtBulk::load;
  uint32_t lane = 0, site = 0;
  uint32_t shared = 0, swizzle = 0, rowBytes = 0;
  uint32_t mbarrier = 0;                            ///< Of a load: its place.
  uint32_t group = 0;                               ///< Of others, counted from 1.
  std::vector<std::pair<BoxRow, std::byte *>> rows; ///< And where in the host's memory they begin.
  uint32_t rowsRead = 0;
  std::vector<std::byte> data;

  bool isRead() const { return rowsRead == rows.size(); }
  uint32_t bytes() const { return static_cast<uint32_t>(rows.size()) * rowBytes; }
};

/// Of an instruction under a mutation.
enum class Execution : uint8_t { Normal, Weaker, Not };

enum class LaneState : uint8_t { Ready, InWarp, AtBarrier, AtMbarrier, AtCluster, NeedsRegisters, Done };

/// What a lane has asked bulk copies to do, in groups.
struct BulkGroups {
  uint32_t sources = 0, targets = 0; ///< Engines; 0 before the first copy.
  uint32_t committed = 0, started = 0, read = 0,
           written = 0; ///< The last group: waited for, in the case of `read` and `written`.
  uint32_t site = 0;    ///< Of the last copy.
};

struct Lane {
  Block *block = nullptr;
  uint32_t number = 0;
  LaneState state = LaneState::Ready;
  uint32_t site = 0; ///< Where the lane is, unless it is ready.
  Fiber fiber;
  /// Operands of the instruction that the lane waits in: see Block::together.
  const void *in = nullptr;
  void *out = nullptr;
  uint32_t copyEngine = 0;  ///< 0 before the first copy.
  uint32_t committed = 0;   ///< Groups.
  uint32_t waited = 0;      ///< Groups that are done and seen to be.
  uint32_t failedTries = 0; ///< Looks at an mbarrier whose phase was not over, in a row.
  Copy lastCopy = {};       ///< Landed or not.
  std::vector<Copy> copies;
  BulkGroups bulk;
  std::function<void()> delayed; ///< By the mutation.
  bool isLate = false;           ///< Executes it.
  uint32_t clusterArrivals = 0, clusterWaits = 0;
};

/// What lanes of a warp do together.
struct Warp {
  uint32_t elected = 0;         ///< The lane that elect.sync picks.
  uint32_t registers = 0;       ///< Of each lane.
  bool fenced = false;          ///< wgmma.fence since the last wait.
  std::vector<uint32_t> groups; ///< The last product in each.
  uint32_t waited = 0;          ///< The last product that is waited for.
};

struct Warpgroup {
  uint32_t engine = 0, started = 0;               ///< Its times are products, counted from 1.
  uint32_t site = 0;                              ///< Of the last one.
  std::deque<Product> products;                   ///< In flight.
  std::map<uint32_t, AccumulatorMatrix> matrices; ///< By name.
  uint32_t lastMatrix = 0;
};

/// Reused from one program instance to the next.
class Block {
public:
  explicit Block(uint32_t lanes);

  /// Runs the cluster of this number, or the program instance if they are alone. Throws std::bad_alloc if the memory
  /// for what has happened is used up.
  void run(const Launch &launch, int64_t cluster);
  uint32_t lanes() const { return clocks_.lanes(); }
  int64_t switches() const { return switches_; }
  /// Of the runs since the last call, if their schedule asked for it.
  TrafficSums takeTraffic() { return traffic_.take(); }
  /// Ends the run from the stack of a lane: there is no memory.
  [[noreturn]] void giveUp(Lane &lane);

  /// To be called behind each access to shared memory: what a mutation has delayed comes as soon as it is too late.
  void catchUp(Lane &lane) {
    if (!lane.delayed)
      return;
    launch_->mutationReached = true;
    if (launch_->findings.any())
      runDelayed(lane);
  }

  //===-- Instructions, called on the lane's own stack; see SimtOps -----------------------------------------------===//
  uint32_t special(const Lane &lane, SimtRegister which) const;
  /// An access whose predicate does not hold.
  void skip(const Lane &lane, uint32_t site, Space space) { countTraffic(lane, site, space, 0, 0); }
  void load(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, void *to);
  void store(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, const void *from);
  void loadShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, void *to);
  void storeShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, const void *from);
  void atomicAdd(Lane &lane, uint32_t site, uint64_t address, SimtAtomic type, uint32_t count, const void *from);
  uint32_t fetchIncrement(Lane &lane, uint32_t site, uint64_t address);
  void loadMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed, void *to);
  void storeMatrices(Lane &lane, uint32_t site, uint32_t address, uint32_t count, bool transposed, const void *from);
  void copyAsync(Lane &lane, uint32_t site, uint32_t shared, uint64_t global, uint32_t size, uint32_t bytes);
  void commitCopies(Lane &lane, uint32_t site);
  void waitCopies(Lane &lane, uint32_t site, uint32_t pending);
  void barrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void arriveAtBarrier(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void waitForSequence(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void arriveAtSequence(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void arriveAtCluster(Lane &lane, uint32_t site);
  void waitForCluster(Lane &lane, uint32_t site);
  void barrierWarp(Lane &lane, uint32_t site);
  void fenceProxy(Lane &lane, uint32_t site, SimtFence kind);
  void initMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t count);
  void arriveAtMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t arrivals, uint32_t transactions);
  bool waitAtMbarrier(Lane &lane, uint32_t site, uint32_t address, uint32_t parity, bool blocking);
  void copyTensor(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, const SimtTensorMap &map,
                  const std::array<int32_t, 5> &corner, uint32_t mbarrier);
  void copyBulk(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, uint64_t global, uint32_t bytes,
                uint32_t mbarrier);
  void commitBulk(Lane &lane, uint32_t site);
  void waitBulk(Lane &lane, uint32_t site, uint32_t pending, bool sources);
  void startMma(Lane &lane, uint32_t site, const SimtWgmma &product, uint32_t *accumulators);
  void fenceMmas(Lane &lane, uint32_t site);
  void commitMmas(Lane &lane, uint32_t site);
  void waitMmas(Lane &lane, uint32_t site, uint32_t pending, uint32_t count, uint32_t *accumulators);
  void readAccumulator(Lane &lane, uint32_t site, uint32_t value);
  void setRegisters(Lane &lane, uint32_t site, uint32_t count);
  uint32_t shuffle(Lane &lane, uint32_t site, SimtShuffle kind, uint32_t value, uint32_t operand);
  uint32_t vote(Lane &lane, uint32_t site, SimtVote kind, bool predicate);
  uint32_t elect(Lane &lane, uint32_t site);
  void mma(Lane &lane, uint32_t site, SimtMma kind, const MmaRegisters &registers);

private:
  //===-- Execution: block.cpp ------------------------------------------------------------------------------------===//
  struct Barrier {
    uint32_t threads = 0; ///< That it is for.
    uint32_t come = 0;
    bool isSequence = false;       ///< It orders no memory.
    std::vector<uint32_t> waiting; ///< Those who have come and wait.
    Knowledge arrived;             ///< Of those who do not.
  };

  void start(int64_t cluster);
  void startLanes();
  void startWarps();
  void end();
  static void runLane(void *lane);
  /// Goes on with another lane, if there is one that can.
  void leave(Lane &lane);
  /// Lets the lane wait in `state` until somebody wakes it.
  void block(Lane &lane, LaneState state, uint32_t site);
  void wake(Lane &lane);
  void maybeInterrupt(Lane &lane);
  /// Waits for all lanes of the warp, or of `Warps` of them; the last to come runs operation(first of the lanes).
  template <uint32_t Warps = 1, class Operation> void together(Lane &lane, uint32_t site, Operation operation);
  /// Reports a lane that is elsewhere.
  bool areTogether(const Lane &lane, uint32_t first, uint32_t count);
  /// What the arrivals of a cluster's lanes add up to.
  struct ClusterBarrier {
    uint32_t phase = 0, come = 0;
    Knowledge arriving, arrived;
    std::vector<uint32_t> waiting;
  };

  Barrier &come(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void waitAt(Barrier &barrier, Lane &lane, uint32_t site);
  void completeBarrier(Barrier &barrier);
  void meetWarp(Lane *warp);
  void land(Lane &lane, size_t copy);
  void landSomeCopy();
  /// Lets an asynchronous operation go on, if there is one.
  bool advanceSomething();
  void finish(Lane &lane);
  void runDelayed(Lane &lane);
  /// What the schedule makes of an instruction that orders others; `unchanged` is what it would be.
  Execution executionOf(Lane &lane, uint32_t site, std::function<void()> unchanged);

  //===-- Asynchronous operations: mbarriers.cpp, bulk_copies.cpp, warpgroups.cpp ---------------------------------===//
  /// Null, and a report, if there is none that the lane may use.
  Mbarrier *mbarrierAt(Lane &lane, uint32_t site, uint32_t address);
  void advance(uint32_t place, Mbarrier &mbarrier);

  void startBulk(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, uint32_t swizzle, const TensorBox &box,
                 uint32_t mbarrier);
  std::optional<Moment> bulkMoment(Lane &lane, uint32_t site, BulkCopy &copy, uint32_t mbarrier);
  void collectRows(Lane &lane, uint32_t site, BulkCopy &copy, const TensorBox &box, Moment when);
  void readRows(BulkCopy &copy);
  void writeRows(BulkCopy &copy);
  /// The next step of a copy; false if that was the last one, and the copy is gone.
  bool advanceBulk(size_t index);
  void finishGroups(uint32_t lane, uint32_t last, bool sources);

  Warp &warpOf(const Lane &lane) { return warps_[lane.number / kWarp]; }
  Warpgroup &warpgroupOf(const Lane &lane) { return warpgroups_[lane.number / kWarpgroup]; }
  void issueMma(Lane *lanes, uint32_t site);
  bool sameMma(Lane *lanes, uint32_t site);
  /// What a register names; null if it is a value.
  const AccumulatorMatrix *matrixOf(const Lane &lane, uint32_t value);
  uint32_t matrixFor(Lane *lanes, uint32_t site, const SimtWgmma &what);
  void checkOperands(const Lane &lane, const Product &product);
  void finishMmas(Warpgroup &warpgroup, uint32_t last);
  bool takeRegisters(const Lane &lane, uint32_t count);

  //===-- Memory: access.cpp --------------------------------------------------------------------------------------===//
  /// Counts, records and checks an access. Where in the host's memory it is; null if it cannot be made.
  std::byte *accessGlobal(const Lane &lane, uint64_t address, uint32_t bytes, const Access &access);
  std::byte *accessShared(const Lane &lane, uint32_t address, uint32_t bytes, const Access &access);
  /// The same without counting.
  std::byte *checkGlobal(uint64_t address, uint32_t bytes, const Access &access);
  std::byte *checkShared(uint32_t address, uint32_t bytes, const Access &access);
  void countTraffic(const Lane &lane, uint32_t site, Space space, uint64_t address, uint32_t bytes) {
    if (launch_->schedule.count_traffic)
      traffic_.add(lane.number, site, space, address, bytes);
  }
  Access accessOf(const Lane &lane, uint32_t site, AccessKind kind) const {
    return {.when = clocks_.now(lane.number), .site = site, .lane = static_cast<uint16_t>(lane.number), .kind = kind};
  }
  void skipOthers(const Lane *warp, uint32_t site, uint32_t count);
  void gatherMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);
  void scatterMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);

  //===-- Reports: reports.cpp ------------------------------------------------------------------------------------===//
  /// `memory` says which memory a byte is in.
  void reportConflict(const Access &access, const Conflict &conflict, const std::string &memory);
  void reportAccess(SimtFault fault, const Access &access, uint32_t bytes, const std::string &problem);
  void reportInstances(uint32_t tensor, int64_t offset, const Touch &earlier, const Touch &later);
  SimtFault faultOf(const Access &access, const Access &earlier) const;
  /// `problem` continues a sentence about the lane.
  void report(SimtFault fault, uint32_t lane, uint32_t site, const std::string &problem);
  void reportDivergence(const Lane &lane, const Lane &other);
  void reportDeadlock();
  std::string describe(uint32_t lane, uint32_t site) const;
  std::string describeSite(uint32_t site) const;
  std::string describeInstance(uint64_t instance) const;
  /// Which run it was.
  std::string runText() const;

  uint32_t lanesOfInstance() const { return clocks_.lanes() / launch_->cluster; }
  uint32_t rankOf(uint32_t lane) const { return lane / lanesOfInstance(); }
  /// Where in the cluster's shared memory an address of a lane points; nothing if the bytes are not all inside.
  std::optional<uint32_t> placeOf(uint32_t lane, uint32_t address, uint32_t bytes) const;

  const Launch *launch_ = nullptr;
  uint64_t instance_ = 0;
  uint32_t program_[3] = {};
  Stacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> ready_; ///< Of each warp, a bit per lane.
  std::vector<uint32_t> inWarp_;
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  std::map<std::pair<uint32_t, uint32_t>, Barrier> barriers_; ///< By rank and number.
  ClusterBarrier clusterBarrier_;
  std::map<uint32_t, Mbarrier> mbarriers_; ///< By place.
  std::vector<BulkCopy> bulk_;
  std::vector<uint32_t> freeRegisters_; ///< Of each program instance.
  std::vector<std::byte> shared_;       ///< Of all program instances, one after the other: places count from its start.
  Clocks clocks_;
  Shadow shadow_;
  TrafficCounter traffic_;
  std::optional<Chooser> choose_;
  Fiber main_;
  uint32_t running_ = 0;            ///< Lanes that are not done, and
  std::vector<uint32_t> runningOf_; ///< of each program instance.
  bool outOfMemory_ = false;
  int64_t switches_ = 0;
};

template <uint32_t Warps, class Operation> void Block::together(Lane &lane, uint32_t site, Operation operation) {
  const uint32_t warp = lane.number / kWarp, first = warp / Warps * Warps;
  lane.site = site;
  inWarp_[warp] |= 1U << lane.number % kWarp;
  if (!std::all_of(&inWarp_[first], &inWarp_[first] + Warps, [](uint32_t lanes) { return lanes == ~0U; }))
    return block(lane, LaneState::InWarp, site);
  if (areTogether(lane, first * kWarp, Warps * kWarp))
    operation(&lanes_[first * kWarp]);
  std::fill_n(&inWarp_[first], Warps, 0);
  for (uint32_t i = first * kWarp; i < (first + Warps) * kWarp; ++i)
    wake(lanes_[i]);
}

} // namespace tegula::simt
