// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/cuda/shared/analysis/Footprint.h"
#include "compiler/cuda/shared/analysis/Releases.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Walks.h"

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
/// The synchronisation that two accesses need between them.
enum class Need { nothing, warpBarrier, barrier };

/// An access to bytes of shared memory, to a whole tensor in global memory, or to columns of tensor memory.
struct PlacedAccess {
  sm::AccessKind kind;
  Value tensor; ///< The tensor, or what names the columns. Null for shared memory.
  int64_t begin = 0, end = 1;
  sm::SharedType type = {}; ///< In shared memory: the arrangement of the bytes from `begin` on.
  std::optional<cuda::Footprint> footprint = {};
  bool orderedInWarp = false; ///< True after a later barrier of the warp.

  bool operator==(const PlacedAccess &) const = default;
  Need needBefore(const PlacedAccess &other) const {
    bool samePlace = tensor == other.tensor && begin < other.end && other.begin < end;
    if (!samePlace || (kind == other.kind && kind != sm::AccessKind::write) || isOfSameThreads(other))
      return Need::nothing;
    if (!isOfSameWarps(other) || other.footprint->ofMma) // An MMA sees what its own warp wrote only after a fence.
      return Need::barrier;
    return orderedInWarp || footprint->ofMma ? Need::nothing : Need::warpBarrier;
  }

private:
  bool hasSameFootprint(const PlacedAccess &other) const {
    return footprint && footprint->tile && footprint == other.footprint && begin == other.begin && type == other.type;
  }
  /// Returns true if one lane reads for TMA what the lanes of its warp have written, or they write what it has read.
  bool isHandedOver(const PlacedAccess &other) const {
    auto elements = [](const PlacedAccess &access) {
      return std::tuple(access.footprint->tile, access.begin, access.type);
    };
    return (footprint->byOneLane || other.footprint->byOneLane) && footprint->tile &&
           elements(*this) == elements(other);
  }
  /// Returns true if each thread meets only its own accesses.
  bool isOfSameThreads(const PlacedAccess &other) const {
    bool bothWrite = kind == sm::AccessKind::write && other.kind == sm::AccessKind::write;
    return hasSameFootprint(other) && (bothWrite || !footprint->isReplicated());
  }
  bool isOfSameWarps(const PlacedAccess &other) const {
    if (!footprint || !other.footprint)
      return false;
    bool hasSameColumns = begin == other.begin && type == other.type;
    return (footprint->ofFirstWarp && other.footprint->ofFirstWarp) || isHandedOver(other) ||
           (hasSameFootprint(other) && footprint->hasCopiesOfOneWarp()) ||
           (hasSameRows(other) && footprint->isOfSameWarps(*other.footprint, /*dim=*/0)) ||
           (hasSameColumns && footprint->isOfSameWarps(*other.footprint, /*dim=*/1));
  }
  /// Returns true if rows have the same bytes in both accesses. Panels follow each other, and each tile of a ring
  /// begins at a multiple of 1024 bytes.
  bool hasSameRows(const PlacedAccess &other) const {
    if (begin != other.begin || type == other.type)
      return begin == other.begin;
    auto rows = [](sm::SharedType tile) { return tile.getShape().drop_back().back(); };
    return type.getPanel() != 0 && type.getPanel() == other.type.getPanel() && rows(type) == rows(other.type) &&
           rows(type) * type.getPanel() % 1024 == 0;
  }
};

class Accesses {
public:
  void add(const PlacedAccess &access) {
    if (!llvm::is_contained(accesses_, access))
      accesses_.push_back(access);
  }
  void add(const Accesses &other) {
    for (const PlacedAccess &access : other.accesses_)
      add(access);
  }
  Accesses ofSharedMemory() const {
    Accesses shared;
    llvm::copy_if(accesses_, std::back_inserter(shared.accesses_),
                  [](const PlacedAccess &access) { return !access.tensor; });
    return shared;
  }
  Need needBefore(const Accesses &other) const {
    Need need = Need::nothing;
    for (const PlacedAccess &a : accesses_)
      for (const PlacedAccess &b : other.accesses_)
        need = std::max(need, a.needBefore(b));
    return need;
  }
  bool conflictWith(const Accesses &other) const { return needBefore(other) != Need::nothing; }
  /// Forgets values that `loop` computes, because they differ in its next iteration.
  void forgetValuesOf(Operation *loop) {
    for (PlacedAccess &access : accesses_)
      if (access.footprint)
        access.footprint->forgetValuesOf(loop);
  }
  void orderInWarp() {
    for (PlacedAccess &access : accesses_)
      access.orderedInWarp = true;
  }

private:
  SmallVector<PlacedAccess, 8> accesses_;
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

/// Returns an access of `op` with its bytes. An access to a ring counts for all slots, because its slot is only known
/// at run time.
static PlacedAccess placed(Operation *op, const sm::Access &access) {
  Value place = access.place->get();
  std::optional<cuda::Footprint> footprint = cuda::footprintOf(op, place);
  sm::AllocOp alloc = sm::allocOf(place);
  if (!alloc)
    return {.kind = access.kind, .tensor = tile::rootOf(place), .footprint = footprint};
  auto begin = static_cast<int64_t>(*alloc.getOffset());
  auto type = cast<sm::SharedType>(place.getType());
  return {access.kind, Value(), begin, begin + alloc.getType().bytes(), type, footprint};
}

/// Returns the section of an op without regions. What goes on after the op counts as an access of the op that ends it,
/// too.
static BarrierSummary summaryOf(Operation *op) {
  BarrierSummary summary;
  for (const sm::Access &access : sm::accessesOf(op)) {
    if (access.isOfSlot)
      continue;
    summary.head.add(placed(op, access));
    if (!access.goesOn())
      summary.tail.add(placed(op, access));
  }
  return summary;
}

/// Returns true if `op` synchronises all threads of its role.
static bool isBarrier(Operation *op) { return sm::orderOf(op).meeting == sm::Meeting::role; }

//===-- Waits ----------------------------------------------------------------------------------------------------===//

/// Returns the accesses that `op` waits for.
static Accesses endedBy(Operation *op) {
  Accesses ended;
  for (Value handle : sm::orderOf(op).handles)
    for (Operation *starter : sm::startersOf(handle))
      for (const sm::Access &access : sm::accessesOf(starter))
        ended.add(placed(starter, access));
  return ended;
}

/// Moves the wait down to the first op that conflicts with the finished copies. The copies then have the most time, and
/// one barrier serves several waits.
static void sink(sm::WaitOp wait) {
  Accesses ended = endedBy(wait);
  auto mayComeBefore = [&](Operation *op) {
    bool isAsynchronous = isa<sm::CommitOp, sm::WaitOp, sm::CopyInOp, sm::ProxyFenceOp, sm::RolesOp>(op);
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

/// Inserts the barriers of a block. `before` are accesses that may have happened since the last barrier.
static BarrierSummary orderAccesses(Block &block, const Accesses &before) {
  BarrierSummary summary{.head = {}, .tail = before};
  for (Operation &op : block) {
    if (sm::orderOf(&op).meeting == sm::Meeting::warp) {
      summary.tail.orderInWarp();
      continue;
    }
    BarrierSummary next = orderAccesses(op);
    Need need = summary.tail.needBefore(next.head);
    // The test of a branch stays next to it, so that its result takes no register across the barrier.
    auto test = dyn_cast_if_present<sm::FitsOp>(op.getPrevNode());
    Operation *place = test && test->hasOneUse() && *test->user_begin() == &op ? test : &op;
    OpBuilder b(place);
    if (need == Need::barrier) {
      if (auto ofWarp = dyn_cast_or_null<sm::BarrierOp>(place->getPrevNode()))
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

/// Inserts the barriers of each role. Roles share memory through channels only, and a role of one warp needs no
/// barriers.
static BarrierSummary orderRoles(sm::RolesOp roles) {
  for (sm::RoleRef role : sm::rolesOf(roles))
    if (role.warps() > 1)
      orderAccesses(role.block(), {});
  return {};
}

static BarrierSummary orderAccesses(Operation &op) {
  if (auto roles = dyn_cast<sm::RolesOp>(op))
    return orderRoles(roles);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return orderLoop(loop);
  if (op.getNumRegions() != 0)
    return orderBranches(op);
  if (isBarrier(&op))
    return BarrierSummary::barrier();
  // A thread waits only for its own copies. The copies of other threads have finished at the next barrier.
  if (sm::orderOf(&op).ends != sm::Engine::none)
    return {.head = {}, .tail = endedBy(&op)};
  return summaryOf(&op);
}

/// Returns true if the wait may move past `op`: `op` neither accesses the bytes that the wait covers nor starts a copy
/// into them. A copy into a ring with several slots is allowed, because it goes to another slot.
static bool mayComeAfter(Operation *op, const Accesses &ended) {
  return !tile::anyOp(*op, [&](Operation *inside) {
    auto copy = dyn_cast<sm::CopyInOp>(inside);
    auto slot = copy ? copy.getShared().getDefiningOp<sm::SlotOp>() : sm::SlotOp();
    if (slot && slot.getRing().getType().getShape().front() > 1)
      return false;
    bool isOther = isa<sm::CommitOp, sm::WaitOp, sm::ProxyFenceOp, sm::RolesOp>(inside) || isBarrier(inside);
    bool isEarly = inside->getNumRegions() == 0 && summaryOf(inside).head.conflictWith(ended);
    return isOther || isEarly;
  });
}

/// Moves the wait down to the last barrier before the first op that needs it, so that the copies have more time.
static void postpone(sm::WaitOp wait) {
  Accesses ended = endedBy(wait);
  Operation *place = nullptr;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto barrier = dyn_cast<sm::BarrierOp>(op);
    if (barrier && !barrier.getWarp())
      place = op;
    else if (!barrier && !isa<sm::CommitOp>(op) && !mayComeAfter(op, ended))
      break;
  }
  if (place)
    wait->moveBefore(place);
}

/// Lets the lanes of a warp of consumers meet after they have copied their rows to a slot, which their warp reads.
/// Mbarriers order the other accesses to slots.
static void meetAfter(sm::FallbackCopyOp copy) {
  if (!copy.getRowsOfWarp() || isa_and_present<sm::BarrierOp>(copy->getNextNode()))
    return;
  OpBuilder b(copy->getContext());
  b.setInsertionPointAfter(copy);
  sm::BarrierOp::create(b, copy.getLoc(), /*warp=*/true);
}

/// Returns true if an engine reads, in the asynchronous proxy, what lanes have written to shared memory.
static bool readsWhatLanesWrote(Operation *op) {
  return llvm::any_of(sm::accessesOf(op), [](const sm::Access &access) {
    return access.engine == sm::Engine::tensorCores && !sm::isReceived(access.place->get());
  });
}

/// Inserts a proxy fence before each barrier if an MMA reads what threads wrote. An MMA sees plain writes only after a
/// fence of the writer.
static void fenceBarriers(func::FuncOp function) {
  if (tile::anyOp(function, readsWhatLanesWrote))
    function.walk([](Operation *op) {
      auto barrier = dyn_cast<sm::BarrierOp>(op);
      if (!isBarrier(op) || (barrier && barrier.getWarp()) || isa_and_present<sm::ProxyFenceOp>(op->getPrevNode()))
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
    getOperation()->walk(cuda::meetBefore);
    getOperation()->walk(meetAfter);
    getOperation()->walk(sink);
    getOperation()->walk([](func::FuncOp function) {
      orderAccesses(function.getBody().front(), {});
      function.walk(postpone);
      fenceBarriers(function);
    });
  }
};
} // namespace
