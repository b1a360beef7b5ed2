// SPDX-License-Identifier: MIT
// Conditions that TileOps.td cannot state in types. A message names what was found and what would be legal.
#include "compiler/tile/Tile.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tegula::tile;

//===-- Shared ---------------------------------------------------------------------------------------------------===//

bool tegula::tile::isTileShape(ArrayRef<int64_t> shape) {
  constexpr int64_t maxElements = int64_t{1} << 20;
  if (shape.empty() || shape.size() > 5)
    return false;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > maxElements) // ShapedType::kDynamic is negative
      return false;
    elements *= size;
    if (elements > maxElements)
      return false;
  }
  return true;
}

static bool isPairOfCounts(Attribute attribute) {
  auto counts = dyn_cast<DenseI64ArrayAttr>(attribute);
  return counts && counts.size() == 2 && counts[0] > 0 && counts[1] > 0;
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = op->getName().getStringRef();
  bool isLoop = name == "scf.for" || name == "scf.while";
  if (attribute.getName() == parallelLoop && (!isLoop || !isa<UnitAttr>(attribute.getValue())))
    return op->emitError() << parallelLoop << " is a unit attribute of an scf.for or scf.while";
  if (attribute.getName() == warpLocal && (!isa<DotOp>(op) || !isa<UnitAttr>(attribute.getValue())))
    return op->emitError() << warpLocal << " is a unit attribute of a tile.dot";
  if (attribute.getName() == flipped && (!isa<DotOp>(op) || !isa<BoolAttr>(attribute.getValue())))
    return op->emitError() << flipped << " is a bool attribute of a tile.dot";
  if (attribute.getName() == warpgroups && (!isa<DotOp>(op) || !isPairOfCounts(attribute.getValue())))
    return op->emitError() << warpgroups << " of a tile.dot is an array of two positive i64 numbers";
  const bool mayHaveSteps = name == "scf.for" || name == "builtin.module";
  if (attribute.getName() == steps && (!mayHaveSteps || !isa<StringAttr>(attribute.getValue())))
    return op->emitError() << steps
                           << " is a string attribute of an scf.for, or of the module for all loops that it fits";
  const bool hasTwoSides = name == "scf.if" && !op->getRegion(1).empty();
  if (attribute.getName() == fastPath && (!hasTwoSides || !isa<UnitAttr>(attribute.getValue())))
    return op->emitError() << fastPath << " is a unit attribute of an scf.if with two sides";
  const bool mayBeRare = name == "scf.if" || isa<AtomicAddOp, LoadOp>(op);
  if (attribute.getName() == rare && (!mayBeRare || !isa<UnitAttr>(attribute.getValue())))
    return op->emitError() << rare << " is a unit attribute of an scf.if, a tile.load or a tile.atomic_add";
  if (attribute.getName() != "tile.version")
    return success();
  auto version = dyn_cast<IntegerAttr>(attribute.getValue());
  if (version && version.getValue() == programVersion)
    return success();
  return op->emitError() << "tile.version is " << attribute.getValue() << "; this compiler reads version "
                         << programVersion;
}

/// Returns the shape of a tile. The shape of a scalar is empty.
static ArrayRef<int64_t> shapeOf(Value value) {
  auto tile = dyn_cast<ShapedType>(value.getType());
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

/// Returns a shape as text, such as "64x128".
static std::string text(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "a scalar";
  auto sizes = llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return llvm::join(sizes, "x");
}

static std::string text(Value tile) { return text(shapeOf(tile)); }

/// Compares the element type `actual` of an operand or a result with the element type `expected` of a view or a source.
static LogicalResult verifyElementType(Operation *op, StringRef what, Type actual, StringRef other, Type expected) {
  if (actual == expected)
    return success();
  return op->emitOpError() << what << " holds " << actual << " but " << other << " holds " << expected;
}

static LogicalResult verifyShape(Operation *op, StringRef what, Value value, ArrayRef<int64_t> expected) {
  if (shapeOf(value) == expected)
    return success();
  return op->emitOpError() << what << " is " << text(value) << "; expected " << text(expected);
}

static LogicalResult verifyRank(Operation *op, StringRef what, Value tile, size_t expected) {
  size_t rank = shapeOf(tile).size();
  if (rank == expected)
    return success();
  return op->emitOpError() << what << " has rank " << rank << "; expected rank " << expected;
}

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (0 <= axis && axis < rank)
    return success();
  return op->emitOpError() << "axis is " << axis << "; expected 0 to " << rank - 1;
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

LogicalResult DimOp::verify() { return verifyAxis(*this, getAxis(), getView().getType().getRank()); }

LogicalResult SliceOp::verify() {
  ViewType view = getView().getType(), result = getResult().getType();
  if (view.getRank() != getIndices().size() + result.getRank())
    return emitOpError() << "fixes " << getIndices().size() << " of " << view.getRank()
                         << " dimensions but the result has rank " << result.getRank();
  if (getAxis() > static_cast<uint64_t>(result.getRank()))
    return emitOpError() << "fixes dimensions from " << getAxis() << " on, but the result has rank "
                         << result.getRank();
  return verifyElementType(*this, "the result", result.getElementType(), "the view", view.getElementType());
}

/// Verifies a number for each page: the table, or the lengths.
static LogicalResult verifyNumbers(PagesOp op, StringRef name, TypedValue<ViewType> numbers) {
  ViewType type = numbers.getType();
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return op.emitOpError() << "has a " << name << " of " << type << "; a " << name << " is a view of i32 of rank 1";
  if (!isReadOnly(numbers))
    return op.emitOpError() << "has a " << name
                            << " that the program writes, or that is not a tensor; take a tensor that it only reads";
  return success();
}

static LogicalResult verifyTable(PagesOp op) {
  if (failed(verifyNumbers(op, "table", op.getTable())))
    return failure();
  if (!op.getPage())
    return op.emitOpError("has a table but no 'page'; say how many rows a page has");
  return op.getLengths() ? verifyNumbers(op, "list of lengths", op.getLengths()) : success();
}

LogicalResult PagesOp::verify() {
  ViewType view = getView().getType(), result = getResult().getType();
  if (view.getRank() != result.getRank() + 1)
    return emitOpError() << "makes a view of rank " << result.getRank() << " of one of rank " << view.getRank()
                         << "; expected rank " << view.getRank() - 1;
  if (isInPages(getView()))
    return emitOpError("has pages that lie in pages themselves");
  if (failed(verifyElementType(*this, "the result", result.getElementType(), "the view", view.getElementType())))
    return failure();
  if (getLengths() && !getTable())
    return emitOpError("has lengths of pages but no table; say which pages these are");
  return getTable() ? verifyTable(*this) : success();
}

/// Verifies an op that moves a tile between registers and a rectangle of a view.
static LogicalResult verifyBox(Operation *op, ViewType view, OperandRange position, Value tile) {
  if (position.size() != view.getRank())
    return op->emitOpError() << position.size() << " positions for a view of rank " << view.getRank();
  if (failed(verifyRank(op, "the tile", tile, view.getRank())))
    return failure();
  return verifyElementType(op, "the tile", getElementTypeOrSelf(tile), "the view", view.getElementType());
}

LogicalResult LoadOp::verify() {
  if (failed(verifyBox(*this, getView().getType(), getPosition(), getResult())))
    return failure();
  if (!getFill())
    return success();
  return verifyElementType(*this, "fill", getFillAttr().getType(), "the view", getView().getType().getElementType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyBox(*this, getView().getType(), getPosition(), getTile())))
    return failure();
  return success(!getCondition() || succeeded(verifyShape(*this, "the condition", getCondition(), shapeOf(getTile()))));
}

/// Verifies the counters that an op counts, in turns or arrivals. `what` names them.
static LogicalResult verifyCounters(Operation *op, TypedValue<ViewType> counters, Value place, const char *what) {
  ViewType type = counters.getType();
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return op->emitOpError() << "counts " << what << " in " << type << "; counters are a view of i32 of rank 1";
  const std::optional<TensorPosition> at = positionInTensor(counters, place);
  if (at && !at->begin)
    return success();
  return op->emitOpError() << "counts " << what << " in rows of a tensor; add their begin to the place instead";
}

/// Verifies the counters of ordered additions. Either all operands of a turn are there or none.
static LogicalResult verifyTurn(AtomicAddOp op) {
  const Value turn[] = {op.getTurn(), op.getTurns(), op.getPlace(), op.getNext()};
  const int64_t count = llvm::count_if(turn, [](Value operand) { return static_cast<bool>(operand); });
  if (count != 0 && count != 4)
    return op.emitOpError("has a part of a turn; turn, turns, place and next belong together");
  return op.getTurns() ? verifyCounters(op, op.getTurns(), op.getPlace(), "turns") : success();
}

LogicalResult AtomicAddOp::verify() {
  if (failed(verifyBox(*this, getView().getType(), getPosition(), getTile())))
    return failure();
  return verifyTurn(*this);
}

LogicalResult ArriveOp::verify() { return verifyCounters(*this, getCounters(), getPlace(), "arrivals"); }

LogicalResult NextWorkOp::verify() {
  ViewType counter = getCounter().getType();
  if (isInPages(getCounter()))
    return emitOpError("counts with rows in pages; a counter is the first element of a tensor");
  if (counter.getRank() == 1 && counter.getElementType().isInteger(32))
    return success();
  return emitOpError() << "counts with " << counter << "; a counter is an i32 of a view of rank 1";
}

/// Verifies an op that moves single elements.
static LogicalResult verifyElements(Operation *op, ViewType view, OperandRange indices, Value tile) {
  if (indices.size() != view.getRank())
    return op->emitOpError() << indices.size() << " index tiles for a view of rank " << view.getRank();
  for (Value index : indices)
    if (failed(verifyShape(op, "an index tile", index, shapeOf(tile))))
      return failure();
  return verifyElementType(op, "the tile", getElementTypeOrSelf(tile), "the view", view.getElementType());
}

LogicalResult GatherOp::verify() { return verifyElements(*this, getView().getType(), getIndices(), getResult()); }
LogicalResult ScatterOp::verify() { return verifyElements(*this, getView().getType(), getIndices(), getTile()); }
LogicalResult ScatterAddOp::verify() { return verifyElements(*this, getView().getType(), getIndices(), getTile()); }

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

LogicalResult IotaOp::verify() { return verifyRank(*this, "the result", getResult(), 1); }

static LogicalResult verifySameElements(Operation *op) {
  return verifyElementType(op, "the result", getElementTypeOrSelf(op->getResult(0)), "the source",
                           getElementTypeOrSelf(op->getOperand(0)));
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifySameElements(*this)))
    return failure();
  if (!isa<ShapedType>(getSource().getType()))
    return success();
  ArrayRef<int64_t> source = shapeOf(getSource()), result = shapeOf(getResult());
  if (failed(verifyRank(*this, "the source", getSource(), result.size())))
    return failure();
  for (auto [axis, from, to] : llvm::enumerate(source, result))
    if (from != to && from != 1)
      return emitOpError() << "dimension " << axis << " is " << from << " in the source and " << to
                           << " in the result; only a dimension of size 1 can be repeated";
  return success();
}

LogicalResult ReshapeOp::verify() {
  int64_t from = getSource().getType().getNumElements(), to = getResult().getType().getNumElements();
  if (from != to)
    return emitOpError() << "the source, " << text(getSource()) << ", has " << from << " elements but the result, "
                         << text(getResult()) << ", has " << to;
  return verifySameElements(*this);
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> source = shapeOf(getSource()), permutation = getPermutation();
  auto sorted = llvm::to_vector(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, source.size())))
    return emitOpError() << "[" << permutation << "] is not a permutation of the numbers 0 to " << source.size() - 1;
  SmallVector<int64_t> expected;
  for (int64_t axis : permutation)
    expected.push_back(source[axis]);
  if (failed(verifyShape(*this, "the result", getResult(), expected)))
    return failure();
  return verifySameElements(*this);
}

ColumnRange ColumnsOp::getRange() {
  return {static_cast<int64_t>(getFirst()), static_cast<int64_t>(getStep()), shapeOf(getResult()).back(),
          shapeOf(getSource()).back()};
}

LogicalResult ColumnsOp::verify() {
  const ColumnRange range = getRange();
  auto expected = llvm::to_vector(shapeOf(getSource()));
  if (failed(verifyRank(*this, "the result", getResult(), expected.size())))
    return failure();
  expected.back() = range.count;
  if (failed(verifyShape(*this, "the result", getResult(), expected)))
    return failure();
  // Written so that nothing overflows.
  if (range.first >= range.size || (range.size - 1 - range.first) / range.step < range.count - 1)
    return emitOpError() << "takes " << range.count << " columns from " << range.first << " step " << range.step
                         << ", but the source has " << range.size;
  return verifySameElements(*this);
}

ColumnRange JoinOp::rangeOf(unsigned operand) {
  const int64_t left = shapeOf(getLeft()).back(), all = shapeOf(getResult()).back();
  const int64_t count = operand == 0 ? left : all - left;
  if (getInterleave())
    return {operand, 2, count, all};
  return {operand == 0 ? 0 : left, 1, count, all};
}

LogicalResult JoinOp::verify() {
  auto left = llvm::to_vector(shapeOf(getLeft())), right = llvm::to_vector(shapeOf(getRight()));
  if (failed(verifyRank(*this, "right", getRight(), left.size())))
    return failure();
  auto expected = left;
  if (!getInterleave())
    expected.back() = right.back();
  if (failed(verifyShape(*this, "right", getRight(), expected)))
    return failure();
  expected.back() = left.back() + right.back();
  if (failed(verifyShape(*this, "the result", getResult(), expected)))
    return failure();
  return success(succeeded(verifyElementType(*this, "right", getElementTypeOrSelf(getRight()), "left",
                                             getElementTypeOrSelf(getLeft()))) &&
                 succeeded(verifySameElements(*this)));
}

//===-- Arithmetic that mixes elements ---------------------------------------------------------------------------===//

/// Returns "64x128", or "64x128 (transposed)".
static std::string matrixText(Value matrix, bool transposed) {
  return text(matrix) + (transposed ? " (transposed)" : "");
}

static LogicalResult verifyInnerSizes(DotOp dot) {
  bool lhsTransposed = dot.getTransposeLhs(), rhsTransposed = dot.getTransposeRhs();
  int64_t inner = shapeOf(dot.getLhs())[lhsTransposed ? 0 : 1];
  if (shapeOf(dot.getRhs())[rhsTransposed ? 1 : 0] == inner)
    return success();
  return dot.emitOpError() << "inner sizes differ: lhs is " << matrixText(dot.getLhs(), lhsTransposed) << ", rhs is "
                           << matrixText(dot.getRhs(), rhsTransposed) << "; expected rhs to have " << inner
                           << (rhsTransposed ? " columns" : " rows");
}

LogicalResult DotOp::verify() {
  if (failed(verifyRank(*this, "lhs", getLhs(), 2)) || failed(verifyRank(*this, "rhs", getRhs(), 2)) ||
      failed(verifyInnerSizes(*this)))
    return failure();
  int64_t rows = shapeOf(getLhs())[getTransposeLhs() ? 1 : 0], columns = shapeOf(getRhs())[getTransposeRhs() ? 0 : 1];
  if (getAcc() && failed(verifyShape(*this, "acc", getAcc(), {rows, columns})))
    return failure();
  return verifyShape(*this, "the result", getResult(), {rows, columns});
}

LogicalResult ReduceOp::verify() {
  auto expected = llvm::to_vector(shapeOf(getSource()));
  if (expected.size() < 2)
    return emitOpError() << "the source has rank 1; reshape it to rank 2 first, so that a tile remains";
  if (failed(verifyAxis(*this, getAxis(), expected.size())))
    return failure();
  expected.erase(expected.begin() + getAxis());
  if (failed(verifyShape(*this, "the result", getResult(), expected)))
    return failure();
  return verifySameElements(*this);
}

LogicalResult CumsumOp::verify() { return verifyAxis(*this, getAxis(), shapeOf(getSource()).size()); }

//===-- Online softmax -------------------------------------------------------------------------------------------===//

LogicalResult SoftmaxUpdateOp::verify() {
  if (failed(verifyRank(*this, "scores", getScores(), 2)) || failed(verifyRank(*this, "values", getValues(), 2)))
    return failure();
  int64_t rows = shapeOf(getScores())[0], keys = shapeOf(getScores())[1], columns = shapeOf(getValues())[1];
  return success(succeeded(verifyShape(*this, "values", getValues(), {keys, columns})) &&
                 succeeded(verifyShape(*this, "max", getMax(), {rows})) &&
                 succeeded(verifyShape(*this, "sum", getSum(), {rows})) &&
                 succeeded(verifyShape(*this, "output", getOutput(), {rows, columns})) &&
                 (!getKeep() || succeeded(verifyShape(*this, "keep", getKeep(), {rows, keys}))));
}

LogicalResult SoftmaxOutputOp::verify() {
  if (failed(verifyRank(*this, "output", getOutput(), 2)))
    return failure();
  return verifyShape(*this, "sum", getSum(), {shapeOf(getOutput())[0]});
}
