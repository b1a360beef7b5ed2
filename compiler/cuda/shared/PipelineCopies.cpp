// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Slices.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PIPELINECOPIES
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

//===-- Loads that can run ahead ---------------------------------------------------------------------------------===//

/// Returns true if no operand of `op` is a value that the loop carries.
static bool isIndependent(Operation *op, scf::ForOp loop) {
  return llvm::none_of(op->getOperands(),
                       [&](Value operand) { return llvm::is_contained(loop.getRegionIterArgs(), operand); });
}

static bool canRunAhead(sm::LoadSharedOp fetch, scf::ForOp loop) {
  return fetch.getType().getPanel() != 0 && tile::isReadOnly(fetch.getView()) && isIndependent(fetch, loop) &&
         llvm::all_of(sm::sliceOf(fetch->getOperands(), loop.getBody()),
                      [&](Operation *op) { return sm::isPureScalar(op) && isIndependent(op, loop); });
}

static SmallVector<sm::LoadSharedOp> loadsAhead(scf::ForOp loop) {
  return llvm::filter_to_vector(loop.getBody()->getOps<sm::LoadSharedOp>(),
                                [&](sm::LoadSharedOp fetch) { return canRunAhead(fetch, loop); });
}

/// Returns true if no loop inside loads, copies or receives tiles in shared memory. Such an inner loop needs the memory
/// more.
static bool isInnermost(scf::ForOp loop) {
  return !tile::anyOp(*loop.getBody(), [&](Operation *op) {
    auto inner = op->getParentOfType<scf::ForOp>();
    const bool fills =
        isa<sm::CopyInOp, sm::ConsumerWaitOp>(op) || (isa<sm::LoadSharedOp>(op) && op->getParentOp() == inner);
    return fills && inner != loop;
  });
}

//===-- The pipeline ---------------------------------------------------------------------------------------------===//

namespace {
class Pipeline {
public:
  Pipeline(scf::ForOp loop, SmallVector<sm::LoadSharedOp> fetches, int64_t stages)
      : loop_(loop), loads_(std::move(fetches)), stages_(stages) {}

  void build() {
    for (sm::LoadSharedOp fetch : loads_)
      slice_.insert_range(sm::sliceOf(fetch->getOperands(), loop_.getBody()));
    LocBuilder b(loop_.getLoc(), loop_);
    for (sm::LoadSharedOp fetch : loads_)
      rings_.push_back(sm::AllocOp::create(b, fetch.getLoc(), fetch.getType().ring(stages_)));
    SmallVector<Value> first;
    for (int64_t stage = 0; stage + 1 < stages_; ++stage)
      first.push_back(copyGroup(b, ahead(b, loop_.getLowerBound(), stage), integer(b, b.getI32Type(), stage)));
    Value distance = ahead(b, integer(b, loop_.getStep().getType(), 0), stages_ - 1);
    first.push_back(integer(b, b.getI32Type(), 0));
    IRRewriter rewriter(b.getContext());
    (void)loop_.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) { return rewriteBody(carried, distance); });
  }

private:
  static Value integer(LocBuilder &b, Type type, int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }

  /// Returns the loop variable of the iteration that comes `iterations` later.
  Value ahead(LocBuilder &b, Value variable, int64_t iterations) {
    Value distance = b.createOrFold<arith::MulIOp>(loop_.getStep(), integer(b, variable.getType(), iterations));
    return b.createOrFold<arith::AddIOp>(variable, distance);
  }

  /// Emits the copies of the iteration at `variable`, guarded by a test that there is such an iteration, and their
  /// commit. Returns the commit group.
  Value copyGroup(LocBuilder &b, Value variable, Value slot) {
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, variable, loop_.getUpperBound());
    scf::IfOp::create(b, exists, [&](OpBuilder &then, Location loc) {
      IRMapping map;
      map.map(loop_.getInductionVar(), variable);
      for (Operation *op : slice_)
        then.clone(*op, map);
      for (auto &&[fetch, ring] : llvm::zip_equal(loads_, rings_)) {
        Value buffer = sm::SlotOp::create(then, fetch.getLoc(), fetch.getType(), ring, slot);
        SmallVector<Value> position;
        for (Value index : fetch.getPosition())
          position.push_back(map.lookupOrDefault(index));
        sm::CopyInOp::create(then, fetch.getLoc(), map.lookupOrDefault(fetch.getView()), position, fetch.getShape(),
                             buffer);
      }
      scf::YieldOp::create(then, loc);
    });
    return sm::CommitOp::create(b);
  }

  /// Returns the slot `step` after `slot` in a ring, in which slot `end` is followed by slot `start`.
  static Value beside(LocBuilder &b, Value slot, int64_t step, int64_t end, int64_t start) {
    auto constant = [&](int64_t value) { return integer(b, slot.getType(), value); };
    Value closes = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, slot, constant(end));
    return arith::SelectOp::create(b, closes, constant(start), arith::AddIOp::create(b, slot, constant(step)));
  }

  /// Emits the wait for the tiles of the iteration, and the copies of a later iteration. They go to the slot that the
  /// previous iteration has read. A ring of one slot is filled for the iteration itself. Then replaces the loads by
  /// slots. The loop carries the commit groups in flight, the oldest first, and the slot of the iteration. Returns
  /// their next values.
  SmallVector<Value> rewriteBody(ArrayRef<BlockArgument> carried, Value distance) {
    auto b = LocBuilder::atBlockBegin(loop_.getLoc(), loop_.getBody());
    SmallVector<Value> groups(carried.drop_back());
    Value slot = carried.back();
    if (stages_ > 1)
      sm::WaitOp::create(b, groups.front());
    Value variable = b.createOrFold<arith::AddIOp>(loop_.getInductionVar(), distance);
    groups.push_back(copyGroup(b, variable, beside(b, slot, -1, 0, stages_ - 1)));
    if (stages_ == 1)
      sm::WaitOp::create(b, groups.front());
    for (auto &&[fetch, ring] : llvm::zip_equal(loads_, rings_)) {
      b.setInsertionPoint(fetch);
      fetch.replaceAllUsesWith(sm::SlotOp::create(b, fetch.getLoc(), fetch.getType(), ring, slot).getResult());
      fetch.erase();
    }
    b.setInsertionPoint(loop_.getBody()->getTerminator());
    SmallVector<Value> next(llvm::drop_begin(groups));
    next.push_back(beside(b, slot, 1, stages_ - 1, 0));
    return next;
  }

  scf::ForOp loop_;
  SmallVector<sm::LoadSharedOp> loads_;
  int64_t stages_;
  SetVector<Operation *> slice_; ///< The ops of an iteration that the loads are computed from, operands first.
  SmallVector<Value> rings_;
};

struct PipelineCopies : cuda::impl::PipelineCopiesBase<PipelineCopies> {
  void runOnOperation() override {
    const int64_t stages = tile::scheduleOf(getOperation()).num_stages;
    for (scf::ForOp loop : tile::allOps(getOperation(), isInnermost))
      if (SmallVector<sm::LoadSharedOp> fetches = loadsAhead(loop); !fetches.empty())
        Pipeline(loop, std::move(fetches), stages).build();
  }
};
} // namespace
