// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_DRAWLATE
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// Random numbers and what is computed from nothing else, such as their comparison with a constant.
namespace {
class Drawn {
public:
  explicit Drawn(sm::RandomOp random) : ops_({random}) {}

  bool isReadBy(Operation *op) const {
    return tile::anyOp(*op, [&](Operation *inner) {
      return llvm::any_of(inner->getOperands(), [&](Value value) { return contains(value); });
    });
  }

  /// Adds an op that reads the numbers if it depends on nothing else in the block. Returns false otherwise.
  bool add(Operation *op) {
    auto isKnown = [&](Value value) {
      Operation *from = value.getDefiningOp();
      return contains(value) || !from || from->getBlock() != op->getBlock();
    };
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) || !llvm::all_of(op->getOperands(), isKnown))
      return false;
    ops_.push_back(op);
    return true;
  }

  void moveAfter(Operation *op) {
    for (Operation *one : llvm::reverse(ops_))
      one->moveAfter(op);
  }

private:
  bool contains(Value value) const { return llvm::is_contained(ops_, value.getDefiningOp()); }

  SmallVector<Operation *> ops_;
};
} // namespace

static void drawLate(sm::RandomOp random) {
  Drawn drawn(random);
  Operation *lastStart = nullptr;
  for (Operation *op = random->getNextNode(); op; op = op->getNextNode()) {
    if (drawn.isReadBy(op) ? !drawn.add(op) : lastStart && isa<sm::AwaitOp>(op))
      break;
    if (isa<sm::AsyncProduct>(op))
      lastStart = op;
  }
  if (lastStart)
    drawn.moveAfter(lastStart);
}

namespace {
struct DrawLate : cuda::impl::DrawLateBase<DrawLate> {
  void runOnOperation() override { getOperation()->walk(drawLate); }
};
} // namespace
