// SPDX-License-Identifier: MIT
// Verifiers of layouts, shared tiles and ops, and the text form of layouts and shared tiles.
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Roles.h"
#include "compiler/sm/Storage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tegula::sm;

//===-- Layout ----------------------------------------------------------------------------------------------------===//

static ParseResult parseDigit(AsmParser &parser, Digits &digits) {
  Digit digit;
  bool copies = succeeded(parser.parseOptionalStar());
  if ((!copies && parser.parseInteger(digit.dim)) || parser.parseColon() || parser.parseInteger(digit.size))
    return failure();
  if (!copies && (parser.parseColon() || parser.parseInteger(digit.stride)))
    return failure();
  digits.push_back(digit);
  return success();
}

static ParseResult parseDigits(AsmParser &parser, StringRef name, Digits &digits) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseDigit(parser, digits); });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  Digits registers, lanes, warps;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parseDigits(parser, "registers", registers) || parser.parseComma() ||
      parseDigits(parser, "lanes", lanes) || parser.parseComma() || parseDigits(parser, "warps", warps) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(where, parser.getContext(), ArrayRef<Digit>(registers), ArrayRef<Digit>(lanes),
                                       ArrayRef<Digit>(warps));
}

static void printDigits(AsmPrinter &printer, StringRef name, ArrayRef<Digit> digits) {
  printer << name << " = [";
  llvm::interleaveComma(digits, printer, [&](const Digit &digit) {
    if (digit.dim == Digit::replicas)
      printer << "*:" << digit.size;
    else
      printer << digit.dim << ':' << digit.size << ':' << digit.stride;
  });
  printer << ']';
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDigits(printer, "registers", getRegisters());
  printDigits(printer, ", lanes", getLanes());
  printDigits(printer, ", warps", getWarps());
  printer << '>';
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Digit> registers,
                                 ArrayRef<Digit> lanes, ArrayRef<Digit> warps) {
  if (countOf(lanes) != kWarpSize)
    return emitError() << "a layout's lanes count to " << countOf(lanes) << "; a warp has " << kWarpSize;
  for (ArrayRef<Digit> digits : {registers, lanes, warps})
    for (const Digit &digit : digits)
      if (digit.size < 1 || digit.dim < Digit::replicas)
        return emitError() << "a digit needs a dimension of the tile and a positive size";
  return success();
}

//===-- Shared ----------------------------------------------------------------------------------------------------===//

static bool isRing(SharedType type) { return type.getPanel() != 0 && type.getShape().size() == 3; }

SharedType SharedType::slot() const {
  return SharedType::get(getContext(), getShape().drop_front(), getElementType(), getPanel());
}

SharedType SharedType::ring(int64_t slots) const {
  SmallVector<int64_t> shape{slots};
  llvm::append_range(shape, getShape());
  return SharedType::get(getContext(), shape, getElementType(), getPanel());
}

/// Returns the size of a tile without padding.
static int64_t denseBytes(ArrayRef<int64_t> shape, int64_t elementBytes) {
  return std::accumulate(shape.begin(), shape.end(), elementBytes, std::multiplies<>());
}

constexpr int64_t kTileAlignment = 1024;

int64_t SharedType::slotBytes() const {
  int64_t dense = denseBytes(getShape().drop_front(), elementBytes());
  return getPanel() == 0 ? dense : llvm::alignTo(dense, kTileAlignment);
}

int64_t SharedType::bytes() const {
  return isRing(*this) ? slotBytes() * getShape().front()
                       : llvm::alignTo(denseBytes(getShape(), elementBytes()), kTileAlignment);
}

SharedType ChannelType::ring(size_t part) const { return getParts()[part].ring(getSlots()); }

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots, ArrayRef<SharedType>) {
  return slots > 0 ? success() : emitError() << "a channel of " << slots << " slots; legal are 1 and more";
}

Type SharedType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t panel = 0;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseComma() || parser.parseInteger(panel) || parser.parseGreater())
    return {};
  return parser.getChecked<SharedType>(where, parser.getContext(), ArrayRef<int64_t>(shape), elementType, panel);
}

void SharedType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType() << ", " << getPanel() << '>';
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type elementType, int64_t panel) {
  if (!elementType.isIntOrFloat())
    return emitError() << "a shared tile of " << elementType << "; shared memory holds integers and floats";
  if (panel == 0)
    return success();
  if (!llvm::is_contained({16, 32, 64, 128}, panel))
    return emitError() << "a panel of " << panel << " bytes; legal are 0, 16, 32, 64 and 128";
  if (shape.size() != 2 && shape.size() != 3)
    return emitError() << "a panelled tile of rank " << shape.size() << "; panels are for matrices and rings of them";
  if (shape.back() * elementType.getIntOrFloatBitWidth() / 8 % panel != 0)
    return emitError() << "rows of " << shape.back() << " elements are no multiple of " << panel << " bytes";
  return success();
}

LogicalResult TensorMemoryType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots, int64_t rows,
                                       int64_t columns) {
  if (slots < 1 || rows != kTensorLanes || columns < 32 || columns > kMaxMmaColumns || columns % 32 != 0)
    return emitError() << slots << " slots of " << rows << " rows and " << columns << " columns; legal are "
                       << kTensorLanes << " rows, and multiples of 32 columns up to " << kMaxMmaColumns;
  return success();
}

int64_t TensorMemoryType::allocated() const { return int64_t(llvm::PowerOf2Ceil(getSlots() * getColumns())); }

//===-- Ops -------------------------------------------------------------------------------------------------------===//

LogicalResult RandomOp::verify() {
  if (getType().getRank() != 2)
    return emitOpError("returns a matrix, not ") << getType();
  return success();
}

LogicalResult LinearOp::verify() {
  if (static_cast<int64_t>(getSteps().size()) != getResult().getType().getRank())
    return emitOpError("has ") << getSteps().size() << " steps for a tile of rank " << getResult().getType().getRank();
  return success();
}

LogicalResult ColumnsOp::verify() {
  SharedType from = getMatrix().getType(), to = getResult().getType();
  if (from.getShape().size() != 2 || to.getShape().size() != 2 || from.getShape()[0] != to.getShape()[0])
    return emitOpError("must take columns of a matrix and keep all of its rows");
  if (from.getPanel() == 0 || from.getPanel() != to.getPanel() || from.getElementType() != to.getElementType())
    return emitOpError("needs a source and a result with panels of one width and element type");
  if (getFirst() * from.elementBytes() % from.getPanel() != 0)
    return emitOpError("starts at column ") << getFirst() << ", which is inside a panel";
  if (int64_t(getFirst()) + to.getShape()[1] > from.getShape()[1])
    return emitOpError("ends after the last column of its source");
  return success();
}

LogicalResult CommitOp::verify() {
  if (!getJoinsNext())
    return success();
  for (Operation *op = (*this)->getNextNode(); op; op = op->getNextNode()) {
    if (isa<CommitOp>(op))
      return success();
    for (Operation *wait : getCopies().getUsers())
      if (op->isAncestor(wait))
        return wait->emitOpError("waits for copies whose group is still open").attachNote(getLoc())
               << "their 'sm.commit' joins the next one";
  }
  return emitOpError("joins the next commit, but no 'sm.commit' follows in its block");
}

LogicalResult MmaOp::verify() {
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  if (shape.size() != 2)
    return emitOpError("multiplies matrices");
  if (getAcc() && getAcc().getType() != getResult().getType())
    return emitOpError("accumulates in ") << getResult().getType() << ", but acc is " << getAcc().getType();
  if (getTransposeLhs() && !isa<SharedType>(getLhs().getType()))
    return emitOpError("transposes only what is in shared memory");
  return success();
}

LogicalResult FitsOp::verify() {
  if (!isa<BlockArgument>(getTensor()))
    return emitOpError("asks about a view; TMA has maps of whole tensors");
  if (getRowsOfWarp() && getIndices().size() < 2)
    return emitOpError("asks about rows of a vector; TMA stores matrices");
  return success();
}

LogicalResult TmaStoreOp::verify() {
  const std::optional<RoleRef> role = roleOf(*this);
  if (!role)
    return emitOpError("must be in a role of 'sm.roles'");
  if (std::string why = whyNotStored(getView()); !why.empty())
    return emitOpError("cannot store its tile: ") << why;
  const int64_t rows = getShared().getType().getShape().front();
  if (static_cast<int64_t>(getRowsOfWarp()) * role->warps() != rows)
    return emitOpError("has rows_of_warp ")
           << getRowsOfWarp() << ", but " << role->warps() << " warps share " << rows << " rows";
  return success();
}

void CoordinatesOp::build(OpBuilder &b, OperationState &state, Value view, ValueRange position, bool tested) {
  const SmallVector<Type> types(static_cast<size_t>(coordinateCount(view)), b.getI32Type());
  build(b, state, types, view, position, tested);
}

LogicalResult CoordinatesOp::verify() {
  if (std::string why = whyNotAdded(getView()); !why.empty())
    return emitOpError("has no coordinates: ") << why;
  if (static_cast<int64_t>(getCoordinates().size()) != coordinateCount(getView()))
    return emitOpError("has ") << getCoordinates().size() << " results; its boxes have " << coordinateCount(getView());
  return success();
}

LogicalResult TmaAddOp::verify() {
  const SharedType from = getShared().getType();
  const SharedType needed = additionBuffer(tile());
  if (!needed)
    return emitOpError("adds ") << tile()
                                << "; TMA adds f32 accumulators of 'sm.wgmma', of which each warp has whole panels or "
                                   "all columns";
  if (from != needed)
    return emitOpError("adds ") << tile() << " from " << from << "; its buffer is " << needed;
  if (!getOperation()->getParentOfType<RolesOp>())
    return emitOpError("must be in a role of 'sm.roles'");
  if (!isa<BlockArgument>(getTensor()))
    return emitOpError("adds to a view; TMA has maps of whole tensors");
  const int64_t rank = getTensor().getType().getRank(), count = getCoordinates().size();
  if (count != rank && count != rank + kCoordinatesOfEnd)
    return emitOpError("has ") << count << " coordinates; boxes of its tensor have " << rank << " or "
                               << rank + kCoordinatesOfEnd;
  const int64_t warps = roleOf(*this)->warps(), all = countOf(getLayout().getWarps());
  if (warps != 1 && warps != all)
    return emitOpError("is in a role of ")
           << warps << " warps; one warp adds, or each of the " << all << " of its layout";
  return success();
}

LogicalResult TransposeOp::verify() {
  const SharedType from = getSource().getType(), to = getType();
  if (from.getShape().size() != 2 || to.getShape() != ArrayRef({from.getShape()[1], from.getShape()[0]}) ||
      from.getElementType() != to.getElementType())
    return emitOpError("makes ") << to << " of " << from << ", which is not the transpose of a matrix";
  return success();
}

LogicalResult WgmmaOp::verify() {
  RankedTensorType tile = getType().getTile();
  std::optional<Fragments> grid =
      tile.getRank() == 2 && isRegisterTile(tile) ? warpgroupFragments(layoutOf(tile)) : std::nullopt;
  if (!grid || 16 * grid->columns > kMaxMmaColumns)
    return emitOpError("has accumulators ")
           << tile << "; a warpgroup has blocks of 64 rows and at most 256 columns of each";
  const int64_t columns = 16 * grid->columns, ofPanel = panelColumns(getRhs().getType().getElementType());
  const bool crossesPanel = ofPanel % columns != 0 && columns % ofPanel != 0;
  if (grid->warpsN > 1 && !getTransposeRhs() && crossesPanel)
    return emitOpError("gives a warpgroup ")
           << columns << " columns of a right operand whose panels have " << ofPanel << " columns";
  if (getAcc() && getAcc().getType() != tile && getAcc().getType() != getType())
    return emitOpError("accumulates in ") << tile << ", but acc is " << getAcc().getType();
  for (Type operand : {getLhs().getType(), Type(getRhs().getType())})
    if (auto shared = dyn_cast<SharedType>(operand);
        shared && (shared.getPanel() != kPanelBytes || !mmaElement(shared.getElementType())))
      return emitOpError("reads ") << shared
                                   << "; its operands must be bf16, f16, f32 or f8E4M3FN in panels of 128 bytes";
  if (auto lhs = dyn_cast<SharedType>(getLhs().getType());
      lhs && lhs.getElementType() != getRhs().getType().getElementType())
    return emitOpError("multiplies ") << lhs << " by " << getRhs().getType() << "; both need one element type";
  auto held = dyn_cast<RankedTensorType>(getLhs().getType());
  if (mmaElement(getRhs().getType().getElementType())->mustBeKMajor &&
      (held || getTransposeLhs() || !getTransposeRhs()))
    return emitOpError("reads ") << getRhs().getType()
                                 << "; such operands must be K-major in shared memory: the depth lies along their rows";
  if (held && !held.getElementType().isInteger(32))
    return emitOpError("reads ")
           << held << " in registers; a left operand in registers is packed, two 16-bit elements in an i32";
  if (held && getTransposeLhs())
    return emitOpError("transposes only what is in shared memory");
  if (held && grid->warpsN != 1)
    return emitOpError("divides columns among warpgroups, so the left operand must be in shared memory");
  if (!isConsumedOnce(getResult()))
    return emitOpError("needs exactly one wait: what is in flight can be neither copied nor dropped");
  return success();
}

SumPlace Tcgen05Op::getSumPlace() { return SumPlace::tensorMemory; }
Issuer Tcgen05Op::getIssuer() { return Issuer::lane; }
Value Tcgen05Op::getAcc() { return {}; }
Value Tcgen05Op::getHandle() { return {}; }

RankedTensorType Tcgen05Op::getSum() {
  return RankedTensorType::get({getSums().getType().getRows(), getSums().getType().getColumns()},
                               Float32Type::get(getContext()));
}

LogicalResult Tcgen05Op::verify() {
  for (SharedType operand : {getLhs().getType(), getRhs().getType()})
    if (operand.getPanel() != kPanelBytes || operand.getElementType().getIntOrFloatBitWidth() != 16 ||
        operand.getElementType() != getRhs().getType().getElementType())
      return emitOpError("reads ") << operand << "; its operands must both be bf16 or f16 in panels of 128 bytes";
  auto reaches = [&](SharedType operand, bool depthIsRows, int64_t outer) {
    const int64_t rows = operand.getShape()[0], columns = operand.getShape()[1];
    return (depthIsRows ? columns : rows) >= outer && (depthIsRows ? rows : columns) >= int64_t(getDepth());
  };
  const RankedTensorType sum = getSum();
  if (!reaches(getLhs().getType(), getTransposeLhs(), sum.getDimSize(0)) ||
      !reaches(getRhs().getType(), !getTransposeRhs(), sum.getDimSize(1)))
    return emitOpError("has operands that are smaller than its accumulators of ")
           << sum.getDimSize(0) << " x " << sum.getDimSize(1) << " and its depth of " << getDepth();
  return success();
}

LogicalResult TensorReadOp::verify() {
  const TensorMemoryType from = getSums().getType();
  const int64_t warps = countOf(layoutOf(getType()).getWarps());
  if (getType().getShape() != ArrayRef({from.getRows(), from.getColumns()}) || warps % kWarpsPerWarpgroup != 0 ||
      layoutOf(getType()) != tensorLayout(getContext(), from.getRows(), from.getColumns(), warps))
    return emitOpError("reads ") << from << " as " << getType() << "; a lane must hold columns of its row";
  return success();
}

void AwaitOp::build(OpBuilder &, OperationState &state, Value handle) {
  state.addOperands(handle);
  state.addTypes(cast<InflightType>(handle.getType()).getTile());
}

LogicalResult AwaitOp::verify() {
  if (getReads() != (getNumResults() == 0))
    return emitOpError("has a tile as its result unless it waits for reads only");
  if (getResult() && getResult().getType() != getHandle().getType().getTile())
    return emitOpError("waits for ") << getHandle().getType() << " and results in " << getResult().getType();
  return success();
}
