// SPDX-License-Identifier: MIT
#include "compiler/cuda/Footprint.h"
#include "compiler/cuda/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

//===-- Accesses -------------------------------------------------------------------------------------------------===//

namespace {
/// Atomic additions have no order among each other.
enum class Kind { read, write, add };

/// What has to come between two accesses.
enum class Need { nothing, warpBarrier, barrier };

/// Of bytes of shared memory, or of a whole tensor in global memory.
struct Access {
  Kind kind;
  Value tensor; ///< Null for shared memory.
  int64_t begin = 0, end = 1;
  sm::SharedType type = {}; ///< In shared memory: how the bytes from `begin` on are arranged.
  std::optional<cuda::Footprint> footprint = {};
  bool orderedInWarp = false; ///< A barrier of the warp has come since.

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
  /// Whether each thread meets only what it has accessed itself.
  bool isOfSameThreads(const Access &other) const {
    bool bothWrite = kind == Kind::write && other.kind == Kind::write;
    return hasSameFootprint(other) && (bothWrite || !footprint->hasCopies());
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
  /// Whether a row has the same bytes of each panel; panels lie one after the other, and each tile of a ring begins at
  /// a multiple of 1024 bytes.
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
  /// In the next iteration of a loop, what an iteration has computed is something else.
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

/// What matters of a piece of program to its neighbours.
struct Section {
  Accesses head;    ///< With no barrier before them.
  Accesses tail;    ///< With no barrier after them.
  bool open = true; ///< There may be no barrier at all.

  static Section barrier() { return {{}, {}, false}; }

  void append(const Section &next) {
    if (open)
      head.add(next.head);
    if (!next.open)
      tail = {};
    tail.add(next.tail);
    open &= next.open;
  }
};
} // namespace

/// The bytes of a buffer; of a ring all slots, because which one it is shows only at run time.
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

/// Of an op without regions.
static Section sectionOf(Operation *op) {
  Section section;
  if (isMemoryEffectFree(op))
    return section;
  for (Value operand : op->getOperands()) {
    if (!isa<sm::SharedType, tile::ViewType>(operand.getType()))
      continue;
    Access access = accessTo(operand, kindOf(op, operand));
    access.footprint = cuda::footprintOf(op, operand);
    section.head.add(access);
    // What a copy has written counts from its wait on.
    if (!isa<sm::CopyInOp>(op) || access.kind == Kind::read)
      section.tail.add(access);
  }
  return section;
}

/// All threads meet there: whoever claims tells the others.
static bool isBarrier(Operation *op) { return isa<sm::BarrierOp, tile::NextWorkOp>(op); }

//===-- Waits ----------------------------------------------------------------------------------------------------===//

/// The loop that reads a ring. It waits for all that is copied there.
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

/// What the copies that a wait may end have written.
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

/// Down to what needs it: there it costs least, and shares a barrier.
static void sink(sm::WaitOp wait) {
  Accesses ended = endedBy(wait);
  auto mayComeBefore = [&](Operation *op) {
    bool isAsynchronous = isa<sm::CommitOp, sm::WaitOp, sm::CopyInOp, sm::RolesOp>(op);
    return isAsynchronous || isBarrier(op) || (op->getNumRegions() == 0 && sectionOf(op).head.conflictWith(ended))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  Operation *place = wait->getNextNode();
  while (!place->hasTrait<OpTrait::IsTerminator>() && !place->walk(mayComeBefore).wasInterrupted())
    place = place->getNextNode();
  wait->moveBefore(place);
}

//===-- Barriers -------------------------------------------------------------------------------------------------===//

static Section orderAccesses(Operation &op);

static bool ordersWarp(Operation *op) {
  auto barrier = dyn_cast<sm::BarrierOp>(op);
  auto release = dyn_cast<sm::ReleaseOp>(op);
  return (barrier && barrier.getWarp()) || (release && release.getPerWarp());
}

/// `before` are accesses that may have happened since the last barrier.
static Section orderAccesses(Block &block, const Accesses &before) {
  Section section{.head = {}, .tail = before};
  for (Operation &op : block) {
    if (ordersWarp(&op)) {
      section.tail.orderInWarp();
      continue;
    }
    Section next = orderAccesses(op);
    Need need = section.tail.needBefore(next.head);
    OpBuilder b(&op);
    if (need == Need::barrier) {
      if (auto ofWarp = dyn_cast_or_null<sm::BarrierOp>(op.getPrevNode()))
        ofWarp.erase();
      sm::BarrierOp::create(b, op.getLoc());
      section.append(Section::barrier());
    } else if (need == Need::warpBarrier) {
      sm::BarrierOp::create(b, op.getLoc(), /*warp=*/true);
      section.tail.orderInWarp();
    }
    section.append(next);
  }
  return section;
}

/// An iteration of a loop, whose regions run one after the other; it may end behind each of them.
static Section orderIteration(LoopLikeOpInterface loop, Accesses before) {
  Section iteration;
  for (Region *region : loop.getLoopRegions()) {
    Section part = orderAccesses(region->front(), before);
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

/// There may be no iteration.
static Section orderLoop(LoopLikeOpInterface loop) {
  Section iteration = orderIteration(loop, {});
  Accesses before = loop->hasAttr(tile::parallelLoop) ? iteration.tail.ofSharedMemory() : iteration.tail;
  if (before.conflictWith(iteration.head))
    iteration = orderIteration(loop, before);
  iteration.open = true;
  return iteration;
}

/// A conflict with what comes before regions is solved before them: once, and for all branches.
static Section orderBranches(Operation &op) {
  Section section{.head = {}, .tail = {}, .open = false};
  for (Region &region : op.getRegions()) {
    if (region.empty()) {
      section.open = true;
      continue;
    }
    Section body = orderAccesses(region.front(), {});
    section.head.add(body.head);
    section.tail.add(body.tail);
    section.open |= body.open;
  }
  return section;
}

static Section orderAccesses(Operation &op) {
  // Producers share nothing with each other.
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
    return Section::barrier();
  // A thread waits for its own copies only; those of others have ended at the next barrier.
  if (auto wait = dyn_cast<sm::WaitOp>(op))
    return {.head = {}, .tail = endedBy(wait)};
  return sectionOf(&op);
}

/// Whether a wait may come behind `op`, which neither touches what the wait ends nor starts a copy there. Of a ring the
/// next copies go to another slot.
static bool mayComeAfter(Operation *op, const Accesses &ended) {
  WalkResult search = op->walk([&](Operation *inside) {
    auto copy = dyn_cast<sm::CopyInOp>(inside);
    auto slot = copy ? copy.getShared().getDefiningOp<sm::SlotOp>() : sm::SlotOp();
    if (slot && slot.getRing().getType().getShape().front() > 1)
      return WalkResult::advance();
    bool isOther = isa<sm::CommitOp, sm::WaitOp, sm::RolesOp>(inside) || isBarrier(inside);
    bool isEarly = inside->getNumRegions() == 0 && sectionOf(inside).head.conflictWith(ended);
    return isOther || isEarly ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !search.wasInterrupted();
}

/// To the last barrier before what needs it: until then the copies have time. Younger groups may then be under way,
/// too.
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

/// Whether a product's operand has come to shared memory by plain accesses.
static bool readsWhatThreadsWrote(sm::WgmmaOp product) {
  return llvm::any_of(product->getOperands(), [](Value operand) {
    return isa<sm::SharedType>(operand.getType()) && !operand.getDefiningOp<sm::ConsumerWaitOp>();
  });
}

/// Products see plain writes only after a fence of the writer.
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
