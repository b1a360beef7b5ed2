// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/SharedOperands.h"

#include "compiler/cuda/layouts/TensorProducts.h"
#include "compiler/sm/Elements.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tegula::cuda {

/// Returns true if a copy to shared memory can replace the load. Such a copy fills with zeros.
static bool canLoadShared(tile::LoadOp load) {
  RankedTensorType type = load.getResult().getType();
  TypedAttr fill = load.getFillAttr();
  bool zero = !fill || matchPattern(fill, m_AnyZeroFloat()) || matchPattern(fill, m_Zero());
  return type.getRank() == 2 && zero && type.getElementTypeBitWidth() >= 8;
}

static sm::SharedType sharedType(RankedTensorType tile, ArrayRef<int64_t> shape) {
  unsigned bytes = llvm::divideCeil(tile.getElementTypeBitWidth(), 8);
  return sm::SharedType::get(tile.getContext(), shape, tile.getElementType(), sm::panelFor(shape.back(), bytes));
}

static sm::LoadSharedOp fetch(tile::LoadOp load, ArrayRef<int64_t> shape) {
  OpBuilder b(load);
  RankedTensorType type = load.getResult().getType();
  auto fetch = sm::LoadSharedOp::create(b, load.getLoc(), sharedType(type, shape), load.getView(), load.getPosition(),
                                        type.getShape());
  tile::inheritAttributes(fetch, load);
  return fetch;
}

/// Lets the remaining users of a load read the tile from shared memory, and erases the load.
static void readBack(tile::LoadOp load, Value shared) {
  if (!load.use_empty()) {
    OpBuilder b(load);
    load.replaceAllUsesWith(sm::ReadOp::create(b, load.getLoc(), load.getType(), shared).getResult());
  }
  load.erase();
}

Value packed(ImplicitLocOpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  auto words = RankedTensorType::get({type.getDimSize(0), (type.getDimSize(1) + 1) / 2}, b.getI32Type(),
                                     sm::ofPairs(sm::layoutOf(tile), 1));
  return sm::PackOp::create(b, words, tile);
}

Value transposed(ImplicitLocOpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  sm::LayoutAttr layout = sm::layoutOf(type);
  auto result = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType(),
                                      layout ? sm::permuted(layout, {1, 0}) : layout);
  return tile::TransposeOp::create(b, result, tile, b.getDenseI64ArrayAttr({1, 0}));
}

//===-- MMAs ------------------------------------------------------------------------------------------------------===//

/// Returns the tile that is loaded to shared memory if `tile` is its first panels, otherwise `tile`. An MMA reads the
/// panels that it multiplies, so the whole tile serves it as well.
static Value wholeOf(Value tile) {
  auto columns = tile.getDefiningOp<tile::ColumnsOp>();
  auto load = columns ? columns.getSource().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  if (!load || !canLoadShared(load) || columns.getFirst() != 0 || columns.getStep() != 1)
    return tile;
  const int64_t ofPanel = sm::panelColumns(load.getResult().getType().getElementType());
  return columns.getType().getDimSize(1) % ofPanel == 0 ? columns.getSource() : tile;
}

namespace {
enum Side { lhs, rhs };

class DotLowering {
public:
  void run(ArrayRef<PlannedDot> dots) {
    for (PlannedDot planned : dots)
      collect(planned);
    for (PlannedDot planned : dots)
      widenToPanels(planned);
    for (PlannedDot planned : dots)
      lower(planned);
    for (Operation *columns : parts_)
      if (columns->use_empty())
        columns->erase();
    for (auto &[load, shared] : loaded_)
      readBack(load, shared);
  }

private:
  static Value operandOf(tile::DotOp dot, Side side) { return side == lhs ? dot.getLhs() : dot.getRhs(); }
  static Value operand(tile::DotOp dot, Side side) { return wholeOf(operandOf(dot, side)); }

  /// Returns true if `tile` is staged as its transpose, because each thread holds neighbours of a column.
  static bool isStagedTransposed(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    ArrayRef<sm::Digit> registers = sm::layoutOf(type).getRegisters();
    return type.getElementTypeBitWidth() == 16 && !tile.getDefiningOp<tile::LoadOp>() && !registers.empty() &&
           registers.front().dim == 0 && registers.front().stride == 1;
  }

  /// Returns true if the operand, as it is in shared memory, is the transpose of what the dot multiplies.
  static bool isTransposed(tile::DotOp dot, Side side) {
    bool transposed = side == lhs ? dot.getTransposeLhs() : dot.getTransposeRhs();
    return transposed != isStagedTransposed(operand(dot, side));
  }

  /// Returns the shape in shared memory that the fragments of an operand cover.
  static std::array<int64_t, 2> coveredShape(PlannedDot planned, Side side) {
    MmaShape size = covered(planned.dot, planned.grid);
    int64_t outer = side == lhs ? size.m : size.n;
    bool depthFirst = (side == lhs) == isTransposed(planned.dot, side);
    return depthFirst ? std::array{size.k, outer} : std::array{outer, size.k};
  }

  static bool takesFromRegisters(PlannedDot planned, Side side) {
    tile::DotOp dot = planned.dot;
    if (side != lhs || !onTensorCores(dot) || (dot.getTransposeLhs() && !onWarpgroups(dot)) ||
        dot.getLhs().getType().getElementTypeBitWidth() != 16 || dot.getLhs().getDefiningOp<tile::LoadOp>())
      return false;
    sm::LayoutAttr needed = operandLayout(dot, planned.grid);
    return sm::layoutOf(dot.getLhs()) == (dot.getTransposeLhs() ? sm::permuted(needed, {1, 0}) : needed);
  }

  /// Enlarges the shapes of the operands' buffers. One buffer serves all dots that read a tile.
  void collect(PlannedDot planned) {
    for (Side side : {lhs, rhs}) {
      if (takesFromRegisters(planned, side))
        continue;
      if (Value part = operandOf(planned.dot, side); part != operand(planned.dot, side))
        parts_.insert(part.getDefiningOp());
      auto &shape = shapes_.try_emplace(operand(planned.dot, side), std::array<int64_t, 2>{}).first->second;
      for (auto [have, need] : llvm::zip(shape, coveredShape(planned, side)))
        have = std::max(have, need);
    }
  }

  /// Widens the operands' buffers to whole panels for `sm.wgmma`, even if a dot for `sm.mma` has already made a buffer
  /// wider.
  void widenToPanels(PlannedDot planned) {
    if (!onWarpgroups(planned.dot))
      return;
    for (Side side : {lhs, rhs})
      if (auto shape = shapes_.find(operand(planned.dot, side)); shape != shapes_.end())
        shape->second[1] =
            sm::wholePanels(shape->second[1], cast<RankedTensorType>(shape->first.getType()).getElementType());
  }

  Value shared(Value tile) {
    Value &result = shared_[tile];
    if (result)
      return result;
    ArrayRef<int64_t> shape = shapes_.at(tile);
    if (auto load = tile.getDefiningOp<tile::LoadOp>(); load && canLoadShared(load)) {
      result = fetch(load, shape);
      loaded_.emplace_back(load, result);
      return result;
    }
    ImplicitLocOpBuilder b(tile.getLoc(), tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Value staged = isStagedTransposed(tile) ? transposed(b, tile) : tile;
    auto type = cast<RankedTensorType>(tile.getType());
    return result = sm::ToSharedOp::create(b, sharedType(type, shape), staged);
  }

  /// Returns the transpose of a tile in shared memory. One serves all dots.
  Value transposedShared(Value tile) {
    Value &result = transposed_[tile];
    if (result)
      return result;
    ImplicitLocOpBuilder b(tile.getLoc(), tile.getContext());
    b.setInsertionPointAfterValue(tile);
    auto type = cast<sm::SharedType>(tile.getType());
    auto turned = sm::SharedType::get(b.getContext(), {type.getShape()[1], type.getShape()[0]}, type.getElementType(),
                                      sm::kPanelBytes);
    return result = sm::TransposeOp::create(b, turned, tile);
  }

  static Value inLayout(ImplicitLocOpBuilder &b, Value tile, RankedTensorType type) {
    return !tile || tile.getType() == type ? tile : sm::ConvertOp::create(b, type, tile).getResult();
  }

  /// Returns the left operand in registers, as the rows of the MMA.
  static Value heldLhs(ImplicitLocOpBuilder &b, tile::DotOp dot) {
    return dot.getTransposeLhs() ? transposed(b, dot.getLhs()) : dot.getLhs();
  }

  void lower(PlannedDot planned) {
    tile::DotOp dot = planned.dot;
    ImplicitLocOpBuilder b(dot.getLoc(), dot);
    Value left = takesFromRegisters(planned, lhs) ? heldLhs(b, dot) : shared(operand(dot, lhs));
    Value right = shared(operand(dot, rhs));
    if (isInTensorMemory(dot)) {
      auto [ofLoop, read] = accumulateInTensorMemory(dot, left, right, isTransposed(dot, lhs), isTransposed(dot, rhs));
      return replace(ofLoop, read);
    }
    auto accumulators = sm::withLayout(dot.getType(), accumulatorLayout(dot, planned.grid));
    Value result = onWarpgroups(dot) ? multiplyAsync(b, dot, accumulators, left, right)
                                     : multiply(b, dot, accumulators, left, right);
    replace(dot.getResult(), inLayout(b, result, dot.getType()));
    dot.erase();
  }

  /// Returns true if the MMA must transpose its left operand, which is in shared memory then.
  static bool isReadTransposed(tile::DotOp dot, Value left) {
    return isa<sm::SharedType>(left.getType()) && isTransposed(dot, lhs);
  }

  /// The MMA obeys what the plan of the dot says.
  static void inherit(Operation *mma, tile::DotOp dot) {
    tile::inheritAttributes(mma, dot, {tile::flipped, tile::warpgroups, tile::warpLocal});
  }

  static Value multiply(ImplicitLocOpBuilder &b, tile::DotOp dot, RankedTensorType accumulators, Value left,
                        Value right) {
    Value acc = inLayout(b, dot.getAcc(), accumulators);
    auto product = sm::MmaOp::create(b, accumulators, left, right, shapeOf(dot).k, acc, isReadTransposed(dot, left),
                                     isTransposed(dot, rhs), dot.getAllowTf32());
    inherit(product, dot);
    return product;
  }

  Value multiplyAsync(ImplicitLocOpBuilder &b, tile::DotOp dot, RankedTensorType accumulators, Value left,
                      Value right) {
    Value acc = inLayout(b, dot.getAcc(), accumulators);
    bool transposesLeft = isReadTransposed(dot, left), transposesRight = isTransposed(dot, rhs);
    if (sm::mmaElement(dot.getRhs().getType().getElementType())->mustBeKMajor) {
      left = std::exchange(transposesLeft, false) ? transposedShared(left) : left;
      right = std::exchange(transposesRight, true) ? right : transposedShared(right);
    }
    if (isa<RankedTensorType>(left.getType()))
      left = packed(b, left);
    auto product = sm::WgmmaOp::create(b, sm::InflightType::get(b.getContext(), accumulators), left, right,
                                       shapeOf(dot).k, acc, transposesLeft, transposesRight);
    inherit(product, dot);
    return sm::AwaitOp::create(b, product).getResult();
  }

  /// Replaces what a dot computes. If another dot reads it through shared memory, the shape of the buffer goes to the
  /// new value.
  void replace(Value computed, Value result) {
    if (auto needed = shapes_.find(computed); needed != shapes_.end()) {
      std::array<int64_t, 2> shape = needed->second;
      shapes_[result] = shape;
    }
    computed.replaceAllUsesWith(result);
  }

  llvm::DenseMap<Value, std::array<int64_t, 2>> shapes_;
  llvm::DenseMap<Value, Value> shared_;
  llvm::DenseMap<Value, Value> transposed_; ///< By the tile in shared memory.
  SmallVector<std::pair<tile::LoadOp, Value>> loaded_;
  llvm::SetVector<Operation *> parts_; ///< Columns of tiles that dots read in place.
};
} // namespace

void lowerDots(ArrayRef<PlannedDot> dots) { DotLowering().run(dots); }

//===-- Loads and stores ------------------------------------------------------------------------------------------===//

/// The least number of elements of a tile that is worth a copy and its barriers.
static constexpr int64_t worthCopying = 1024;

/// Returns the digit of neighbouring lanes if they hold elements of one row, otherwise null.
static const sm::Digit *lanesOfRow(RankedTensorType tile) {
  ArrayRef<sm::Digit> lanes = sm::layoutOf(tile).getLanes();
  const bool areInRow = !lanes.empty() && lanes.front().dim == static_cast<int32_t>(tile.getRank()) - 1;
  return areInRow ? &lanes.front() : nullptr;
}

/// Returns true if neighbouring lanes hold neighbouring vectors of at most 16 bytes, so that direct accesses are
/// coalesced.
static bool isCoalesced(RankedTensorType tile) {
  const sm::Digit *lanes = lanesOfRow(tile);
  return lanes && lanes->size >= 16 && lanes->stride * tile.getElementTypeBitWidth() <= 128;
}

/// Returns true if lanes side by side write whole sectors of 32 bytes, so that direct stores cost no more traffic.
static bool writesSectors(RankedTensorType tile) {
  constexpr int64_t sectorBits = 256;
  const sm::Digit *lanes = lanesOfRow(tile);
  return lanes && lanes->size * lanes->stride * tile.getElementTypeBitWidth() >= sectorBits;
}

static bool hasLoopAround(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

/// Returns true if the tile is too large for shared memory beside the other tiles of its loop, and better stored from
/// registers.
static bool isLeftInRegisters(tile::StoreOp store) {
  constexpr int64_t mostBits = 8 * 65536;
  RankedTensorType tile = store.getTile().getType();
  return hasLoopAround(store) && tile.getNumElements() * tile.getElementTypeBitWidth() > mostBits &&
         writesSectors(tile);
}

/// Returns true if a loop loads matrices to registers, in addition to the results of its MMAs.
static bool loadsMatricesInLoops(func::FuncOp function) {
  return tile::anyOp(
      function, [](tile::LoadOp load) { return hasLoopAround(load) && load.getResult().getType().getRank() == 2; });
}

/// Returns true if each warp shall store its own rows, without waiting for other warps. Outside loops this pays only if
/// TMA has much to store: nothing follows that a warp could start earlier, and the addresses need registers.
static bool isStoredByWarps(tile::StoreOp store) {
  constexpr int64_t wide = 256;
  const bool isWide = store.getTile().getType().getDimSize(1) >= wide;
  return hasLoopAround(store) ||
         (isWide && tile::wantsRoles(store) && !loadsMatricesInLoops(store->getParentOfType<func::FuncOp>()));
}

void lowerLoadsAndStores(func::FuncOp function) {
  function.walk([](tile::LoadOp load) {
    RankedTensorType type = load.getResult().getType();
    if (canLoadShared(load) && type.getNumElements() >= worthCopying && !hasLoopAround(load))
      readBack(load, fetch(load, type.getShape()));
  });
  function.walk([](tile::StoreOp store) {
    RankedTensorType type = store.getTile().getType();
    if (store.getCondition() || type.getRank() != 2 || type.getNumElements() < worthCopying || isCoalesced(type) ||
        isLeftInRegisters(store))
      return;
    ImplicitLocOpBuilder b(store.getLoc(), store);
    Value staged = sm::ToSharedOp::create(b, sharedType(type, type.getShape()), store.getTile());
    int64_t rowsOfWarp = isStoredByWarps(store) ? sm::extentOfWarp(type, /*dim=*/0) : 0;
    auto copy = sm::CopyOutOp::create(b, staged, store.getView(), store.getPosition(), type.getShape(),
                                      rowsOfWarp ? b.getI64IntegerAttr(rowsOfWarp) : IntegerAttr());
    tile::inheritAttributes(copy, store);
    store.erase();
  });
}

} // namespace tegula::cuda
