// SPDX-License-Identifier: MIT
// Registration and generated code; recompiled only when a .td file changes.
#include "compiler/sm/Sm.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/sm/SmDialect.cpp.inc"

using tegula::sm::SharedType;

static mlir::ParseResult parseParts(mlir::AsmParser &parser, llvm::SmallVector<SharedType> &parts) {
  return parser.parseCommaSeparatedList([&] { return parser.parseType(parts.emplace_back()); });
}

static void printParts(mlir::AsmPrinter &printer, llvm::ArrayRef<SharedType> parts) {
  llvm::interleaveComma(parts, printer.getStream(), [&](SharedType part) { printer.printType(part); });
}

#define GET_ATTRDEF_CLASSES
#include "compiler/sm/SmAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/sm/SmTypes.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/sm/SmOps.cpp.inc"

void tegula::sm::SmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/sm/SmAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/sm/SmTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/sm/SmOps.cpp.inc"
      >();
  attachOrders(*getContext());
}
