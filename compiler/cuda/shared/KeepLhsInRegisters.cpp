// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/SharedOperands.h"
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Storage.h"
#include "compiler/tile/Settings.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_KEEPLHSINREGISTERS
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// Returns true if the accumulators of `product` have a layout in which registers can hold its left operand.
static bool canHoldLhs(sm::WgmmaOp product) {
  std::optional<sm::Fragments> grid = sm::accumulatorFragments(sm::layoutOf(product.getType().getTile()));
  return !product.getTransposeLhs() && grid && grid->warpsN == 1;
}

/// Returns the left operand of an MMA if the MMA reads it from shared memory but could take it from registers,
/// otherwise null. If an `sm.wgmma` reads the operand, too, an `sm.mma` runs rarely, and the result is null.
static Value sharedLhsOf(Operation *op) {
  Value lhs;
  if (auto product = dyn_cast<sm::MmaOp>(op); product && !product.getTransposeLhs())
    lhs = llvm::none_of(product.getLhs().getUsers(), llvm::IsaPred<sm::WgmmaOp>) ? product.getLhs() : Value();
  else if (auto product = dyn_cast<sm::WgmmaOp>(op); product && canHoldLhs(product))
    lhs = product.getLhs();
  auto type = lhs ? dyn_cast<sm::SharedType>(lhs.getType()) : sm::SharedType();
  return type && type.elementBytes() == 2 ? lhs : Value();
}

/// Returns true if ptxas keeps an operand intact in registers through all iterations of the loop around `op`. If the
/// loop carries no other left operand in registers, ptxas 13.0 assigns the same registers to values that the loop packs
/// for another MMA.
static bool areSafe(Operation *op) {
  auto isCarried = [&](sm::WgmmaOp product) {
    auto argument = dyn_cast<BlockArgument>(product.getLhs());
    return argument && argument.getOwner() == op->getBlock();
  };
  return isa<sm::MmaOp>(op) || llvm::any_of(op->getBlock()->getOps<sm::WgmmaOp>(), isCarried);
}

/// Returns true if `op` is in a loop and `lhs` is defined outside that loop.
static bool isRepeated(Operation *op, Value lhs) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  return loop && loop.isDefinedOutsideOfLoop(lhs);
}

static RankedTensorType resultOf(Operation *op) {
  auto product = dyn_cast<sm::WgmmaOp>(op);
  return product ? product.getType().getTile() : cast<sm::MmaOp>(op).getResult().getType();
}

static uint32_t depthOf(Operation *op) {
  auto product = dyn_cast<sm::WgmmaOp>(op);
  return product ? product.getDepth() : cast<sm::MmaOp>(op).getDepth();
}

/// Reads `lhs` to registers, in the form in which `product` takes it.
static Value read(ImplicitLocOpBuilder &b, Value lhs, Operation *product) {
  RankedTensorType result = resultOf(product);
  std::optional<sm::Fragments> grid = sm::accumulatorFragments(sm::layoutOf(result));
  const int64_t rows = result.getDimSize(0), depth = depthOf(product);
  auto tile = RankedTensorType::get({rows, depth}, cast<sm::SharedType>(lhs.getType()).getElementType(),
                                    sm::operandLayout(b.getContext(), rows, depth, grid->warpsM, grid->warpsN));
  Value held = sm::ReadOp::create(b, tile, lhs);
  if (lhs.getDefiningOp<sm::ConsumerWaitOp>() && isa<LoopLikeOpInterface>(lhs.getParentBlock()->getParentOp()))
    sm::ProxyFenceOp::create(b); // TMA writes the next tile to this slot.
  return isa<sm::WgmmaOp>(product) ? cuda::packed(b, held) : held;
}

/// Reads `lhs` to registers for all given MMAs, once for each layout of accumulators. The read comes as late as
/// possible, so that other copies start before it.
static void hold(Value lhs, ArrayRef<Operation *> products) {
  Block *block = lhs.getParentBlock();
  ImplicitLocOpBuilder b(lhs.getLoc(), block->findAncestorOpInBlock(*products.front()));
  DenseMap<Attribute, Value> held;
  for (Operation *product : products) {
    Value &registers = held[sm::layoutOf(resultOf(product))];
    if (!registers)
      registers = read(b, lhs, product);
    product->setOperand(0, registers);
  }
}

namespace {
struct KeepLhsInRegisters : cuda::impl::KeepLhsInRegistersBase<KeepLhsInRegisters> {
  void runOnOperation() override {
    if (tile::scheduleOf(getOperation()).lhs_in_registers == true)
      for (auto function : getOperation().getOps<func::FuncOp>())
        hold(function);
  }

  static void hold(func::FuncOp function) {
    llvm::MapVector<Value, SmallVector<Operation *>> products; // By operand, in program order.
    SetVector<Value> repeated;
    function.walk([&](Operation *op) {
      Value lhs = sharedLhsOf(op);
      if (!lhs)
        return;
      products[lhs].push_back(op);
      if (isRepeated(op, lhs) && areSafe(op))
        repeated.insert(lhs);
    });
    if (repeated.empty())
      function.emitRemark(tile::nameSetting(function, "lhs_in_registers"))
          << " has no effect: no loop has an MMA whose left operand it does not change and could keep in registers";
    for (Value lhs : repeated)
      ::hold(lhs, products[lhs]);
  }
};
} // namespace
