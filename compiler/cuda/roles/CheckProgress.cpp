// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/RoleTraces.h"

#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_CHECKPROGRESS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = RoleEvent::Kind;

namespace {
/// An mbarrier as a wait sees it.
class Mbarrier {
public:
  /// Counts one of the `expected` arrivals of a phase.
  void arrive(int64_t expected) {
    if (++arrived_ < expected)
      return;
    arrived_ = 0;
    parity_ ^= 1;
  }
  bool isOver(int64_t parity) const { return parity_ != parity; }

private:
  int64_t arrived_ = 0, parity_ = 0;
};

/// A warpgroup of consumers, or the producer.
struct Process {
  const RoleTrace *trace;
  int64_t warpgroup;
  size_t done = 0;

  const RoleEvent *next() const { return done < trace->events.size() ? &trace->events[done] : nullptr; }
  /// Returns true if the trace is over, but not the role.
  bool isCut() const { return !next() && trace->isCut; }
};

/// The roles of a program as they wait for each other.
class Roles {
public:
  Roles(const RoleTrace &producer, const RoleTrace &consumer, int64_t warpgroups)
      : warpgroups_(warpgroups), turns_(static_cast<size_t>(warpgroups)) {
    for (int64_t warpgroup = 0; warpgroup < warpgroups; ++warpgroup)
      processes_.push_back({&consumer, warpgroup});
    processes_.push_back({&producer, 0});
    turns_[0] = 1;
  }

  /// Runs until all processes have ended or all wait. Returns the waits; empty if all have ended, or if one of them
  /// would go on.
  SmallVector<const RoleEvent *> run() {
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (Process &process : processes_)
        for (; process.next() && go(process, *process.next()); ++process.done)
          hasMoved = true;
    }
    SmallVector<const RoleEvent *> waits;
    if (llvm::any_of(processes_, [](const Process &process) { return process.isCut(); }))
      return waits;
    for (const Process &process : processes_)
      if (process.next())
        waits.push_back(process.next());
    return waits;
  }

private:
  struct Slot {
    Mbarrier full, empty;
    llvm::DenseMap<int64_t, Mbarrier> stored; ///< By warpgroup.
  };

  Slot &slotOf(sm::ChannelOp channel, int64_t slot) { return slots_[{channel, slot}]; }

  /// Makes a step, unless the process must wait.
  bool go(const Process &process, const RoleEvent &event) {
    if (!event.channel)
      return goByTurn(process, event.kind == Kind::passTurn);
    sm::ChannelOp channel = event.channel;
    Slot &slot = slotOf(channel, event.slot);
    switch (event.kind) {
    case Kind::waitEmpty:
      return !channel.isRefilled() || slot.empty.isOver(event.phase ^ 1);
    case Kind::fill:
      slot.full.arrive(1);
      return true;
    case Kind::waitFull:
      return channel.isExchange() ? isStoredByAll(slot, event.phase) : slot.full.isOver(event.phase);
    case Kind::release:
      slot.empty.arrive(warpgroups_);
      return true;
    case Kind::store:
      slot.stored[process.warpgroup].arrive(1);
      return true;
    case Kind::takeTurn:
      return isPassedByStore(process, event);
    case Kind::passTurn:
      return true;
    }
    return true;
  }

  bool isStoredByAll(Slot &slot, int64_t phase) {
    return llvm::all_of(llvm::seq(warpgroups_), [&](int64_t other) { return slot.stored[other].isOver(phase); });
  }

  /// Returns true if the store before that of this warpgroup has happened, as sm.sequence_wait says.
  bool isPassedByStore(const Process &process, const RoleEvent &event) {
    if (process.warpgroup > 0)
      return slotOf(event.channel, event.slot).stored[process.warpgroup - 1].isOver(event.phase);
    sm::ChannelOp channel = event.channel;
    const int64_t slots = channel.getType().getSlots();
    const bool wraps = event.slot == 0;
    return slotOf(event.channel, wraps ? slots - 1 : event.slot - 1)
        .stored[warpgroups_ - 1]
        .isOver(wraps ? event.phase ^ 1 : event.phase);
  }

  bool goByTurn(const Process &process, bool passes) {
    const auto own = static_cast<size_t>(process.warpgroup);
    if (passes)
      ++turns_[(own + 1) % turns_.size()];
    else if (turns_[own] == 0)
      return false;
    else
      --turns_[own];
    return true;
  }

  int64_t warpgroups_;
  SmallVector<Process> processes_;
  llvm::DenseMap<std::pair<Operation *, int64_t>, Slot> slots_;
  SmallVector<int64_t> turns_; ///< How often each warpgroup may take the turn.
};

struct CheckProgress : cuda::impl::CheckProgressBase<CheckProgress> {
  void runOnOperation() override {
    getOperation()->walk([&](sm::RolesOp roles) {
      if (failed(check(roles)))
        signalPassFailure();
    });
  }

  static StringRef describe(Kind kind) {
    switch (kind) {
    case Kind::waitEmpty:
      return "the producer waits here for an empty slot";
    case Kind::takeTurn:
      return "a warpgroup waits here for its turn";
    default:
      return "a warpgroup waits here for a full slot";
    }
  }

  static LogicalResult check(sm::RolesOp roles) {
    constexpr unsigned scenarios = 3;
    const int64_t warpgroups = tile::setting(roles, "tile.num_warps", 4) / sm::kWarpsPerWarpgroup;
    for (unsigned scenario = 0; scenario < scenarios; ++scenario) {
      const RoleTrace producer = traceOf(roles.getProducer(), scenario),
                      consumer = traceOf(roles.getConsumer(), scenario);
      SmallVector<const RoleEvent *> waits = Roles(producer, consumer, warpgroups).run();
      if (waits.empty())
        continue;
      InFlightDiagnostic error = waits.front()->op->emitError(
          "the roles wait for each other, and none can go on; legal are more stages, or another step list");
      llvm::SmallPtrSet<Operation *, 4> known; // Warpgroups may wait at the same op.
      for (const RoleEvent *wait : waits)
        if (known.insert(wait->op).second)
          error.attachNote(wait->op->getLoc()) << describe(wait->kind);
      return error;
    }
    return success();
  }
};
} // namespace
