// SPDX-License-Identifier: MIT
// The values that a random instruction may use, and how they come from memory and return there.
#pragma once

#include "ptx/random.h"

#include "llvm/IR/IRBuilder.h"

namespace tegula::ptx_fuzz {

/// The metadata of an instruction without which others are undefined, such as the mask of a shift count. Shrinking
/// keeps it.
inline constexpr char kGuard[] = "guard";

/// Marks an instruction as a guard. Does nothing to a constant.
llvm::Value *guard(llvm::Value *value);

/// The values that are defined at the place where instructions are inserted.
class Scope {
public:
  Scope(llvm::IRBuilder<> &builder, Random &random, llvm::Function &kernel)
      : builder_(builder), random_(random), kernel_(kernel) {}

  /// Returns a random type. Integers have 1 to 64 bits, floats 16 or 32, and vectors 2 or 4 elements.
  llvm::Type *anyType();
  llvm::Type *anyInteger();
  llvm::Type *anyFloat();
  /// Returns a vector of this scalar, or of another if vectors of it are unusual.
  static llvm::FixedVectorType *vectorOf(llvm::Type *scalar);
  /// Returns a vector type of the same shape as `like`, or the element type itself.
  static llvm::Type *shapedLike(llvm::Type *like, llvm::Type *element);

  void add(llvm::Value *value) { values_.push_back(value); }
  size_t size() const { return values_.size(); }
  void truncate(size_t size) { values_.resize(size); }
  /// Returns the value that was added last but `n`.
  llvm::Value *recent(size_t n) const { return values_[values_.size() - 1 - n]; }

  /// Returns a value of the type: one that exists, a constant, or one that it loads.
  llvm::Value *value(llvm::Type *type);
  llvm::Constant *constant(llvm::Type *type);

  /// Returns the bits of a float. All NaN have the same, because neither LLVM nor PTX says which bits a NaN has.
  llvm::Value *bitsOf(llvm::Value *real);
  /// Returns the float with these bits, and the usual NaN for any NaN.
  llvm::Value *realOf(llvm::Value *bits, llvm::Type *type);

  void load();
  void store(llvm::Value *value);
  void storeSeveral();

private:
  struct Element; // Of an access to memory.

  llvm::Value *loadedScalar(llvm::Type *type);
  llvm::Constant *scalarConstant(llvm::Type *type);
  llvm::APInt interestingBits(unsigned bits);
  llvm::Value *canonical(llvm::Value *bits, llvm::Type *real);
  llvm::Value *address(unsigned bytes, bool isOutput);
  llvm::Value *asInteger(llvm::Value *scalar, unsigned bits);
  llvm::CallInst *assembly(const llvm::Twine &text, const llvm::Twine &constraints, llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> operands);

  llvm::IRBuilder<> &builder_;
  Random &random_;
  llvm::Function &kernel_;
  std::vector<llvm::Value *> values_;
};

} // namespace tegula::ptx_fuzz
