// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/cuda/shared/analysis/Footprint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

//===-- Accesses -------------------------------------------------------------------------------------------------===//

namespace {
/// The kind of an access. Additions are atomic and need no order among each other.
enum class Kind { read, write, add };

/// The synchronisation that two accesses need between them.
enum class Need { nothing, warpBarrier, barrier };

/// An access to bytes of shared memory, or to a whole tensor in global memory.
struct Access {
  Kind kind;
  Value tensor; ///< Null for shared memory.
  int64_t begin = 0, end = 1;
  sm::SharedType type = {}; ///< In shared memory: the arrangement of the bytes from `begin` on.
  std::optional<cuda::Footprint> footprint = {};
  bool orderedInWarp = false; ///< True after a later barrier of the warp.

  bool operator==(const Access &) const = default;
  Need needBefore(const Access &other) const {
    bool samePlace = tensor == other.tensor && begin < other.end && other.begin < end;
    if (!samePlace || (kind == other.kind && kind != Kind::write) || isOfSameThreads(other))
      return Need::nothing;
    if (!isOfSameWarps(other))
      return Need::barrier;
    return orderedInWarp || footprint->ofMma || other.footprint->ofMma ? Need::nothing : Need::warpBarrier;
  }

private:
  bool hasSameFootprint(const Access &other) const {
    return footprint && footprint->tile && footprint == other.footprint && begin == other.begin && type == other.type;
  }
  /// Returns true if each thread meets only its own accesses.
  bool isOfSameThreads(const Access &other) const {
    bool bothWrite = kind == Kind::write && other.kind == Kind::write;
    return hasSameFootprint(other) && (bothWrite || !footprint->isReplicated());
  }
  bool isOfSameWarps(const Access &other) const {
    if (!footprint || !other.footprint)
      return false;
    bool hasSameColumns = begin == other.begin && type == other.type;
    return (footprint->ofFirstWarp && other.footprint->ofFirstWarp) ||
           (hasSameFootprint(other) && footprint->hasCopiesOfOneWarp()) ||
           (hasSameRows(other) && footprint->isOfSameWarps(*other.footprint, /*dim=*/0)) ||
           (hasSameColumns && footprint->isOfSameWarps(*other.footprint, /*dim=*/1));
  }
  /// Returns true if rows have the same bytes in both accesses. Panels follow each other, and each tile of a ring
  /// begins at a multiple of 1024 bytes.
  bool hasSameRows(const Access &other) const {
    if (begin != other.begin || type == other.type)
      return begin == other.begin;
    auto rows = [](sm::SharedType tile) { return tile.getShape().drop_back().back(); };
    return type.getPanel() != 0 && type.getPanel() == other.type.getPanel() && rows(type) == rows(other.type) &&
           rows(type) * type.getPanel() % 1024 == 0;
  }
};

class Accesses {
public:
  void add(const Access &access) {
    if (!llvm::is_contained(accesses_, access))
      accesses_.push_back(access);
  }
  void add(const Accesses &other) {
    for (const Access &access : other.accesses_)
      add(access);
  }
  Accesses ofSharedMemory() const {
    Accesses shared;
    llvm::copy_if(accesses_, std::back_inserter(shared.accesses_), [](const Access &access) { return !access.tensor; });
    return shared;
  }
  Need needBefore(const Accesses &other) const {
    Need need = Need::nothing;
    for (const Access &a : accesses_)
      for (const Access &b : other.accesses_)
        need = std::max(need, a.needBefore(b));
    return need;
  }
  bool conflictWith(const Accesses &other) const { return needBefore(other) != Need::nothing; }
  /// Forgets values that `loop` computes, because they differ in its next iteration.
  void forgetValuesOf(Operation *loop) {
    for (Access &access : accesses_)
      if (access.footprint)
        access.footprint->forgetValuesOf(loop);
  }
  void orderInWarp() {
    for (Access &access : accesses_)
      access.orderedInWarp = true;
  }

private:
  SmallVector<Access, 8> accesses_;
};

/// The accesses of a piece of the program that may conflict with its neighbours.
struct BarrierSummary {
  Accesses head;    ///< Accesses with no barrier before them.
  Accesses tail;    ///< Accesses with no barrier after them.
  bool open = true; ///< True if there may be no barrier.

  static BarrierSummary barrier() { return {{}, {}, false}; }

  void append(const BarrierSummary &next) {
    if (open)
      head.add(next.head);
    if (!next.open)
      tail = {};
    tail.add(next.tail);
    open &= next.open;
  }
};
} // namespace

/// Returns the access to a buffer or tensor. An access to a ring counts for all slots, because its slot is only known
/// at run time.
static Access accessTo(Value place, Kind kind) {
  auto type = dyn_cast<sm::SharedType>(place.getType());
  if (sm::AllocOp alloc = sm::allocOf(place)) {
    auto begin = static_cast<int64_t>(*alloc.getOffset());
    return {kind, Value(), begin, begin + alloc.getType().bytes(), type};
  }
  return {kind, tile::tensorOf(place)};
}

static Kind kindOf(Operation *op, Value place) {
  if (isa<tile::AtomicAddOp, tile::ScatterAddOp>(op))
    return Kind::add;
  bool shared = isa<sm::SharedType>(place.getType());
  bool writes = shared ? isa<sm::WriteOp, sm::CopyInOp>(op) : isa<tile::StoreOp, sm::CopyOutOp>(op);
  return writes ? Kind::write : Kind::read;
}

/// Returns the section of an op without regions.
static BarrierSummary summaryOf(Operation *op) {
  BarrierSummary summary;
  if (isMemoryEffectFree(op))
    return summary;
  for (Value operand : op->getOperands()) {
    if (!isa<sm::SharedType, tile::ViewType>(operand.getType()))
      continue;
    Access access = accessTo(operand, kindOf(op, operand));
    access.footprint = cuda::footprintOf(op, operand);
    summary.head.add(access);
    // The writes of an asynchronous copy count as accesses of its wait, not of the copy op.
    if (!isa<sm::CopyInOp>(op) || access.kind == Kind::read)
      summary.tail.add(access);
  }
  return summary;
}

/// Returns true if `op` synchronises all threads. `tile.next_work` does: one thread draws the work index and passes it
/// to the others between two barriers.
static bool isBarrier(Operation *op) { return isa<sm::BarrierOp, tile::NextWorkOp>(op); }

//===-- Waits ----------------------------------------------------------------------------------------------------===//

/// Returns the loop that reads a ring and waits for all copies into it, or null.
static Operation *loopOf(Value ring) {
  for (Operation *slot : ring.getUsers())
    for (Operation *user : slot->getUsers())
      if (!isa<sm::CopyInOp>(user))
        return slot->getParentOfType<LoopLikeOpInterface>();
  return nullptr;
}

static bool mayEndAt(sm::CopyInOp copy, sm::WaitOp wait) {
  auto slot = copy.getShared().getDefiningOp<sm::SlotOp>();
  Operation *loop = slot ? loopOf(slot.getRing()) : nullptr;
  return !loop || loop->isAncestor(wait);
}

/// Returns the writes of all copies that a wait may end.
static Accesses endedBy(sm::WaitOp wait) {
  Accesses written;
  wait->getParentOfType<func::FuncOp>().walk([&](sm::CopyInOp copy) {
    Access access = accessTo(copy.getShared(), Kind::write);
    access.footprint = cuda::footprintOf(copy, copy.getShared());
    if (mayEndAt(copy, wait))
      written.add(access);
  });
  return written;
}

/// Moves the wait down to the first op that conflicts with the finished copies. The copies then have the most time, and
/// one barrier serves several waits.
static void sink(sm::WaitOp wait) {
  Accesses ended = endedBy(wait);
  auto mayComeBefore = [&](Operation *op) {
    bool isAsynchronous = isa<sm::CommitOp, sm::WaitOp, sm::CopyInOp, sm::RolesOp>(op);
    return isAsynchronous || isBarrier(op) || (op->getNumRegions() == 0 && summaryOf(op).head.conflictWith(ended))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  Operation *place = wait->getNextNode();
  while (!place->hasTrait<OpTrait::IsTerminator>() && !place->walk(mayComeBefore).wasInterrupted())
    place = place->getNextNode();
  wait->moveBefore(place);
}

//===-- Barriers -------------------------------------------------------------------------------------------------===//

static BarrierSummary orderAccesses(Operation &op);

static bool ordersWarp(Operation *op) {
  auto barrier = dyn_cast<sm::BarrierOp>(op);
  auto release = dyn_cast<sm::ReleaseOp>(op);
  return (barrier && barrier.getWarp()) || (release && release.getPerWarp());
}

/// Inserts the barriers of a block. `before` are accesses that may have happened since the last barrier.
static BarrierSummary orderAccesses(Block &block, const Accesses &before) {
  BarrierSummary summary{.head = {}, .tail = before};
  for (Operation &op : block) {
    if (ordersWarp(&op)) {
      summary.tail.orderInWarp();
      continue;
    }
    BarrierSummary next = orderAccesses(op);
    Need need = summary.tail.needBefore(next.head);
    OpBuilder b(&op);
    if (need == Need::barrier) {
      if (auto ofWarp = dyn_cast_or_null<sm::BarrierOp>(op.getPrevNode()))
        ofWarp.erase();
      sm::BarrierOp::create(b, op.getLoc());
      summary.append(BarrierSummary::barrier());
    } else if (need == Need::warpBarrier) {
      sm::BarrierOp::create(b, op.getLoc(), /*warp=*/true);
      summary.tail.orderInWarp();
    }
    summary.append(next);
  }
  return summary;
}

/// Inserts the barriers of one iteration of a loop. Its regions run one after another, and the loop may end after each
/// of them.
static BarrierSummary orderIteration(LoopLikeOpInterface loop, Accesses before) {
  BarrierSummary iteration;
  for (Region *region : loop.getLoopRegions()) {
    BarrierSummary part = orderAccesses(region->front(), before);
    if (iteration.open)
      iteration.head.add(part.head);
    iteration.tail.add(part.tail);
    iteration.open &= part.open;
    before = part.tail;
  }
  iteration.head.forgetValuesOf(loop);
  iteration.tail.forgetValuesOf(loop);
  return iteration;
}

/// Inserts the barriers of a loop, which may have no iteration.
static BarrierSummary orderLoop(LoopLikeOpInterface loop) {
  BarrierSummary iteration = orderIteration(loop, {});
  Accesses before = loop->hasAttr(tile::parallelLoop) ? iteration.tail.ofSharedMemory() : iteration.tail;
  if (before.conflictWith(iteration.head))
    iteration = orderIteration(loop, before);
  iteration.open = true;
  return iteration;
}

/// Inserts the barriers of an op with regions. A conflict with accesses before the op gets one barrier before it, for
/// all branches.
static BarrierSummary orderBranches(Operation &op) {
  BarrierSummary summary{.head = {}, .tail = {}, .open = false};
  for (Region &region : op.getRegions()) {
    if (region.empty()) {
      summary.open = true;
      continue;
    }
    BarrierSummary body = orderAccesses(region.front(), {});
    summary.head.add(body.head);
    summary.tail.add(body.tail);
    summary.open |= body.open;
  }
  return summary;
}

static BarrierSummary orderAccesses(Operation &op) {
  // The producer needs no barriers: its warps share nothing with each other.
  if (auto roles = dyn_cast<sm::RolesOp>(op))
    return orderAccesses(roles.getConsumer().front(), {});
  if (isa<sm::ConsumerWaitOp, sm::FallbackCopyOp, sm::ReleaseOp, sm::MbarriersOp, sm::WgmmaWaitOp, sm::ProxyFenceOp>(
          op))
    return {};
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return orderLoop(loop);
  if (op.getNumRegions() != 0)
    return orderBranches(op);
  if (isBarrier(&op))
    return BarrierSummary::barrier();
  // A thread waits only for its own copies. The copies of other threads have finished at the next barrier.
  if (auto wait = dyn_cast<sm::WaitOp>(op))
    return {.head = {}, .tail = endedBy(wait)};
  return summaryOf(&op);
}

/// Returns true if the wait may move past `op`: `op` neither accesses the bytes that the wait covers nor starts a copy
/// into them. A copy into a ring with several slots is allowed, because it goes to another slot.
static bool mayComeAfter(Operation *op, const Accesses &ended) {
  WalkResult search = op->walk([&](Operation *inside) {
    auto copy = dyn_cast<sm::CopyInOp>(inside);
    auto slot = copy ? copy.getShared().getDefiningOp<sm::SlotOp>() : sm::SlotOp();
    if (slot && slot.getRing().getType().getShape().front() > 1)
      return WalkResult::advance();
    bool isOther = isa<sm::CommitOp, sm::WaitOp, sm::RolesOp>(inside) || isBarrier(inside);
    bool isEarly = inside->getNumRegions() == 0 && summaryOf(inside).head.conflictWith(ended);
    return isOther || isEarly ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !search.wasInterrupted();
}

/// Moves the wait down to the last barrier before the first op that needs it, so that the copies have more time.
/// Younger groups may still run then, too.
static void postpone(sm::WaitOp wait) {
  Accesses ended = endedBy(wait);
  Operation *place = nullptr;
  int64_t younger = 0, pending = 0;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto barrier = dyn_cast<sm::BarrierOp>(op);
    if (barrier && !barrier.getWarp()) {
      place = op;
      pending = wait.getPending() + younger;
    } else if (isa<sm::CommitOp>(op)) {
      ++younger;
    } else if (!barrier && !mayComeAfter(op, ended)) {
      break;
    }
  }
  if (!place)
    return;
  wait->moveBefore(place);
  wait.setPending(pending);
}

/// Returns true if an operand of the MMA was written to shared memory by plain accesses.
static bool readsWhatThreadsWrote(sm::WgmmaOp product) {
  return llvm::any_of(product->getOperands(), [](Value operand) {
    return isa<sm::SharedType>(operand.getType()) && !operand.getDefiningOp<sm::ConsumerWaitOp>();
  });
}

/// Inserts a proxy fence before each barrier if an MMA reads what threads wrote. An MMA sees plain writes only after a
/// fence of the writer.
static void fenceBarriers(func::FuncOp function) {
  WalkResult search = function.walk([](sm::WgmmaOp product) {
    return readsWhatThreadsWrote(product) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (search.wasInterrupted())
    function.walk([](Operation *op) {
      auto barrier = dyn_cast<sm::BarrierOp>(op);
      if (!isBarrier(op) || (barrier && barrier.getWarp()))
        return;
      OpBuilder b(op);
      sm::ProxyFenceOp::create(b, op->getLoc());
    });
}

namespace {
struct InsertBarriers : cuda::impl::InsertBarriersBase<InsertBarriers> {
  void runOnOperation() override {
    bool planned = true;
    getOperation()->walk([&](sm::AllocOp alloc) {
      if (!alloc.getOffset()) {
        alloc.emitOpError("has no offset; plan-shared gives it one");
        planned = false;
      }
    });
    if (!planned)
      return signalPassFailure();
    getOperation()->walk(sink);
    getOperation()->walk([](func::FuncOp function) {
      orderAccesses(function.getBody().front(), {});
      function.walk(postpone);
      fenceBarriers(function);
    });
  }
};
} // namespace
