// SPDX-License-Identifier: MIT
// What the printer's peepholes replace, and what looks nearly like it.
#include "ptx/random_instruction.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

/// (x + number) + y, where the first sum may be an `or`.
Value *sumWithNumber(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = builder.getIntNTy(random.percent(70) ? 32 : 64);
  Value *x = scope.value(type), *inner = nullptr;
  if (random.percent(60)) {
    inner = builder.CreateAdd(x, scope.constant(type));
  } else {
    const unsigned low = 1 + static_cast<unsigned>(random.below(6));
    Value *high = guard(builder.CreateShl(x, low)), *number = ConstantInt::get(type, random.below(uint64_t{1} << low));
    inner = guard(builder.CreateOr(high, number, "", /*IsDisjoint=*/true));
  }
  if (random.percent(30))
    scope.add(inner);
  Value *y = scope.value(type);
  return random.percent(50) ? builder.CreateAdd(inner, y) : builder.CreateAdd(y, inner);
}

/// (x << number) * y
Value *productOfShift(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = builder.getIntNTy(random.percent(50) ? 32 : 64);
  Value *shifted = builder.CreateShl(scope.value(type), random.below(20)), *y = scope.value(type);
  return random.percent(50) ? builder.CreateMul(shifted, y) : builder.CreateMul(y, shifted);
}

/// A choice on two conditions.
Value *doubleChoice(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = scope.anyType(), *condition = builder.getInt1Ty();
  if (random.percent(30))
    condition = Scope::shapedLike(type, condition);
  Value *x = scope.value(condition), *y = scope.value(condition);
  Value *both = nullptr;
  switch (random.below(4)) {
  case 0:
    both = builder.CreateAnd(x, y);
    break;
  case 1:
    both = builder.CreateOr(x, y);
    break;
  case 2:
    both = builder.CreateLogicalAnd(x, y);
    break;
  default:
    both = builder.CreateLogicalOr(x, y);
  }
  return builder.CreateSelect(both, scope.value(type), scope.value(type));
}

/// Two f32 that are rounded to 16 bits and packed.
Value *roundedPair(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *narrow = random.percent(50) ? builder.getHalfTy() : builder.getBFloatTy();
  Value *pair = PoisonValue::get(FixedVectorType::get(narrow, 2));
  for (uint64_t i = 0; i < 2; ++i)
    pair =
        guard(builder.CreateInsertElement(pair, builder.CreateFPTrunc(scope.value(builder.getFloatTy()), narrow), i));
  return pair;
}

/// One half of a word, as f32.
Value *widenedHalf(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *narrow = random.percent(70) ? builder.getBFloatTy() : builder.getHalfTy();
  Value *pair = builder.CreateBitCast(scope.value(builder.getInt32Ty()), FixedVectorType::get(narrow, 2));
  Value *wide = builder.CreateFPExt(builder.CreateExtractElement(pair, random.below(2)), builder.getFloatTy());
  return scope.realOf(scope.bitsOf(wide), builder.getFloatTy());
}

} // namespace

Value *peepholeForm(IRBuilder<> &builder, Random &random, Scope &scope) {
  switch (random.below(5)) {
  case 0:
    return sumWithNumber(builder, random, scope);
  case 1:
    return productOfShift(builder, random, scope);
  case 2:
    return doubleChoice(builder, random, scope);
  case 3:
    return roundedPair(builder, random, scope);
  default:
    return widenedHalf(builder, random, scope);
  }
}

} // namespace tegula::ptx_fuzz
