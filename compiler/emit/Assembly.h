// SPDX-License-Identifier: MIT
// Builds the inline assembly of instructions.
#pragma once

#include "compiler/emit/Instructions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tegula::emit {

/// An inline assembly under construction. Its operands are numbered after its results.
class Assembly {
public:
  /// The results are f32.
  explicit Assembly(mlir::ImplicitLocOpBuilder &b, size_t results = 0) : Assembly(b, results, b.getF32Type()) {}
  Assembly(mlir::ImplicitLocOpBuilder &b, size_t results, mlir::Type type) : b_(b), results_(results), type_(type) {
    for (size_t i = 0; i < results; ++i)
      constrain("=" + letterOf(type));
  }

  std::string input(mlir::Value value) {
    constrain(letterOf(value.getType()));
    operands_.push_back(value);
    return "$" + std::to_string(count_ - 1);
  }

  /// Adds inputs. Returns `{$n, $n+1, ...}`.
  std::string inputs(mlir::ValueRange values) {
    std::string text;
    for (mlir::Value value : values)
      text += (text.empty() ? "" : ", ") + input(value);
    return "{" + text + "}";
  }

  /// Lets the results start with these values.
  void tie(mlir::ValueRange values) {
    for (auto [i, value] : llvm::enumerate(values)) {
      constrain(std::to_string(i));
      operands_.push_back(value);
    }
  }

  std::string results() const {
    std::string text;
    for (size_t i = 0; i < results_; ++i)
      text += (i ? ", $" : "$") + std::to_string(i);
    return "{" + text + "}";
  }

  llvm::SmallVector<mlir::Value> create(const llvm::Twine &text, bool touchesMemory = true) {
    mlir::Type type;
    if (results_)
      type = mlir::LLVM::LLVMStructType::getLiteral(b_.getContext(), llvm::SmallVector<mlir::Type>(results_, type_));
    if (touchesMemory)
      constrain("~{memory}");
    op_ = mlir::LLVM::InlineAsmOp::create(b_, type, operands_, text.str(), constraints_, /*has_side_effects=*/true,
                                          /*is_align_stack=*/false, mlir::LLVM::tailcallkind::TailCallKind::None,
                                          mlir::LLVM::AsmDialectAttr(), mlir::ArrayAttr());
    llvm::SmallVector<mlir::Value> values;
    for (size_t i = 0; i < results_; ++i)
      values.push_back(mlir::LLVM::ExtractValueOp::create(b_, op_.getRes(), i));
    return values;
  }

  /// Sets a unit attribute on the op that `create` has made.
  void mark(llvm::StringRef attribute) { op_->setAttr(attribute, b_.getUnitAttr()); }

private:
  static std::string letterOf(mlir::Type type) {
    return type.isInteger(1) ? "b" : type.isInteger(32) ? "r" : type.isF32() ? "f" : "l";
  }

  void constrain(const std::string &constraint) {
    constraints_ += (constraints_.empty() ? "" : ",") + constraint;
    ++count_;
  }

  mlir::ImplicitLocOpBuilder &b_;
  size_t results_, count_ = 0;
  mlir::Type type_;
  std::string constraints_;
  llvm::SmallVector<mlir::Value> operands_;
  mlir::LLVM::InlineAsmOp op_;
};

} // namespace tegula::emit
