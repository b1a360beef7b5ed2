// SPDX-License-Identifier: MIT
// The inline assembly that emit::Instructions makes, taken apart again.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <optional>

namespace tegula::simt {

/// `@$p MNEMONIC registers, [address];` or `@$p MNEMONIC [address], registers;`.
struct MemoryInstruction {
  enum class Kind { Load, Store, Add } kind;
  bool isShared = false;
  bool isFloat = false; ///< Of an addition.
  unsigned bits = 0;    ///< Of each register in memory.
  llvm::StringRef mnemonic;
  mlir::Value address;
  mlir::Value predicate;                    ///< May be null: always.
  mlir::Value otherwise;                    ///< Of a load; may be null.
  llvm::SmallVector<mlir::Value> registers; ///< Of a store.
};

/// Nothing if it has another form.
std::optional<MemoryInstruction> parseMemoryInstruction(mlir::LLVM::InlineAsmOp op);

} // namespace tegula::simt
