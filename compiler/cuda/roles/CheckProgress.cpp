// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/RoleTraces.h"
#include "compiler/sm/Roles.h"

#include "mlir/Pass/Pass.h"

#include <deque>

namespace tegula::cuda {
#define GEN_PASS_DEF_CHECKPROGRESS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::RoleEvent::Kind;

namespace {
/// An mbarrier as a wait sees it.
class Mbarrier {
public:
  /// Counts `arrivals` of the `expected` ones of a phase.
  void arrive(int64_t arrivals, int64_t expected) {
    arrived_ += arrivals;
    if (arrived_ < expected)
      return;
    arrived_ -= expected;
    parity_ ^= 1;
  }
  bool isOver(int64_t parity) const { return parity_ != parity; }

private:
  int64_t arrived_ = 0, parity_ = 0;
};

/// A warpgroup of a role, or a role of fewer warps.
struct Process {
  sm::RoleRef role;
  const RoleTrace *trace;
  int64_t warpgroup;
  size_t done = 0;
  bool isDismissed = false; ///< True if a closed channel has ended the role.

  const RoleStep *next() const { return !isDismissed && done < trace->steps.size() ? &trace->steps[done] : nullptr; }
  /// Returns true if the trace is over, but not the role.
  bool isCut() const { return !isDismissed && !next() && trace->isCut; }
  int64_t warps() const { return std::min(role.warps(), sm::kWarpsPerWarpgroup); }
};

/// The roles of a program as they wait for each other.
class Roles {
public:
  void add(sm::RoleRef role, const RoleTrace &trace) {
    const int64_t processes = std::max<int64_t>(role.warpgroups(), 1);
    for (int64_t warpgroup = 0; warpgroup < processes; ++warpgroup)
      processes_.push_back({role, &trace, warpgroup});
    turns_.emplace_back(static_cast<size_t>(processes)).front() = 1;
  }

  /// Runs until all processes have ended or all wait. Returns those that wait; none if all have ended, or if one of
  /// them would go on.
  SmallVector<const Process *> run() {
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (Process &process : processes_)
        for (; process.next() && go(process, *process.next()); ++process.done)
          hasMoved = true;
    }
    SmallVector<const Process *> waiting;
    if (llvm::any_of(processes_, [](const Process &process) { return process.isCut(); }))
      return waiting;
    for (const Process &process : processes_)
      if (process.next())
        waiting.push_back(&process);
    return waiting;
  }

private:
  struct Slot {
    llvm::DenseMap<int64_t, Mbarrier> full; ///< One, or one for each warpgroup.
    Mbarrier empty;
  };
  /// A slot that named barriers hand over.
  struct HandedSlot {
    int64_t stored = 0; ///< By how many warpgroups.
    bool isClosed = false;
    llvm::DenseMap<int64_t, int64_t> emptied; ///< How often each warpgroup may still write it.
  };

  Slot &slotOf(sm::ChannelOp channel, int64_t slot) { return slots_[{channel, slot}]; }

  /// Makes a step, unless the process must wait.
  bool go(Process &process, const RoleStep &step) {
    if (!step.channel)
      return goByTurn(process, step.kind == Kind::passTurn);
    if (sm::ChannelOp channel = step.channel; channel.getByBarriers())
      return goByBarriers(process, step, sm::findRole(process.role.roles(), channel.getFrom())->warpgroups());
    const sm::Protocol protocol = sm::protocolOf(step.channel);
    Slot &slot = slotOf(step.channel, step.slot);
    switch (step.kind) {
    case Kind::waitEmpty:
      return protocol.empty == 0 || slot.empty.isOver(step.phase ^ 1);
    case Kind::fill:
      slot.full[0].arrive(1, protocol.full);
      return true;
    case Kind::waitFull:
      return isFull(slot, protocol, step.phase);
    case Kind::release:
      slot.empty.arrive(cast<sm::ReleaseOp>(step.op).getPerWarp() ? process.warps() : 1, protocol.empty);
      return true;
    case Kind::store:
      slot.full[protocol.fullMbarriers == 1 ? 0 : process.warpgroup].arrive(process.warps(), protocol.full);
      return true;
    case Kind::takeTurn:
      return isPassedByStore(process, step);
    default:
      return true;
    }
  }

  /// Makes a step at a channel that `writers` warpgroups fill.
  bool goByBarriers(Process &process, const RoleStep &step, int64_t writers) {
    HandedSlot &slot = handed_[step.channel];
    switch (step.kind) {
    case Kind::waitEmpty:
      return takeOne(slot.emptied[process.warpgroup]);
    case Kind::next:
      if (slot.stored < writers)
        return false;
      slot.stored -= writers;
      process.isDismissed = slot.isClosed;
      return true;
    case Kind::release:
      for (int64_t writer = 0; writer < writers; ++writer)
        ++slot.emptied[writer];
      return true;
    default: // A store, or the last one, which closes the channel.
      ++slot.stored;
      slot.isClosed |= step.kind == Kind::close;
      return true;
    }
  }

  static bool isFull(Slot &slot, const sm::Protocol &protocol, int64_t phase) {
    return llvm::all_of(llvm::seq(protocol.fullMbarriers), [&](int64_t part) { return slot.full[part].isOver(phase); });
  }

  /// Returns true if the store before that of this warpgroup has happened, as sm.sequence_wait says.
  bool isPassedByStore(const Process &process, const RoleStep &step) {
    if (process.warpgroup > 0)
      return slotOf(step.channel, step.slot).full[process.warpgroup - 1].isOver(step.phase);
    sm::ChannelOp channel = step.channel;
    const int64_t slots = channel.getType().getSlots();
    const bool wraps = step.slot == 0;
    return slotOf(channel, wraps ? slots - 1 : step.slot - 1)
        .full[process.role.warpgroups() - 1]
        .isOver(wraps ? step.phase ^ 1 : step.phase);
  }

  bool goByTurn(const Process &process, bool passes) {
    SmallVector<int64_t> &turns = turns_[process.role.number()];
    const auto own = static_cast<size_t>(process.warpgroup);
    if (!passes)
      return takeOne(turns[own]);
    ++turns[(own + 1) % turns.size()];
    return true;
  }

  /// Returns false if there is none to take.
  static bool takeOne(int64_t &count) {
    if (count == 0)
      return false;
    --count;
    return true;
  }

  SmallVector<Process> processes_;
  llvm::DenseMap<std::pair<Operation *, int64_t>, Slot> slots_;
  llvm::DenseMap<Operation *, HandedSlot> handed_;
  SmallVector<SmallVector<int64_t>> turns_; ///< How often each warpgroup of each role may take the turn.
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
      return "an empty slot";
    case Kind::takeTurn:
      return "its turn";
    case Kind::next:
      return "a full slot, or for the end of a channel";
    default:
      return "a full slot";
    }
  }

  static LogicalResult check(sm::RolesOp op) {
    constexpr unsigned scenarios = 3;
    for (unsigned scenario = 0; scenario < scenarios; ++scenario) {
      std::deque<RoleTrace> traces;
      Roles roles;
      for (sm::RoleRef role : sm::rolesOf(op))
        roles.add(role, traces.emplace_back(traceOf(role.body(), scenario)));
      if (SmallVector<const Process *> waiting = roles.run(); !waiting.empty())
        return refuse(waiting);
    }
    return success();
  }

  static LogicalResult refuse(ArrayRef<const Process *> waiting) {
    InFlightDiagnostic error = waiting.front()->next()->op->emitError(
        "the roles wait for each other, and none can go on; legal are more stages, or another step list");
    llvm::SmallPtrSet<Operation *, 4> known; // Warpgroups may wait at the same op.
    for (const Process *process : waiting)
      if (const RoleStep *step = process->next(); known.insert(step->op).second)
        error.attachNote(step->op->getLoc())
            << "the role '" << process->role.name() << "' waits here for " << describe(step->kind);
    return error;
  }
};
} // namespace
