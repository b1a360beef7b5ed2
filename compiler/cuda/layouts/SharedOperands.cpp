// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/SharedOperands.h"

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
  return sm::LoadSharedOp::create(b, load.getLoc(), sharedType(type, shape), load.getView(), load.getPosition(),
                                  type.getShape());
}

/// Lets the remaining users of a load read the tile from shared memory, and erases the load.
static void readBack(tile::LoadOp load, Value shared) {
  if (!load.use_empty()) {
    OpBuilder b(load);
    load.replaceAllUsesWith(sm::ReadOp::create(b, load.getLoc(), load.getType(), shared, false).getResult());
  }
  load.erase();
}

Value packed(ImplicitLocOpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  auto words = RankedTensorType::get({type.getDimSize(0), (type.getDimSize(1) + 1) / 2}, b.getI32Type(),
                                     sm::ofPairs(sm::layoutOf(tile), 1));
  return sm::PackOp::create(b, words, tile);
}

//===-- MMAs ------------------------------------------------------------------------------------------------------===//

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
    for (auto &[load, shared] : loaded_)
      readBack(load, shared);
  }

private:
  static Value operand(tile::DotOp dot, Side side) { return side == lhs ? dot.getLhs() : dot.getRhs(); }

  /// The number of 16-bit elements in a panel of 128 bytes.
  static constexpr int64_t kPanelElements = 64;

  /// Returns the shape in shared memory that the fragments of an operand cover.
  static std::array<int64_t, 2> coveredShape(PlannedDot planned, Side side) {
    MmaShape size = covered(planned.dot, planned.grid);
    bool transposed = side == lhs ? planned.dot.getTransposeLhs() : planned.dot.getTransposeRhs();
    int64_t outer = side == lhs ? size.m : size.n;
    bool depthFirst = (side == lhs) == transposed;
    return depthFirst ? std::array{size.k, outer} : std::array{outer, size.k};
  }

  static bool takesFromRegisters(PlannedDot planned, Side side) {
    tile::DotOp dot = planned.dot;
    return side == lhs && onTensorCores(dot) && !dot.getTransposeLhs() &&
           !dot.getLhs().getType().getElementType().isF32() &&
           sm::layoutOf(dot.getLhs()) == operandLayout(dot, planned.grid) &&
           !dot.getLhs().getDefiningOp<tile::LoadOp>();
  }

  /// Enlarges the shapes of the operands' buffers. One buffer serves all dots that read a tile.
  void collect(PlannedDot planned) {
    for (Side side : {lhs, rhs}) {
      if (takesFromRegisters(planned, side))
        continue;
      auto &shape = shapes_.try_emplace(operand(planned.dot, side), std::array<int64_t, 2>{}).first->second;
      for (auto [have, need] : llvm::zip(shape, coveredShape(planned, side)))
        have = std::max(have, need);
    }
  }

  /// Widens the operands' buffers to whole panels for `sm.wgmma`, even if a dot for `sm.mma` has already made a buffer
  /// wider.
  void widenToPanels(PlannedDot planned) {
    if (!onWarpgroups(planned.dot, planned.grid))
      return;
    for (Side side : {lhs, rhs})
      if (auto shape = shapes_.find(operand(planned.dot, side)); shape != shapes_.end())
        shape->second[1] = llvm::alignTo(shape->second[1], kPanelElements);
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
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    auto type = cast<RankedTensorType>(tile.getType());
    return result = sm::ToSharedOp::create(b, tile.getLoc(), sharedType(type, shape), tile);
  }

  void lower(PlannedDot planned) {
    tile::DotOp dot = planned.dot;
    ImplicitLocOpBuilder b(dot.getLoc(), dot);
    Value left = takesFromRegisters(planned, lhs) ? dot.getLhs() : shared(dot.getLhs());
    Value right = shared(dot.getRhs());
    auto accumulators = sm::withLayout(dot.getType(), accumulatorLayout(dot, planned.grid));
    Value result = onWarpgroups(dot, planned.grid) ? multiplyAsync(b, dot, accumulators, left, right)
                                                   : multiply(b, dot, accumulators, left, right);
    if (accumulators != dot.getType())
      result = sm::ConvertOp::create(b, dot.getType(), result);
    replace(dot, result);
  }

  static Value multiply(ImplicitLocOpBuilder &b, tile::DotOp dot, RankedTensorType accumulators, Value left,
                        Value right) {
    return sm::MmaOp::create(b, accumulators, left, right, shapeOf(dot).k, dot.getAcc(), dot.getTransposeLhs(),
                             dot.getTransposeRhs(), dot.getAllowTf32());
  }

  static Value multiplyAsync(ImplicitLocOpBuilder &b, tile::DotOp dot, RankedTensorType accumulators, Value left,
                             Value right) {
    if (isa<RankedTensorType>(left.getType()))
      left = packed(b, left);
    Value product = sm::WgmmaOp::create(b, sm::InflightType::get(b.getContext(), accumulators), left, right,
                                        shapeOf(dot).k, dot.getAcc(), /*transpose_lhs=*/false,
                                        dot.getTransposeRhs());
    return sm::AwaitOp::create(b, product).getResult();
  }

  /// Replaces a dot by its result. If another dot reads the result through shared memory, the shape of the buffer goes
  /// to the new value.
  void replace(tile::DotOp dot, Value result) {
    if (auto needed = shapes_.find(dot.getResult()); needed != shapes_.end()) {
      std::array<int64_t, 2> shape = needed->second;
      shapes_[result] = shape;
    }
    dot.replaceAllUsesWith(result);
    dot.erase();
  }

  llvm::DenseMap<Value, std::array<int64_t, 2>> shapes_;
  llvm::DenseMap<Value, Value> shared_;
  SmallVector<std::pair<tile::LoadOp, Value>> loaded_;
};
} // namespace

void lowerDots(ArrayRef<PlannedDot> dots) { DotLowering().run(dots); }

//===-- Loads and stores ------------------------------------------------------------------------------------------===//

/// The least number of elements of a tile that is worth a copy and its barriers.
static constexpr int64_t worthCopying = 1024;

/// Returns true if neighbouring lanes hold neighbouring elements, so that direct accesses are coalesced.
static bool isCoalesced(sm::LayoutAttr layout, unsigned rank) {
  if (layout.getLanes().empty())
    return false;
  const sm::Digit &first = layout.getLanes().front();
  return first.dim == static_cast<int32_t>(rank) - 1 && first.size >= 16 && first.stride <= 2;
}

static bool hasLoopAround(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

/// Returns true if a loop loads matrices to registers, in addition to the results of its MMAs.
static bool loadsMatricesInLoops(func::FuncOp function) {
  WalkResult search = function.walk([](tile::LoadOp load) {
    const bool found = hasLoopAround(load) && load.getResult().getType().getRank() == 2;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return search.wasInterrupted();
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
    if (type.getRank() != 2 || type.getNumElements() < worthCopying || isCoalesced(sm::layoutOf(type), 2))
      return;
    ImplicitLocOpBuilder b(store.getLoc(), store);
    Value staged = sm::ToSharedOp::create(b, sharedType(type, type.getShape()), store.getTile());
    int64_t rowsOfWarp = isStoredByWarps(store) ? sm::extentOfWarp(type, /*dim=*/0) : 0;
    sm::CopyOutOp::create(b, staged, store.getView(), store.getPosition(), type.getShape(),
                          rowsOfWarp ? b.getI64IntegerAttr(rowsOfWarp) : IntegerAttr());
    store.erase();
  });
}

} // namespace tegula::cuda
