// SPDX-License-Identifier: MIT
// The execution of one program instance, or of a cluster of them: its lanes, shared memory and asynchronous operations.
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
#include "simt/tensor_memory.h"
#include "simt/traffic.h"
#include "simt/turns.h"
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

/// State that all program instances of a launch share.
struct Launch {
  SimtKernel kernel;
  const Memory &memory;
  const std::vector<SimtSite> &sites;
  Grid grid;
  uint32_t cluster; ///< Program instances along x that run together.
  uint32_t sharedBytes;
  uint32_t instancesPerSm; ///< Program instances that share the registers of a multiprocessor.
  SimtInterleaving schedule;
  Findings &findings;
  Instances &instances;
  Arrivals &arrivals;
  Turns &turns;
  std::atomic<bool> &mutationReached;
};

class Block;

/// A cp.async copy that has started and is not complete. If `bytes` is 0, it copies nothing and writes zeros.
struct Copy {
  uint32_t site = 0, group = 0; ///< `group` is the commit group, counted from 1.
  uint32_t size = 0, bytes = 0;
  const std::byte *from = nullptr;
  std::byte *to = nullptr;
};

/// A bulk copy in flight. Its steps move rows from the source to `data`; the last step writes all rows to the target.
struct BulkCopy {
  SimtBulk kind = SimtBulk::load;
  uint32_t lane = 0, site = 0;
  uint32_t shared = 0, swizzle = 0, rowBytes = 0;
  uint32_t mbarrier = 0; ///< For a load: offset of the mbarrier in the cluster's shared memory.
  uint32_t group = 0;    ///< For other copies: the commit group, counted from 1.
  std::vector<std::pair<BoxRow, std::byte *>> rows; ///< Each row and its address in the host's memory.
  uint32_t rowsRead = 0;
  std::vector<std::byte> data;

  bool isRead() const { return rowsRead == rows.size(); }
  uint32_t bytes() const { return static_cast<uint32_t>(rows.size()) * rowBytes; }
};

/// The form in which a lane executes an instruction that the schedule may mutate.
enum class Execution : uint8_t { Normal, Weaker, Not };

enum class LaneState : uint8_t { Ready, InWarp, AtBarrier, AtMbarrier, AtCluster, AtTurn, NeedsRegisters, Done };

/// An atomic addition to a tensor.
struct Addition {
  Epoch when;
  uint32_t tensor;
};

/// A turn that a lane waits for: until the counter at `place` is at least `number`.
struct AwaitedTurn {
  uint32_t lane;
  std::byte *place;
  int32_t number;
};

/// The bulk copies of a lane out of shared memory, in commit groups.
struct BulkGroups {
  uint32_t sources = 0, targets = 0; ///< Engines of the reads and of the writes; 0 before the first copy.
  uint32_t committed = 0, started = 0, read = 0,
           written = 0; ///< Last group that was committed, started, waited for until read, and until written.
  uint32_t site = 0;    ///< Site of the last copy.
};

/// One thread of the cluster. It runs on its own fiber.
struct Lane {
  Block *block = nullptr;
  uint32_t number = 0;
  LaneState state = LaneState::Ready;
  uint32_t site = 0; ///< Instruction that the lane waits at, unless it is ready.
  Fiber fiber;
  /// Operands of the instruction at which the lane waits for others; see Block::together.
  const void *in = nullptr;
  void *out = nullptr;
  uint32_t copyEngine = 0;  ///< Engine of the lane's cp.async copies; 0 before the first one.
  uint32_t committed = 0;   ///< Commit groups so far.
  uint32_t waited = 0;      ///< Commit groups that the lane has waited for.
  uint32_t failedTries = 0; ///< Consecutive tests of an mbarrier whose phase was not over.
  Copy lastCopy = {};       ///< The last copy that the lane started, complete or not.
  std::vector<Copy> copies;
  BulkGroups bulk;
  std::function<void()> delayed; ///< Instruction that the mutation delays.
  bool isLate = false;           ///< The lane executes `delayed`.
  uint32_t clusterArrivals = 0, clusterWaits = 0;
  std::optional<Epoch> stored;   ///< The last store to global memory.
  std::optional<Addition> added; ///< The last atomic addition.
  std::optional<Epoch> turn;     ///< The last wait for a turn.
  TensorQueue tensor;            ///< Work of the tensor cores for the lane.
  TensorLoads tensorLoads;
};

/// State that the lanes of a warp share.
struct Warp {
  uint32_t elected = 0;         ///< The lane that elect.sync picks.
  uint32_t registers = 0;       ///< Registers of each lane.
  bool fenced = false;          ///< A wgmma.fence came after the last wait.
  std::vector<uint32_t> groups; ///< For each commit group, the index of its last MMA.
  uint32_t waited = 0;          ///< Index of the last MMA that the warp has waited for.
};

struct Warpgroup {
  uint32_t engine = 0, started = 0;               ///< Epochs of the engine are MMAs, counted from 1.
  uint32_t site = 0;                              ///< Site of the last MMA.
  std::deque<Product> products;                   ///< MMAs in flight.
  std::map<uint32_t, AccumulatorMatrix> matrices; ///< By AccumulatorToken::matrix.
  uint32_t lastMatrix = 0;
};

/// Executor of one cluster of program instances, or of a single one. An object executes one cluster after another.
class Block {
public:
  explicit Block(uint32_t lanes);

  /// Runs the cluster with this index. Without clusters, this is the index of the program instance. Throws
  /// std::bad_alloc if no memory is left for the records of what happened.
  void run(const Launch &launch, int64_t cluster);
  uint32_t lanes() const { return clocks_.lanes(); }
  int64_t switches() const { return switches_; }
  /// Returns the traffic of the runs since the last call. It is empty unless the schedule counts traffic.
  TrafficSums takeTraffic() { return traffic_.take(); }
  /// Ends the run from the stack of a lane, because memory has run out.
  [[noreturn]] void giveUp(Lane &lane);

  /// Runs the instruction that a mutation has delayed, if the launch has a finding. Called after each access to shared
  /// memory, so that the instruction comes just after the first access for which it was too late.
  void catchUp(Lane &lane) {
    if (!lane.delayed)
      return;
    launch_->mutationReached = true;
    if (launch_->findings.any())
      runDelayed(lane);
  }

  //===-- Instructions, called on the lane's own stack; see SimtOps -----------------------------------------------===//
  uint32_t special(const Lane &lane, SimtRegister which) const;
  /// Counts an access of no bytes: its predicate is false, or the lane takes no part in it.
  void skip(const Lane &lane, uint32_t site, Space space) { countTraffic(lane, site, space, 0, 0); }
  void load(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, void *to);
  void store(Lane &lane, uint32_t site, uint64_t address, uint32_t bytes, const void *from);
  void loadShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, void *to);
  void storeShared(Lane &lane, uint32_t site, uint32_t address, uint32_t bytes, const void *from);
  void atomicAdd(Lane &lane, uint32_t site, uint64_t address, SimtAtomic type, uint32_t count, const void *from);
  uint32_t fetchIncrement(Lane &lane, uint32_t site, uint64_t address);
  void waitForTurn(Lane &lane, uint32_t site, uint64_t address, int32_t number);
  int32_t readTurn(Lane &lane, uint32_t site, uint64_t address);
  void passTurn(Lane &lane, uint32_t site, uint64_t address, int32_t number);
  int32_t arrive(Lane &lane, uint32_t site, uint64_t address, int32_t last);
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
  void allocateTensor(Lane &lane, uint32_t site, uint32_t shared, uint32_t columns);
  void deallocateTensor(Lane &lane, uint32_t site, uint32_t address, uint32_t columns);
  void relinquishTensor(Lane &lane, uint32_t site);
  void startTensorMma(Lane &lane, uint32_t site, uint32_t to, uint64_t a, uint64_t b, uint32_t instruction,
                      bool accumulate);
  void commitTensor(Lane &lane, uint32_t site, uint32_t mbarrier);
  void loadTensor(Lane &lane, uint32_t site, uint32_t address, uint32_t count, uint32_t *registers);
  void waitTensorLoad(Lane &lane, uint32_t site, uint32_t count, uint32_t *registers);
  void fenceTensor(Lane &lane, uint32_t site, SimtTensorFence kind);
  uint32_t shuffle(Lane &lane, uint32_t site, SimtShuffle kind, uint32_t value, uint32_t operand);
  uint32_t vote(Lane &lane, uint32_t site, SimtVote kind, bool predicate);
  uint32_t elect(Lane &lane, uint32_t site);
  void mma(Lane &lane, uint32_t site, SimtMma kind, const MmaRegisters &registers);

private:
  //===-- Execution: block.cpp ------------------------------------------------------------------------------------===//
  /// A barrier of `bar.sync` and `bar.arrive`.
  struct Barrier {
    uint32_t threads = 0; ///< Threads that the barrier waits for.
    uint32_t come = 0;
    bool isSequence = false;       ///< The barrier orders no memory.
    std::vector<uint32_t> waiting; ///< Lanes that have arrived and wait.
    std::vector<uint32_t> gone;    ///< Lanes that have arrived and do not wait.
    VectorClock arrived;           ///< Their clocks.
  };

  void start(int64_t cluster);
  void startLanes();
  void startWarps();
  void end();
  static void runLane(void *lane);
  /// Switches to the lane that the scheduler picks, which may be the same one. Ends the run if no lane is ready.
  void leave(Lane &lane);
  /// Makes the lane wait in `state` until wake() is called for it.
  void block(Lane &lane, LaneState state, uint32_t site);
  void wake(Lane &lane);
  void maybeInterrupt(Lane &lane);
  /// Waits for all lanes of `Warps` consecutive warps. The last lane to come runs operation(first lane of these warps).
  template <uint32_t Warps = 1, class Operation> void together(Lane &lane, uint32_t site, Operation operation);
  /// Returns true if the lanes [first, first + count) wait at the same instruction as `lane`. Otherwise reports the
  /// divergence.
  bool areTogether(const Lane &lane, uint32_t first, uint32_t count);
  /// The barrier of a cluster: arrivals in the current phase, and the clocks of the lanes that arrived.
  struct ClusterBarrier {
    uint32_t phase = 0, come = 0;
    VectorClock arriving, arrived;
    std::vector<uint32_t> waiting;
  };

  //===-- Turns: turns.cpp ----------------------------------------------------------------------------------------===//
  /// Returns the host's address of a counter, or null after a report.
  std::byte *counterAt(Lane &lane, uint32_t site, uint64_t address);
  bool awaitTurns();
  void checkAdditions(const Lane &lane, uint32_t site);
  void checkStores(const Lane &lane, uint32_t site);
  void recordAddition(Lane &lane, uint32_t site, uint64_t address);
  void recordTurn(const Lane &lane);
  void checkTurn(const Lane &lane, uint32_t site);

  Barrier &come(Lane &lane, uint32_t site, uint32_t id, uint32_t threads);
  void waitAt(Barrier &barrier, Lane &lane, uint32_t site);
  void completeBarrier(Barrier &barrier);
  void meetWarp(Lane *warp);
  void complete(Lane &lane, size_t copy);
  void completeSomeCopy();
  /// Makes one step of some bulk copy. Returns false if none is in flight.
  bool advanceSomething();
  void finish(Lane &lane);
  void runDelayed(Lane &lane);
  /// Returns the form in which the schedule lets the lane execute an instruction that orders others. `unchanged`
  /// executes the instruction; it is kept if the mutation delays the instruction.
  Execution executionOf(Lane &lane, uint32_t site, std::function<void()> unchanged);

  //===-- Asynchronous operations: mbarriers.cpp, bulk_copies.cpp, warpgroups.cpp ---------------------------------===//
  /// Returns the mbarrier at `address`, or null if no mbarrier was initialised there. Reports any illegal use.
  Mbarrier *mbarrierAt(Lane &lane, uint32_t site, uint32_t address);
  void advance(uint32_t place, Mbarrier &mbarrier);

  void startBulk(Lane &lane, uint32_t site, SimtBulk kind, uint32_t shared, uint32_t swizzle, const TensorBox &box,
                 uint32_t mbarrier);
  std::optional<Epoch> bulkEpoch(Lane &lane, uint32_t site, BulkCopy &copy, uint32_t mbarrier);
  void collectRows(Lane &lane, uint32_t site, BulkCopy &copy, const TensorBox &box, Epoch when);
  void readRows(BulkCopy &copy);
  void writeRows(BulkCopy &copy);
  /// Makes the next step of a copy. Returns false after the last step, which erases the copy.
  bool advanceBulk(size_t index);
  void finishGroups(uint32_t lane, uint32_t last, bool sources);

  Warp &warpOf(const Lane &lane) { return warps_[lane.number / kWarp]; }
  Warpgroup &warpgroupOf(const Lane &lane) { return warpgroups_[lane.number / kWarpgroup]; }
  void issueMma(Lane *lanes, uint32_t site);
  bool sameMma(Lane *lanes, uint32_t site);
  /// Returns the accumulators that the token in a register stands for, or null if the register holds a value.
  const AccumulatorMatrix *matrixOf(const Lane &lane, uint32_t value);
  uint32_t matrixFor(Lane *lanes, uint32_t site, const SimtWgmma &what);
  void checkOperands(const Lane &lane, const Product &product);
  void finishMmas(Warpgroup &warpgroup, uint32_t last);
  bool takeRegisters(const Lane &lane, uint32_t count);

  //===-- Tensor memory: tensor_memory.cpp ------------------------------------------------------------------------===//
  TensorCells &tensorOf(const Lane &lane) { return tensors_[rankOf(lane.number)]; }
  /// Checks an access to some columns of a lane of tensor memory, and records it. Returns false if it cannot be made.
  bool accessTensor(uint32_t row, uint32_t column, uint32_t columns, const Access &access);
  void addTensorStep(Lane &lane, TensorStep step);
  /// Makes the next step of the tensor cores' work for the lane.
  void advanceTensor(Lane &lane);
  void finishTensorMma(const Lane &lane, const TensorStep &step);
  void finishTensorCommit(const Lane &lane, const TensorStep &step);
  /// Returns the mbarrier that an engine will signal, or null after a report.
  Mbarrier *signalledMbarrier(Lane &lane, uint32_t site, uint32_t address);

  //===-- Memory: access.cpp --------------------------------------------------------------------------------------===//
  /// Counts, records and checks an access. Returns its address in the host's memory, or null if it cannot be made.
  std::byte *accessGlobal(const Lane &lane, uint64_t address, uint32_t bytes, const Access &access);
  std::byte *accessShared(const Lane &lane, uint32_t address, uint32_t bytes, const Access &access);
  /// Records and checks an access without counting it. Returns the same address.
  std::byte *checkGlobal(uint64_t address, uint32_t bytes, const Access &access);
  std::byte *checkShared(uint32_t address, uint32_t bytes, const Access &access);
  void countTraffic(const Lane &lane, uint32_t site, Space space, uint64_t address, uint32_t bytes) {
    if (launch_->schedule.count_traffic)
      traffic_.add(lane.number, site, space, address, bytes);
  }
  Access accessOf(const Lane &lane, uint32_t site, AccessKind kind) const {
    return {.when = clocks_.now(lane.number),
            .site = site,
            .lane = static_cast<uint16_t>(lane.number),
            .kind = kind,
            .arrivals = static_cast<uint32_t>(known_.size())};
  }
  void skipOthers(const Lane *warp, uint32_t site, uint32_t count);
  void gatherMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);
  void scatterMatrices(Lane *warp, uint32_t site, uint32_t count, bool transposed);

  //===-- Reports: reports.cpp ------------------------------------------------------------------------------------===//
  /// Reports a race or a missing wait or fence. `where` names the place in memory.
  void reportConflict(const Access &access, const Access &earlier, const std::string &where);
  void reportAccess(SimtErrorKind fault, const Access &access, uint32_t bytes, const std::string &problem);
  void reportInstances(uint32_t tensor, int64_t offset, const Touch &earlier, const Touch &later);
  SimtErrorKind faultOf(const Access &access, const Access &earlier) const;
  /// Reports an error of a lane. `problem` continues a sentence that begins with the lane and its instruction.
  void report(SimtErrorKind fault, uint32_t lane, uint32_t site, const std::string &problem);
  void reportDivergence(const Lane &lane, const Lane &other);
  void reportDeadlock();
  std::string describe(uint32_t lane, uint32_t site) const;
  std::string describeSite(uint32_t site) const;
  std::string describeInstance(uint64_t instance) const;
  /// Returns the part of a message that names the program instance, the scheduler and the seed.
  std::string runText() const;

  uint32_t lanesOfInstance() const { return clocks_.lanes() / launch_->cluster; }
  uint32_t rankOf(uint32_t lane) const { return lane / lanesOfInstance(); }
  /// Returns the offset of a lane's address in the cluster's shared memory, or nothing if some byte is outside.
  std::optional<uint32_t> placeOf(uint32_t lane, uint32_t address, uint32_t bytes) const;

  const Launch *launch_ = nullptr;
  uint64_t instance_ = 0;
  int64_t cluster_ = 0;
  uint32_t program_[3] = {};
  Stacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> ready_; ///< For each warp, the mask of its ready lanes.
  std::vector<uint32_t> inWarp_;
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  std::map<std::pair<uint32_t, uint32_t>, Barrier> barriers_; ///< By rank and barrier id.
  ClusterBarrier clusterBarrier_;
  std::map<uint32_t, Mbarrier> mbarriers_; ///< By offset in `shared_`.
  std::vector<BulkCopy> bulk_;
  std::vector<AwaitedTurn> awaited_;
  std::vector<const Knowledge *> known_; ///< The arrivals that happen before, after each one of the instance.
  std::optional<Addition> turn_;         ///< The last turn of a lane that adds, and the tensor that the lane adds to.
  std::vector<uint32_t> freeRegisters_;  ///< For each program instance.
  std::vector<std::byte> shared_;        ///< Shared memory of all program instances, one after another.
  Clocks clocks_;
  Shadow shadow_, tensorShadow_;
  std::vector<TensorCells> tensors_; ///< For each program instance.
  std::vector<uint32_t> issuers_;    ///< Lanes for which the tensor cores have work.
  TrafficCounter traffic_;
  std::optional<Chooser> choose_;
  Fiber main_;
  uint32_t running_ = 0;            ///< Lanes that are not done, in the whole cluster,
  std::vector<uint32_t> runningOf_; ///< and in each program instance.
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
