// SPDX-License-Identifier: MIT
// What a layout, a shared tile and each op must hold, and the text of layouts and shared tiles.
#include "compiler/sm/Sm.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::sm;

//===-- Layout
//-------------------------------------------------------------------------------------------------------===//

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
    if (digit.dim == Digit::copies)
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
  if (countOf(lanes) != warpSize)
    return emitError() << "a layout's lanes count to " << countOf(lanes) << "; a warp has " << warpSize;
  for (ArrayRef<Digit> digits : {registers, lanes, warps})
    for (const Digit &digit : digits)
      if (digit.size < 1 || digit.dim < Digit::copies)
        return emitError() << "a digit needs a dimension of the tile and a positive size";
  return success();
}

//===-- Shared
//-------------------------------------------------------------------------------------------------------===//

static bool isRing(SharedType type) { return type.getPanel() != 0 && type.getShape().size() == 3; }

SharedType SharedType::slot() const {
  return SharedType::get(getContext(), getShape().drop_front(), getElementType(), getPanel());
}

int64_t SharedType::slotBytes() const {
  ArrayRef<int64_t> tile = isRing(*this) ? getShape().drop_front() : getShape();
  int64_t elements = 1;
  for (int64_t size : tile)
    elements *= size;
  return llvm::alignTo(elements * elementBytes(), 1024);
}

int64_t SharedType::bytes() const { return slotBytes() * (isRing(*this) ? getShape().front() : 1); }

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

//===-- Operations
//---------------------------------------------------------------------------------------------------===//

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
