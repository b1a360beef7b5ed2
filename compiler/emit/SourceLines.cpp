// SPDX-License-Identifier: MIT
#include "compiler/emit/SourceLines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

namespace tegula::emit {

using namespace mlir;

namespace {

LLVM::DIFileAttr fileOf(FileLineColLoc line) {
  StringRef path = line.getFilename();
  return LLVM::DIFileAttr::get(line.getContext(), llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

LLVM::DISubprogramAttr describe(LLVM::LLVMFuncOp function, FileLineColLoc line) {
  MLIRContext *context = function.getContext();
  auto isNew = [&] { return DistinctAttr::create(UnitAttr::get(context)); };
  LLVM::DIFileAttr file = fileOf(line);
  auto unit = LLVM::DICompileUnitAttr::get(isNew(), llvm::dwarf::DW_LANG_C, file, StringAttr::get(context, "tegula"),
                                           /*isOptimized=*/true, LLVM::DIEmissionKind::DebugDirectivesOnly);
  auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
  StringAttr name = function.getNameAttr();
  return LLVM::DISubprogramAttr::get(context, isNew(), unit, file, name, name, file, line.getLine(), line.getLine(),
                                     flags, type, /*retainedNodes=*/{}, /*annotations=*/{});
}

/// The scoped locations of one function's operations. Each is made once, because there are few locations and many
/// operations.
class ScopedLocations {
public:
  explicit ScopedLocations(LLVM::DISubprogramAttr function) : function_(function) {}

  Location scoped(Location location) {
    auto [known, isNew] = scoped_.try_emplace(location, location);
    if (isNew)
      known->second = make(location);
    return known->second;
  }

private:
  Location make(Location location) const {
    auto line = location->findInstanceOf<FileLineColLoc>();
    if (!line)
      return location;
    LLVM::DIFileAttr file = fileOf(line);
    if (file == function_.getFile())
      return line;
    auto scope = LLVM::DILexicalBlockFileAttr::get(line.getContext(), function_, file, /*discriminator=*/0);
    return FusedLoc::get(line.getContext(), Location(line), scope);
  }

  LLVM::DISubprogramAttr function_;
  DenseMap<Location, Location> scoped_;
};

} // namespace

void keepSourceLines(LLVM::LLVMFuncOp function) {
  auto line = function.getLoc()->findInstanceOf<FileLineColLoc>();
  if (!line)
    return;
  LLVM::DISubprogramAttr description = describe(function, line);
  ScopedLocations locations(description);
  function->walk([&](Operation *op) { op->setLoc(locations.scoped(op->getLoc())); });
  function->setLoc(FusedLoc::get(function.getContext(), Location(line), description));
}

} // namespace tegula::emit
