// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"
#include "compiler/cuda/SharedOperands.h"

#include "compiler/sm/Storage.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_KEEPLHSINREGISTERS
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

/// The left operand of a product that could as well be in registers, else null. Products of warps beside those of
/// warpgroups are rare.
static Value sharedLhsOf(Operation *op) {
  Value lhs;
  if (auto product = dyn_cast<sm::MmaOp>(op); product && !product.getTransposeLhs())
    lhs = llvm::none_of(product.getLhs().getUsers(), llvm::IsaPred<sm::WgmmaOp>) ? product.getLhs() : Value();
  else if (auto product = dyn_cast<sm::WgmmaOp>(op))
    lhs = product.getLhs();
  auto type = lhs ? dyn_cast<sm::SharedType>(lhs.getType()) : sm::SharedType();
  return type && type.elementBytes() == 2 ? lhs : Value();
}

/// Whether registers that hold an operand through all iterations would be safe from the assembler. Where nothing else
/// is held from one iteration to the next, ptxas 13.0 gives them to what the loop packs for another product, too.
static bool areSafe(Operation *op) {
  auto isCarried = [&](sm::WgmmaOp product) {
    auto argument = dyn_cast<BlockArgument>(product.getLhs());
    return argument && argument.getOwner() == op->getBlock();
  };
  return isa<sm::MmaOp>(op) || llvm::any_of(op->getBlock()->getOps<sm::WgmmaOp>(), isCarried);
}

/// Whether iterations that do not make the operand repeat the product.
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

/// In registers, in the form in which `product` takes it.
static Value read(ImplicitLocOpBuilder &b, Value lhs, Operation *product) {
  RankedTensorType result = resultOf(product);
  std::optional<sm::Fragments> grid = sm::accumulatorFragments(sm::layoutOf(result));
  const int64_t rows = result.getDimSize(0), depth = depthOf(product);
  auto tile = RankedTensorType::get({rows, depth}, cast<sm::SharedType>(lhs.getType()).getElementType(),
                                    sm::operandLayout(b.getContext(), rows, depth, grid->warpsM, grid->warpsN));
  Value held = sm::ReadOp::create(b, tile, lhs, /*reshaped=*/false);
  if (lhs.getDefiningOp<sm::ConsumerWaitOp>() && isa<LoopLikeOpInterface>(lhs.getParentBlock()->getParentOp()))
    sm::ProxyFenceOp::create(b); // The next tile in this place is written by TMA.
  return isa<sm::WgmmaOp>(product) ? cuda::packed(b, held) : held;
}

/// Reads it as late as possible, so that other copies start before, for all products with accumulators of one layout.
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
    if (tile::isOn(getOperation(), "tile.lhs_in_registers"))
      for (auto function : getOperation().getOps<func::FuncOp>())
        hold(function);
  }

  static void hold(func::FuncOp function) {
    llvm::MapVector<Value, SmallVector<Operation *>> products; // By operand, in the program's order.
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
      function.emitRemark(
          "lhs_in_registers has no effect: there is no loop of products that could keep its left operand in registers");
    for (Value lhs : repeated)
      ::hold(lhs, products[lhs]);
  }
};
} // namespace
