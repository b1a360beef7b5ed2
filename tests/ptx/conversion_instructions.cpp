// SPDX-License-Identifier: MIT
#include "ptx/random_instruction.h"

#include "llvm/IR/Intrinsics.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

Value *betweenIntegers(IRBuilder<> &builder, Random &random, Scope &scope, Type *shape) {
  Type *from = Scope::shapedLike(shape, scope.anyInteger()), *to = Scope::shapedLike(shape, scope.anyInteger());
  Value *x = scope.value(from);
  return random.percent(50) ? builder.CreateZExtOrTrunc(x, to) : builder.CreateSExtOrTrunc(x, to);
}

Value *betweenFloats(IRBuilder<> &builder, Random &random, Scope &scope, Type *shape) {
  Type *narrow = Scope::shapedLike(shape, random.percent(50) ? builder.getHalfTy() : builder.getBFloatTy());
  Type *wide = Scope::shapedLike(shape, builder.getFloatTy());
  return random.percent(50) ? builder.CreateFPExt(scope.value(narrow), wide)
                            : builder.CreateFPTrunc(scope.value(wide), narrow);
}

Value *toFloat(IRBuilder<> &builder, Random &random, Scope &scope, Type *shape) {
  Type *from = Scope::shapedLike(shape, scope.anyInteger()), *to = Scope::shapedLike(shape, scope.anyFloat());
  Value *x = scope.value(from);
  return random.percent(50) ? builder.CreateSIToFP(x, to) : builder.CreateUIToFP(x, to);
}

/// Converts a float to an integer. A float that does not fit becomes 1 before.
Value *toInteger(IRBuilder<> &builder, Random &random, Scope &scope, Type *shape) {
  static constexpr unsigned kSizes[] = {8, 16, 32, 64};
  const bool isSigned = random.percent(50);
  const unsigned bits = random.of(kSizes);
  Type *to = Scope::shapedLike(shape, builder.getIntNTy(bits)), *from = Scope::shapedLike(shape, scope.anyFloat());
  Value *x = scope.value(from);
  Value *size = guard(builder.CreateUnaryIntrinsic(Intrinsic::fabs, x));
  // 2^15 fits into each of the floats, and is out of reach for less.
  const double limit = std::ldexp(1.0, std::min<int>(static_cast<int>(bits) - (isSigned ? 1 : 0), 15));
  Value *fits = guard(builder.CreateFCmpOLT(size, ConstantFP::get(from, limit)));
  Value *safe = guard(builder.CreateSelect(fits, isSigned ? x : size, ConstantFP::get(from, 1.0)));
  return isSigned ? builder.CreateFPToSI(safe, to) : builder.CreateFPToUI(safe, to);
}

/// Reinterprets the bits of a scalar as a float or the other way round.
Value *scalarBits(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *real = scope.anyFloat();
  Type *integer = builder.getIntNTy(real->getScalarSizeInBits());
  return random.percent(50) ? scope.bitsOf(scope.value(real)) : scope.realOf(scope.value(integer), real);
}

/// Reinterprets a word as a vector of narrower numbers, or the other way round.
Value *vectorBits(IRBuilder<> &builder, Random &random, Scope &scope) {
  static constexpr std::pair<unsigned, unsigned> kShapes[] = {{2, 16}, {4, 16}, {2, 32}, {4, 8}};
  if (random.percent(10)) // LLVM makes such vectors of bits from tests of single bits.
    return builder.CreateExtractElement(
        builder.CreateBitCast(scope.value(builder.getInt32Ty()), FixedVectorType::get(builder.getInt1Ty(), 32)),
        random.below(32));
  auto [count, bits] = random.of(kShapes);
  auto *type = FixedVectorType::get(builder.getIntNTy(bits), count);
  Type *word = builder.getIntNTy(count * bits);
  if (random.percent(50))
    return builder.CreateBitCast(scope.value(type), word);
  Value *integers = builder.CreateBitCast(scope.value(word), type);
  Type *real = bits == 32 ? builder.getFloatTy() : random.percent(50) ? builder.getHalfTy() : builder.getBFloatTy();
  return bits == 8 || random.percent(40) ? integers : scope.realOf(integers, FixedVectorType::get(real, count));
}

} // namespace

Value *conversionInstruction(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *shape = scope.anyType();
  switch (random.below(6)) {
  case 0:
    return betweenIntegers(builder, random, scope, shape);
  case 1:
    return betweenFloats(builder, random, scope, shape);
  case 2:
    return toFloat(builder, random, scope, shape);
  case 3:
    return toInteger(builder, random, scope, shape);
  case 4:
    return scalarBits(builder, random, scope);
  default:
    return vectorBits(builder, random, scope);
  }
}

} // namespace tegula::ptx_fuzz
