// SPDX-License-Identifier: MIT
// The inline assembly that emit::Instructions makes, taken apart again.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <vector>

namespace tegula::simt {

/// `@GUARD MNEMONIC OPERANDS;`
struct AsmStatement {
  llvm::StringRef guard; ///< Empty: always.
  llvm::StringRef mnemonic;
  llvm::SmallVector<llvm::StringRef> operands; ///< What is between commas that no bracket encloses.

  /// Whether the words between the mnemonic's dots begin with these.
  bool is(llvm::StringRef words) const;
  bool has(llvm::StringRef word) const;
};

/// One op. `$n` numbers its results and then its operands.
class AsmText {
public:
  explicit AsmText(mlir::LLVM::InlineAsmOp op);

  /// In order, without labels, declarations of registers and braces around all.
  const std::vector<AsmStatement> &statements() const { return statements_; }
  size_t results() const { return results_; }
  /// The operand that `$n` names; null if it is a result or something else.
  mlir::Value operand(llvm::StringRef text) const;
  /// The operand that result n begins with; null if there is none.
  mlir::Value tied(size_t result) const { return result < tied_.size() ? tied_[result] : mlir::Value(); }

private:
  void parseConstraints();
  void parseStatement(llvm::StringRef text);

  mutable mlir::LLVM::InlineAsmOp op_; // Its accessors are not const.
  size_t results_ = 0;
  llvm::SmallVector<mlir::Value> tied_;
  std::vector<AsmStatement> statements_;
};

/// What `{a, b}` or `[a]` encloses, or the text itself.
llvm::SmallVector<llvm::StringRef> members(llvm::StringRef operand);

} // namespace tegula::simt
