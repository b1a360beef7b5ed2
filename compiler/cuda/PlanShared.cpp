// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANSHARED
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {

/// From `first` to `last`, both included: positions in the program, or bytes.
struct Interval {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();

  void include(Interval other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
  bool overlaps(Interval other) const { return first <= other.last && other.first <= last; }
};

/// Numbers the ops in the order of the program and says when buffers are in use.
class Lives {
public:
  explicit Lives(Operation *root) : root_(root) { number(root); }

  Interval of(sm::AllocOp alloc) const {
    Interval life;
    addUses(alloc, alloc, life);
    return life;
  }

private:
  /// An op with regions spans them.
  void number(Operation *op) {
    int64_t first = next_++;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        number(&inner);
    spans_[op] = {first, next_++};
  }

  void addUses(Value buffer, sm::AllocOp alloc, Interval &life) const {
    for (Operation *user : buffer.getUsers()) {
      addUse(alloc, user, life);
      // The loop that reads a ring waits for all that is copied into it.
      if (isa<sm::CopyInOp>(user) && !buffer.getDefiningOp<sm::SlotOp>())
        addUntilFinished(user, life);
      if (isa<sm::SlotOp, sm::ColumnsOp, sm::ConsumerWaitOp>(user))
        addUses(user->getResult(0), alloc, life);
      if (auto product = dyn_cast<sm::WgmmaOp>(user))
        addUntilWait(product, alloc, life);
    }
  }

  /// A producer fills a buffer as soon as it can; it has filled it for the last time when consumers last use it.
  void addUse(sm::AllocOp alloc, Operation *user, Interval &life) const {
    auto roles = user->getParentOfType<sm::RolesOp>();
    if (roles && roles.getProducer().findAncestorOpInRegion(*user))
      life.include({spans_.at(roles).first, spans_.at(roles).first});
    else
      life.include(spans_.at(inLoopOf(alloc, user)));
  }

  /// A product reads its operands until the wait; one that another iteration waits for, for good.
  void addUntilWait(sm::WgmmaOp product, sm::AllocOp alloc, Interval &life) const {
    for (Operation *user : product->getUsers())
      life.include(spans_.at(isa<sm::WgmmaWaitOp>(user) ? inLoopOf(alloc, user) : root_));
  }

  /// The outermost loop between the alloc and the user: what is in use in one iteration must survive the others.
  static Operation *inLoopOf(sm::AllocOp alloc, Operation *user) {
    Operation *outermost = user;
    for (Operation *op = user; op->getParentOp() && !op->isProperAncestor(alloc); op = op->getParentOp())
      if (isa<LoopLikeOpInterface>(op))
        outermost = op;
    return outermost;
  }

  /// Walks on from a copy until a wait covers it. Waits in regions do not count: they may not run.
  void addUntilFinished(Operation *copy, Interval &life) const {
    int64_t groups = 0;
    for (Operation *op = copy; !isa<func::FuncOp>(op); op = op->getParentOp()) {
      life.include(spans_.at(op));
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
        life.include(spans_.at(next));
        auto wait = dyn_cast<sm::WaitOp>(next);
        if (wait && static_cast<int64_t>(wait.getPending()) < groups)
          return;
        groups += isa<sm::CommitOp>(next);
      }
    }
  }

  Operation *root_;
  int64_t next_ = 0;
  DenseMap<Operation *, Interval> spans_;
};

struct Buffer {
  sm::AllocOp alloc;
  int64_t size;
  Interval life, bytes;

  void moveTo(int64_t offset) { bytes = {offset, offset + size - 1}; }
};

static bool isFree(ArrayRef<Buffer> placed, const Buffer &buffer) {
  return llvm::none_of(placed, [&](const Buffer &other) {
    return other.life.overlaps(buffer.life) && other.bytes.overlaps(buffer.bytes);
  });
}

/// That of another buffer of the same size, whose rows then lie in the same places, or else the lowest that is free
/// during the life of `buffer`. `placed` is sorted by place.
static void placeAmong(ArrayRef<Buffer> placed, Buffer &buffer) {
  for (const Buffer &other : placed)
    if (buffer.moveTo(other.bytes.first); other.size == buffer.size && isFree(placed, buffer))
      return;
  buffer.moveTo(0);
  for (const Buffer &other : placed)
    if (other.life.overlaps(buffer.life) && other.bytes.overlaps(buffer.bytes))
      buffer.moveTo(other.bytes.last + 1);
}

struct PlanShared : cuda::impl::PlanSharedBase<PlanShared> {
  void runOnOperation() override {
    int64_t total = 0;
    Builder b(&getContext());
    for (Buffer buffer : plan()) {
      buffer.alloc.setOffset(buffer.bytes.first);
      total = std::max(total, buffer.bytes.last + 1);
    }
    getOperation()->setAttr("tile.shared_bytes", b.getI64IntegerAttr(total));
  }

  /// Large buffers choose first.
  SmallVector<Buffer> plan() {
    Lives lives(getOperation());
    SmallVector<Buffer> buffers, placed;
    getOperation().walk(
        [&](sm::AllocOp alloc) { buffers.push_back({alloc, alloc.getType().bytes(), lives.of(alloc), {}}); });
    llvm::stable_sort(buffers, [](const Buffer &a, const Buffer &b) { return a.size > b.size; });
    for (Buffer &buffer : buffers) {
      placeAmong(placed, buffer);
      auto isLower = [](const Buffer &a, const Buffer &b) { return a.bytes.first < b.bytes.first; };
      placed.insert(llvm::upper_bound(placed, buffer, isLower), buffer);
    }
    return placed;
  }
};
} // namespace
