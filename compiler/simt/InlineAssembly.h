// SPDX-License-Identifier: MIT
// A parser for the inline assembly that emit::Instructions emits.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <vector>

namespace tegula::simt {

/// `@GUARD MNEMONIC OPERANDS;`
struct AsmStatement {
  llvm::StringRef guard; ///< Empty if the statement is always executed.
  llvm::StringRef mnemonic;
  llvm::SmallVector<llvm::StringRef> operands; ///< The texts between commas that no bracket encloses.

  /// Returns true if the mnemonic begins with `words`, followed by its end or a dot.
  bool is(llvm::StringRef words) const;
  bool has(llvm::StringRef word) const;
};

/// The parsed text of one op. `$n` numbers the op's results and then its operands.
class AsmText {
public:
  explicit AsmText(mlir::LLVM::InlineAsmOp op);

  /// Returns the statements in order, without labels, declarations of registers and the braces around all.
  const std::vector<AsmStatement> &statements() const { return statements_; }
  size_t results() const { return results_; }
  /// Returns the operand that `$n` names. Null if it is a result or something else.
  mlir::Value operand(llvm::StringRef text) const;
  /// Returns the operand that result n starts with. Null if there is none.
  mlir::Value tied(size_t result) const { return result < tied_.size() ? tied_[result] : mlir::Value(); }

private:
  void parseConstraints();
  void parseStatement(llvm::StringRef text);

  mutable mlir::LLVM::InlineAsmOp op_; // Its accessors are not const.
  size_t results_ = 0;
  llvm::SmallVector<mlir::Value> tied_;
  std::vector<AsmStatement> statements_;
};

/// Returns the members of `{a, b}` or `[a]`, or the text itself.
llvm::SmallVector<llvm::StringRef> members(llvm::StringRef operand);

} // namespace tegula::simt
