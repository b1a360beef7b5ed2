// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"
#include "compiler/cuda/layouts/SharedOperands.h"
#include "compiler/cuda/layouts/analysis/LayoutMap.h"
#include "compiler/cuda/layouts/analysis/WarpGrid.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;
using sm::LayoutAttr;

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

/// Returns true for ops that cost nothing to repeat in another layout.
static bool isFree(Operation *op) {
  auto broadcast = dyn_cast<tile::BroadcastOp>(op);
  return (isa<arith::ConstantOp>(op) && isTile(op->getResult(0))) || isa<tile::IotaOp, sm::LinearOp>(op) ||
         (broadcast && !isTile(broadcast.getSource()));
}

/// Returns true if `value` is made of free ops alone, by ops that move nothing between threads.
static bool isRematerializable(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !isTile(value);
  if (!isTile(value) || isFree(op))
    return true;
  auto reshape = dyn_cast<tile::ReshapeOp>(op);
  bool local = op->hasTrait<OpTrait::Elementwise>() || isa<tile::BroadcastOp, tile::TransposeOp>(op) ||
               (reshape && changesUnitDimsOnly(reshape));
  return local && llvm::all_of(op->getOperands(), isRematerializable);
}

namespace {

class LayoutAssignment {
public:
  LayoutAssignment(func::FuncOp function, int64_t warps) : function_(function), warps_(warps) {}

  void run() {
    flipDots();
    duplicateFreeValues();
    assignDots();
    assignColumns();
    assignRest();
    setTypes();
    convertOperands();
    lowerDots(dots_);
    lowerReshapes();
    lowerColumns();
    lowerLoadsAndStores(function_);
  }

private:
  /// Replaces each dot that warpgroups compute as its transpose: (a b)^T = b^T a^T.
  void flipDots() {
    auto isFlipped = [](tile::DotOp dot) {
      auto flipped = dot->getAttrOfType<BoolAttr>(tile::flipped);
      return flipped && flipped.getValue() && onWarpgroups(dot);
    };
    for (tile::DotOp dot : tile::allOps(function_, isFlipped))
      flip(dot);
  }

  static void flip(tile::DotOp dot) {
    ImplicitLocOpBuilder b(dot.getLoc(), dot);
    Value acc = dot.getAcc() ? transposed(b, dot.getAcc()) : Value();
    auto type = RankedTensorType::get({dot.getType().getDimSize(1), dot.getType().getDimSize(0)},
                                      dot.getType().getElementType());
    auto product = tile::DotOp::create(b, type, dot.getRhs(), dot.getLhs(), acc, !dot.getTransposeRhs(),
                                       !dot.getTransposeLhs(), dot.getAllowTf32());
    tile::inheritAttributes(product, dot, {tile::flipped});
    dot.replaceAllUsesWith(transposed(b, product));
    dot.erase();
  }

  /// Clones each free op for every further use, so that each copy takes the layout that its user needs.
  void duplicateFreeValues() {
    for (Operation *op : tile::allOps(function_, isFree)) {
      OpBuilder b(op);
      while (!op->use_empty() && !op->getResult(0).hasOneUse())
        op->use_begin()->set(b.clone(*op)->getResult(0));
    }
  }

  static unsigned loopDepth(Operation *op) {
    unsigned depth = 0;
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      depth += isa<LoopLikeOpInterface>(parent);
    return depth;
  }

  /// Assigns layouts to the results of dots: first of those that warpgroups compute, whose plan decides, then those in
  /// the deepest loop. Where layouts meet, the conversion is then in the outer loop.
  void assignDots() {
    auto dots = tile::allOps<tile::DotOp>(function_);
    auto rank = [](tile::DotOp dot) { return std::pair(onWarpgroups(dot), loopDepth(dot)); };
    llvm::stable_sort(dots, [&](tile::DotOp a, tile::DotOp b) { return rank(a) > rank(b); });
    for (tile::DotOp dot : dots) {
      std::optional<WarpGrid> grid;
      if (LayoutAttr given = layouts_.lookup(dot.getResult()))
        grid = gridOf(dot, warps_, given);
      if (!grid)
        grid = chooseGrid(dot, warps_, layouts_.lookup(dot.getLhs()));
      dots_.push_back({dot, *grid});
      layouts_.assign(dot.getResult(), accumulatorLayout(dot, *grid));
    }
  }

  /// Returns the number of neighbours in a row that a thread holds: 16 bytes, which one access reaches, or less if
  /// there are more threads than that.
  int64_t vectorOf(RankedTensorType type) const {
    constexpr int64_t leastBits = 8, bitsOfIndex = 64;
    const int64_t bits =
        type.getElementType().isIndex() ? bitsOfIndex : std::max<int64_t>(type.getElementTypeBitWidth(), leastBits);
    int64_t vector = 128 / bits;
    while (vector > 1 &&
           (type.getShape().back() % vector != 0 || type.getNumElements() < vector * sm::kWarpSize * warps_))
      vector /= 2;
    return vector;
  }

  LayoutAttr defaultLayout(RankedTensorType type) const {
    return sm::rowMajorLayout(type.getContext(), type.getShape(), vectorOf(type), warps_);
  }

  /// Assigns default layouts to the columns that are taken from a tile or joined to one. The layout of that tile
  /// follows, so that its elements need not change threads.
  void assignColumns() {
    auto assign = [&](Value part) { layouts_.assign(part, defaultLayout(cast<RankedTensorType>(part.getType()))); };
    function_.walk([&](Operation *op) {
      if (auto columns = dyn_cast<tile::ColumnsOp>(op); columns && !layouts_.lookup(columns.getSource()))
        assign(columns);
      if (auto join = dyn_cast<tile::JoinOp>(op); join && !layouts_.lookup(join))
        assign(join.getLeft());
    });
  }

  /// Assigns default layouts to tiles without a layout, the largest tile first. The layout of a reduced tile then
  /// follows from its source.
  void assignRest() {
    SmallVector<Value> tiles;
    auto collect = [&](ValueRange values) { llvm::copy_if(values, std::back_inserter(tiles), isTile); };
    function_.walk<WalkOrder::PreOrder>([&](Operation *op) {
      collect(op->getResults());
      for (Region &region : op->getRegions())
        collect(region.getArguments());
    });
    auto size = [](Value tile) { return cast<RankedTensorType>(tile.getType()).getNumElements(); };
    llvm::stable_sort(tiles, [&](Value a, Value b) { return size(a) > size(b); });
    for (Value tile : tiles)
      layouts_.assign(tile, defaultLayout(cast<RankedTensorType>(tile.getType())));
  }

  void setTypes() {
    for (auto [tile, layout] : layouts_.all())
      setType(tile, layout);
  }

  static void setType(Value tile, LayoutAttr layout) {
    tile.setType(sm::withLayout(tile.getType(), layout));
    if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(cast<ShapedType>(tile.getType())));
  }

  void convertOperands() {
    SmallVector<OpOperand *> wrong;
    function_.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (LayoutAttr required = layouts_.required(operand); required && required != sm::layoutOf(operand.get()))
          wrong.push_back(&operand);
    });
    for (OpOperand *operand : wrong)
      operand->set(inLayout(operand->get(), layouts_.required(*operand)));
  }

  Value inLayout(Value tile, LayoutAttr layout) {
    Value &converted = converted_[{tile, layout}];
    if (converted)
      return converted;
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    if (!isRematerializable(tile))
      return converted = sm::ConvertOp::create(b, tile.getLoc(), sm::withLayout(tile.getType(), layout), tile);
    return converted = rematerialized(b, tile.getDefiningOp(), layout);
  }

  Value rematerialized(OpBuilder &b, Operation *op, LayoutAttr layout) {
    Operation *clone = b.clone(*op);
    Value result = clone->getResult(0);
    layouts_.record(result, layout);
    setType(result, layout);
    for (OpOperand &operand : clone->getOpOperands())
      if (LayoutAttr required = layouts_.required(operand); required && required != sm::layoutOf(operand.get())) {
        b.setInsertionPoint(clone);
        operand.set(rematerialized(b, operand.get().getDefiningOp(), required));
      }
    return result;
  }

  void lowerReshapes() {
    function_.walk([](tile::ReshapeOp reshape) {
      if (changesUnitDimsOnly(reshape))
        return;
      OpBuilder b(reshape);
      reshape.replaceAllUsesWith(
          sm::ReshapeOp::create(b, reshape.getLoc(), reshape.getType(), reshape.getSource()).getResult());
      reshape.erase();
    });
  }

  /// Lowers the columns that move between threads. The others keep their ops.
  void lowerColumns() {
    for (auto columns : tile::allOps<tile::ColumnsOp>(function_))
      if (!areColumnsOf(columns, columns.getSource(), columns.getRange()))
        throughShared(columns);
    for (auto join : tile::allOps<tile::JoinOp>(function_))
      if (!areColumnsOf(join.getLeft(), join, join.rangeOf(0)) || !areColumnsOf(join.getRight(), join, join.rangeOf(1)))
        join.getInterleave() ? interleaveInThreads(join) : joinThroughShared(join);
  }

  static bool areColumnsOf(Value part, Value all, const tile::ColumnRange &range) {
    const unsigned dim = cast<RankedTensorType>(all.getType()).getRank() - 1;
    return sm::areColumnsOf(sm::layoutOf(part), sm::layoutOf(all), dim, range);
  }

  static void throughShared(tile::ColumnsOp columns) {
    ImplicitLocOpBuilder b(columns.getLoc(), columns);
    Value selected =
        sm::SelectColumnsOp::create(b, columns.getType(), columns.getSource(), columns.getFirst(), columns.getStep());
    columns.replaceAllUsesWith(selected);
    columns.erase();
  }

  /// Joins the tiles in the layout of the left one, in which each thread has pairs.
  static void interleaveInThreads(tile::JoinOp join) {
    ImplicitLocOpBuilder b(join.getLoc(), join);
    const LayoutAttr part = sm::layoutOf(join.getLeft());
    RankedTensorType type = join.getType();
    const LayoutAttr pairs = sm::aroundColumns(part, type.getRank() - 1, join.rangeOf(0));
    Value right = join.getRight();
    if (sm::layoutOf(right) != part)
      right = sm::ConvertOp::create(b, sm::withLayout(right.getType(), part), right);
    Value joined = tile::JoinOp::create(b, sm::withLayout(type, pairs), join.getLeft(), right, /*interleave=*/true);
    join.replaceAllUsesWith(pairs == sm::layoutOf(type) ? joined : sm::ConvertOp::create(b, type, joined).getResult());
    join.erase();
  }

  static void joinThroughShared(tile::JoinOp join) {
    ImplicitLocOpBuilder b(join.getLoc(), join);
    RankedTensorType type = join.getType();
    auto numbers = RankedTensorType::get(type.getShape(), b.getI32Type(), type.getEncoding());
    SmallVector<int64_t> steps(type.getRank(), 0);
    steps.back() = 1;
    const int64_t left = join.rangeOf(0).count;
    auto part = [&](Value source, int64_t first) -> Value {
      return sm::SelectColumnsOp::create(b, type, source, first, /*step=*/1);
    };
    Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    Value column = sm::LinearOp::create(b, numbers, zero, b.getDenseI64ArrayAttr(steps));
    Value begins = arith::ConstantOp::create(b, DenseElementsAttr::get(numbers, b.getI32IntegerAttr(left)));
    Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column, begins);
    join.replaceAllUsesWith(
        arith::SelectOp::create(b, isLeft, part(join.getLeft(), 0), part(join.getRight(), -left)).getResult());
    join.erase();
  }

  func::FuncOp function_;
  int64_t warps_;
  LayoutMap layouts_;
  SmallVector<PlannedDot> dots_;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> converted_;
};

struct AssignLayouts : cuda::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    const int64_t warps = tile::scheduleOf(getOperation()).num_warps;
    getOperation()->walk([&](func::FuncOp function) { LayoutAssignment(function, warps).run(); });
  }
};

} // namespace
