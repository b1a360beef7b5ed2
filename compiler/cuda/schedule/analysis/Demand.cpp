// SPDX-License-Identifier: MIT
#include "compiler/cuda/schedule/analysis/Demand.h"

#include "compiler/sm/Elements.h"
#include "compiler/sm/Slices.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tegula::cuda {

static bool isInnermost(LoopLikeOpInterface loop) {
  return llvm::none_of(loop.getLoopRegions(),
                       [](Region *region) { return tile::anyOp(*region, [](LoopLikeOpInterface) { return true; }); });
}

SmallVector<Product> hotProducts(ModuleOp module) {
  SmallVector<Product> products = productsOf(module);
  llvm::erase_if(products, [](const Product &product) {
    auto loop = product.op->getParentOfType<LoopLikeOpInterface>();
    return !loop || !isInnermost(loop);
  });
  return products;
}

/// Returns the ops of the iteration that compute an operand of a product.
static SetVector<Operation *> sliceOf(const Product &product) {
  return sm::sliceOf({product.lhs, product.rhs}, product.op->getBlock());
}

bool isUsedByProduct(const Product &product, ArrayRef<Product> products) {
  return llvm::any_of(products, [&](const Product &user) { return sliceOf(user).contains(product.op); });
}

bool hasExponentialsBetween(ArrayRef<Product> products) {
  return llvm::any_of(products, [](const Product &product) {
    if (product.isSoftmax())
      return true;
    const SetVector<Operation *> slice = sliceOf(product);
    return llvm::any_of(slice, llvm::IsaPred<tile::DotOp>) &&
           llvm::any_of(slice, llvm::IsaPred<math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp>);
  });
}

//===-- Registers -------------------------------------------------------------------------------------------------===//

Accumulators::Accumulators(ArrayRef<Product> products, function_ref<int64_t(const Product &)> sizeOf) {
  for (const Product &product : products) {
    const int64_t size = sizeOf(product);
    ofProduct_ = std::max(ofProduct_, size);
    if (isa_and_present<BlockArgument>(product.acc)) {
      carried_ += size;
      continue;
    }
    largest_ = std::max(largest_, size);
    if (llvm::none_of(sliceOf(product), llvm::IsaPred<tile::DotOp, tile::SoftmaxUpdateOp>))
      independent_ += size;
  }
}

int64_t carriedBeside(ArrayRef<Product> products) {
  llvm::SetVector<Value> carried;
  for (const Product &product : products)
    if (auto loop = product.op->getParentOfType<LoopLikeOpInterface>())
      carried.insert_range(loop.getRegionIterArgs());
  int64_t elements = 0;
  for (Value value : carried) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (tile && llvm::none_of(products, [&](const Product &product) { return product.acc == value; }))
      elements += tile.getNumElements();
  }
  return elements;
}

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

static int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

/// Returns the load of a product's operand; null if the operand is computed.
static tile::LoadOp loadOf(Value operand) {
  if (auto transpose = operand.getDefiningOp<tile::TransposeOp>())
    operand = transpose.getSource();
  return operand.getDefiningOp<tile::LoadOp>();
}

tile::LoadOp loadInIteration(Value operand, const Product &product) {
  tile::LoadOp load = loadOf(operand);
  return load && load->getParentOp() == product.op->getParentOp() ? load : tile::LoadOp();
}

int64_t bytesOfOperand(RankedTensorType type) {
  const Type element = type.getElementType();
  return bytesOf(RankedTensorType::get({type.getDimSize(0), sm::wholePanels(type.getDimSize(1), element)}, element));
}

int64_t bytesOfIteration(ArrayRef<Product> products) {
  llvm::SetVector<tile::LoadOp> loads;
  int64_t bytes = 0;
  for (const Product &product : products) {
    for (Value operand : {product.lhs, product.rhs})
      if (tile::LoadOp load = loadInIteration(operand, product))
        loads.insert(load);
    for (Value operand : transposedOperands(product))
      bytes += bytesOfOperand(cast<RankedTensorType>(operand.getType()));
  }
  for (tile::LoadOp load : loads)
    bytes += bytesOfOperand(load.getType());
  return bytes;
}

int64_t bytesOfComputed(ArrayRef<Product> products) {
  int64_t bytes = 0;
  for (const Product &product : products)
    for (auto [operand, type] : {std::pair(product.lhs, product.lhsType), std::pair(product.rhs, product.rhsType)})
      if (!loadOf(operand))
        bytes += bytesOfOperand(type);
  return bytes;
}

int64_t bytesBesideRings(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (load && !(loop && isInnermost(loop)))
      bytes += bytesOf(load.getType()) * (loop ? 2 : 1);
    if (store && loop && !store.getCondition())
      bytes += bytesOf(cast<RankedTensorType>(store.getTile().getType()));
  });
  return bytes;
}

int64_t bytesOfAdded(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](tile::AtomicAddOp add) {
    auto loop = add->getParentOfType<LoopLikeOpInterface>();
    auto type = dyn_cast<RankedTensorType>(add.getTile().getType());
    if (loop && isInnermost(loop) && type)
      bytes += bytesOf(type);
  });
  return bytes;
}

} // namespace tegula::cuda
