// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Roles.h"
#include "compiler/tile/Settings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PLANSHARED
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {

/// A closed interval, from `first` to `last`, of positions in the program or of bytes.
struct Interval {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();

  void include(Interval other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
  bool overlaps(Interval other) const { return first <= other.last && other.first <= last; }
};

/// The live ranges of buffers, over the ops in program order.
class LiveRanges {
public:
  explicit LiveRanges(Operation *root) { number(root); }

  Interval of(sm::AllocOp alloc) const {
    Interval liveRange;
    addUses(alloc, alloc, liveRange);
    return liveRange;
  }

private:
  /// Numbers ops in program order. An op with regions spans the ops in them.
  void number(Operation *op) {
    int64_t first = next_++;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        number(&inner);
    spans_[op] = {first, next_++};
  }

  void addUses(Value buffer, sm::AllocOp alloc, Interval &liveRange) const {
    for (Operation *user : buffer.getUsers()) {
      addUse(alloc, user, liveRange);
      if (isa<ViewLikeOpInterface>(user))
        for (Value view : user->getResults())
          if (!isa<tile::PartsOpInterface>(user) || sm::allocOf(view) == alloc)
            addUses(view, alloc, liveRange);
      if (isa<sm::TmaAddOp>(user)) // TMA reads the buffer later, and only the next addition waits for it.
        liveRange.include(spans_.at(user->getParentOfType<sm::RolesOp>()));
      if (Value handle = handleOf(user))
        addUntilWait(handle, alloc, liveRange);
    }
  }

  /// Adds an op that uses a buffer. A role fills a slot as early as it can, so its use counts from the start of the
  /// roles. The last use of the readers comes after the last fill.
  void addUse(sm::AllocOp alloc, Operation *user, Interval &liveRange) const {
    auto roles = user->getParentOfType<sm::RolesOp>();
    if (roles && fillsSlot(user))
      liveRange.include({spans_.at(roles).first, spans_.at(roles).first});
    else
      liveRange.include(spans_.at(inLoopOf(alloc, user)));
  }

  static bool fillsSlot(Operation *user) {
    auto op = dyn_cast<sm::RoleEventOpInterface>(user);
    return op && llvm::any_of(op.getEvents(), [](const sm::RoleEvent &event) { return event.isOfWriter(); });
  }

  /// Returns what a wait for the accesses of `user` names: an MMA in flight or the copies of a commit group. Otherwise
  /// null.
  static Value handleOf(Operation *user) {
    if (auto product = dyn_cast<sm::AsyncProduct>(user))
      return product.getHandle();
    auto copy = dyn_cast<sm::CopyInOp>(user);
    sm::CommitOp commit = copy ? sm::commitOf(copy) : sm::CommitOp();
    return commit ? commit.getCopies() : Value();
  }

  /// Extends a live range to the waits for an MMA, which reads its operands until then, or for a copy.
  void addUntilWait(Value handle, sm::AllocOp alloc, Interval &liveRange) const {
    for (Operation *end : sm::endersOf(handle))
      liveRange.include(spans_.at(inLoopOf(alloc, end)));
  }

  /// Returns the outermost loop between the alloc and the user, or the user. A buffer that one iteration uses must
  /// survive the other iterations.
  static Operation *inLoopOf(sm::AllocOp alloc, Operation *user) {
    Operation *outermost = user;
    for (Operation *op = user; op->getParentOp() && !op->isProperAncestor(alloc); op = op->getParentOp())
      if (isa<LoopLikeOpInterface>(op))
        outermost = op;
    return outermost;
  }

  int64_t next_ = 0;
  DenseMap<Operation *, Interval> spans_;
};

struct Buffer {
  sm::AllocOp alloc;
  int64_t size;
  Interval liveRange, bytes;

  void moveTo(int64_t offset) { bytes = {offset, offset + size - 1}; }
};

static bool isFree(ArrayRef<Buffer> placed, const Buffer &buffer) {
  return llvm::none_of(placed, [&](const Buffer &other) {
    return other.liveRange.overlaps(buffer.liveRange) && other.bytes.overlaps(buffer.bytes);
  });
}

/// Picks an offset for `buffer`. Prefers the offset of a placed buffer of the same size, so that both have their rows
/// at the same addresses. Otherwise takes the lowest offset that is free during the live range of `buffer`. `placed` is
/// sorted by offset.
static void placeAmong(ArrayRef<Buffer> placed, Buffer &buffer) {
  for (const Buffer &other : placed)
    if (buffer.moveTo(other.bytes.first); other.size == buffer.size && isFree(placed, buffer))
      return;
  buffer.moveTo(0);
  for (const Buffer &other : placed)
    if (other.liveRange.overlaps(buffer.liveRange) && other.bytes.overlaps(buffer.bytes))
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
    getOperation().walk([&](sm::RolesOp roles) {
      if (failed(numberBarriers(roles)) || failed(checkTensorMemory(roles)))
        signalPassFailure();
    });
  }

  /// Checks that the accumulators of all program instances of a multiprocessor fit into tensor memory.
  static LogicalResult checkTensorMemory(sm::RolesOp roles) {
    int64_t columns = 0;
    for (auto sums : roles->getBlock()->getOps<sm::TensorAllocOp>())
      columns += sums.getType().allocated();
    const int64_t instances = tile::scheduleOf(roles).instances_per_sm;
    if (columns * instances > sm::kTensorColumns)
      return roles.emitOpError("needs ") << columns << " columns of tensor memory for each of " << instances
                                         << " program instances; a multiprocessor has " << sm::kTensorColumns;
    return success();
  }

  /// Gives named barriers to the roles of more than one warp, then to the turns of their warpgroups, then to channels.
  /// Barrier 0 is that of the thread block.
  static LogicalResult numberBarriers(sm::RolesOp roles) {
    constexpr int64_t all = 16;
    int64_t next = 1;
    SmallVector<int64_t> barriers, turns;
    for (sm::RoleRef role : sm::rolesOf(roles)) {
      barriers.push_back(role.warps() > 1 ? next : 0);
      next += role.warps() > 1;
    }
    for (sm::RoleRef role : sm::rolesOf(roles)) {
      const bool hasTurns = !role.body().getOps<sm::SequenceInitOp>().empty();
      turns.push_back(hasTurns ? next : 0);
      next += hasTurns ? role.warpgroups() : 0;
    }
    for (auto channel : roles->getBlock()->getOps<sm::ChannelOp>())
      if (channel.getByBarriers()) {
        channel.setFirstBarrier(next);
        next += 1 + sm::findRole(roles, channel.getFrom())->warpgroups();
      }
    if (next > all)
      return roles.emitOpError("needs ") << next << " named barriers; a thread block has " << all;
    roles.setBarriers(barriers);
    roles.setTurns(turns);
    return success();
  }

  /// Places the buffers, large ones first.
  SmallVector<Buffer> plan() {
    LiveRanges liveRanges(getOperation());
    SmallVector<Buffer> buffers, placed;
    getOperation().walk(
        [&](sm::AllocOp alloc) { buffers.push_back({alloc, alloc.getType().bytes(), liveRanges.of(alloc), {}}); });
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
