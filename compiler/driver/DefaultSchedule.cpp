// SPDX-License-Identifier: MIT
#include "compiler/driver/DefaultSchedule.h"

#include "compiler/sm/Hopper.h"
#include "compiler/tile/Tile.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <functional>
#include <set>

namespace tegula {

using namespace mlir;

namespace {

bool isInnermost(LoopLikeOpInterface loop) {
  bool hasLoop = false;
  for (Region *region : loop.getLoopRegions())
    region->walk([&](LoopLikeOpInterface) { hasLoop = true; });
  return !hasLoop;
}

/// A matrix product of the program: a dot, or the product with the values in an online softmax.
struct Product {
  Operation *op;
  Value lhs, rhs;
  RankedTensorType type;
  Value acc; ///< Null if it begins with 0.
  bool transposesLhs = false;

  static Product of(tile::DotOp dot) {
    return {dot, dot.getLhs(), dot.getRhs(), dot.getType(), dot.getAcc(), dot.getTransposeLhs()};
  }
  static Product of(tile::SoftmaxUpdateOp update) {
    auto type = cast<RankedTensorType>(update.getNewOutput().getType());
    return {update, update.getScores(), update.getValues(), type, update.getOutput()};
  }

  bool isSoftmax() const { return isa<tile::SoftmaxUpdateOp>(op); }
  Type elementType() const { return cast<RankedTensorType>(rhs.getType()).getElementType(); }
  /// Returns the type of an operand. The probabilities of an online softmax get the type of its values.
  RankedTensorType operandType(Value operand) const {
    auto type = cast<RankedTensorType>(operand.getType());
    return isSoftmax() ? type.clone(elementType()) : type;
  }
};

/// Returns the products in innermost loops: most of the work.
SmallVector<Product> hotProducts(ModuleOp module) {
  SmallVector<Product> products;
  module.walk([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    if (!loop || !isInnermost(loop))
      return;
    if (auto dot = dyn_cast<tile::DotOp>(op))
      products.push_back(Product::of(dot));
    else if (auto update = dyn_cast<tile::SoftmaxUpdateOp>(op))
      products.push_back(Product::of(update));
  });
  return products;
}

bool is16Bit(const Product &product) {
  return product.operandType(product.lhs).getElementType() == product.elementType() &&
         isa<BFloat16Type, Float16Type>(product.elementType());
}

/// Returns true if wgmma can compute the product with `warps` warps along its rows.
bool suitsRows(const Product &product, int64_t warps) {
  return is16Bit(product) && !product.transposesLhs && product.type.getDimSize(0) == sm::kRowsPerWarp * warps &&
         product.type.getDimSize(1) <= sm::kMaxMmaColumns;
}

/// Returns true if two warpgroups can compute the product, perhaps transposed: they share its rows or its columns.
bool suitsTwoWarpgroups(const Product &product) {
  const int64_t rows = product.type.getDimSize(0), columns = product.type.getDimSize(1);
  return is16Bit(product) && rows % sm::kRowsPerWarpgroup == 0 && columns % sm::kRowsPerWarpgroup == 0 &&
         std::max(rows, columns) <= sm::kMaxMmaColumns;
}

/// The most registers of a thread that accumulators may take. A consumer has 240; the others are for addresses and
/// arithmetic.
constexpr int64_t kMostAccumulators = 192;

/// Returns the number of accumulators that live at the same time: those that a loop carries, and two of the others.
int64_t accumulators(ArrayRef<Product> products) {
  int64_t carried = 0, largest = 0;
  for (const Product &product : products)
    if (const int64_t size = product.type.getNumElements(); isa_and_present<BlockArgument>(product.acc))
      carried += size;
    else
      largest = std::max(largest, size);
  return carried + 2 * largest;
}

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

/// Returns the load of a product's operand; null if the operand is computed.
tile::LoadOp loadOf(Value operand) {
  if (auto transpose = operand.getDefiningOp<tile::TransposeOp>())
    operand = transpose.getSource();
  return operand.getDefiningOp<tile::LoadOp>();
}

/// Returns the bytes of the tiles that an iteration loads for its products.
int64_t bytesOfIteration(ArrayRef<Product> products) {
  std::set<Operation *> loads;
  for (const Product &product : products)
    for (Value operand : {product.lhs, product.rhs})
      if (tile::LoadOp load = loadOf(operand); load && load->getParentOp() == product.op->getParentOp())
        loads.insert(load);
  int64_t bytes = 0;
  for (Operation *load : loads)
    bytes += bytesOf(cast<tile::LoadOp>(load).getType());
  return bytes;
}

/// Returns the bytes of computed operands, which may have to lie in shared memory.
int64_t bytesOfComputed(ArrayRef<Product> products) {
  int64_t bytes = 0;
  for (const Product &product : products)
    for (Value operand : {product.lhs, product.rhs})
      if (!loadOf(operand))
        bytes += bytesOf(product.operandType(operand));
  return bytes;
}

/// Returns the bytes of tiles that loads outside innermost loops bring and that stores inside loops write: they may lie
/// beside the rings.
int64_t bytesBesideRings(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (load && !(loop && isInnermost(loop)))
      bytes += bytesOf(load.getType()) * (loop ? 2 : 1);
    if (store && loop)
      bytes += bytesOf(cast<RankedTensorType>(store.getTile().getType()));
  });
  return bytes;
}

/// Returns true if each of `warps` warps can have 16 rows of each product: one to three warpgroups.
bool haveRowsFor(ArrayRef<Product> products, int64_t warps) {
  constexpr int64_t mostWarps = 12;
  return warps % sm::kWarpsPerWarpgroup == 0 && warps != 0 && warps <= mostWarps &&
         llvm::all_of(products, [&](const Product &product) { return suitsRows(product, warps); });
}

/// Returns true if two warpgroups can share each product and have the registers for it. An online softmax needs whole
/// rows in a warp.
bool canBeShared(ArrayRef<Product> products, int64_t warps) {
  return llvm::none_of(products, std::mem_fn(&Product::isSoftmax)) && llvm::all_of(products, suitsTwoWarpgroups) &&
         accumulators(products) <= kMostAccumulators * sm::kWarpSize * warps;
}

/// Returns the ops of the iteration that compute an operand of a product.
SetVector<Operation *> sliceOf(const Product &product) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getParentRegion() == product.op->getParentRegion(); };
  for (Value operand : {product.lhs, product.rhs})
    (void)getBackwardSlice(operand, &slice, options);
  return slice;
}

/// Returns true if exponentials stand between two products of an iteration. While one warpgroup computes them, the
/// tensor cores can compute products of the other.
bool hasExponentialsBetween(ArrayRef<Product> products) {
  return llvm::any_of(products, [](const Product &product) {
    if (product.isSoftmax())
      return true;
    const SetVector<Operation *> slice = sliceOf(product);
    return llvm::any_of(slice, llvm::IsaPred<tile::DotOp>) &&
           llvm::any_of(slice, llvm::IsaPred<math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp>);
  });
}

/// Returns the bytes of the tiles that innermost loops add to memory. TMA adds them from shared memory.
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

} // namespace

std::optional<HopperChoice> chooseForHopper(ModuleOp module, Schedule schedule, int64_t sharedBytes) {
  constexpr int64_t mostStages = 4, ofMbarriers = 1 << 10;
  SmallVector<Product> products = hotProducts(module);
  if (products.empty())
    return std::nullopt;
  const Product &first = products.front();
  int64_t warps = first.type.getDimSize(0) / sm::kRowsPerWarp, beside = bytesBesideRings(module);
  if (!haveRowsFor(products, warps)) {
    warps = 2 * sm::kWarpsPerWarpgroup;
    beside += bytesOfComputed(products);
    if (!canBeShared(products, warps))
      return std::nullopt;
  }
  const int64_t bytes = bytesOfIteration(products);
  if (bytes == 0)
    return std::nullopt;
  const int64_t added = bytesOfAdded(module), fit = (sharedBytes - ofMbarriers - beside - added) / bytes;
  if (fit < 2)
    return std::nullopt;
  schedule.num_warps = static_cast<int>(warps);
  schedule.num_stages = static_cast<int>(std::min(fit, mostStages));
  schedule.roles = Roles::load;
  if (hasExponentialsBetween(products))
    schedule.overlap = Overlap::pingpong;
  if (added != 0)
    schedule.add_by_tma = true;
  return HopperChoice{std::move(schedule), first.op->getLoc()};
}

} // namespace tegula
