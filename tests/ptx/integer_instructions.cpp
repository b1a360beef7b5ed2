// SPDX-License-Identifier: MIT
#include "ptx/random_instruction.h"

#include "llvm/IR/Intrinsics.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

/// Returns a constant of the type whose elements all satisfy a condition.
template <class Condition> Constant *constantWith(Scope &scope, Type *type, Condition condition) {
  for (;;) {
    Constant *constant = scope.constant(type);
    auto *vector = dyn_cast<FixedVectorType>(type);
    bool fits = true;
    for (unsigned i = 0; i < (vector ? vector->getNumElements() : 1); ++i)
      fits &= condition(cast<ConstantInt>(vector ? constant->getAggregateElement(i) : constant)->getValue());
    if (fits)
      return constant;
  }
}

/// Returns a count that is less than the size: a constant, or a value with a mask.
Value *shiftCount(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  const unsigned bits = type->getScalarSizeInBits();
  if (random.percent(40))
    return ConstantInt::get(type, random.below(bits));
  const uint64_t mask = bit_floor(bits) - 1;
  return guard(builder.CreateAnd(scope.value(type), ConstantInt::get(type, mask)));
}

Value *shift(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  static constexpr Instruction::BinaryOps kShifts[] = {Instruction::Shl, Instruction::LShr, Instruction::AShr};
  return builder.CreateBinOp(random.of(kShifts), scope.value(type), shiftCount(builder, random, scope, type));
}

/// Returns a divisor that is odd, or a constant that is not 0. A signed one is never -1, because the least number
/// divided by -1 is undefined.
Value *divisor(IRBuilder<> &builder, Random &random, Scope &scope, Type *type, bool isSigned) {
  if (random.percent(60))
    return constantWith(scope, type, [&](const APInt &x) { return !x.isZero() && !(isSigned && x.isAllOnes()); });
  Value *odd = guard(builder.CreateOr(scope.value(type), ConstantInt::get(type, 1)));
  const APInt positive = APInt::getSignedMaxValue(type->getScalarSizeInBits());
  return isSigned ? guard(builder.CreateAnd(odd, ConstantInt::get(type, positive))) : odd;
}

Value *division(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  static constexpr Instruction::BinaryOps kUnsigned[] = {Instruction::UDiv, Instruction::URem};
  static constexpr Instruction::BinaryOps kSigned[] = {Instruction::SDiv, Instruction::SRem};
  const bool isSigned = random.percent(50);
  Value *x = scope.value(type), *y = divisor(builder, random, scope, type, isSigned);
  return builder.CreateBinOp(isSigned ? random.of(kSigned) : random.of(kUnsigned), x, y);
}

Value *intrinsic(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  const unsigned bits = type->getScalarSizeInBits();
  static constexpr Intrinsic::ID kAny[] = {Intrinsic::smin, Intrinsic::smax, Intrinsic::umin, Intrinsic::umax};
  static constexpr Intrinsic::ID kWhole[] = {Intrinsic::usub_sat, Intrinsic::uadd_sat};
  static constexpr Intrinsic::ID kFunnel[] = {Intrinsic::fshl, Intrinsic::fshr};
  if (random.percent(15))
    return builder.CreateIntrinsic(Intrinsic::abs, {type}, {scope.value(type), builder.getFalse()});
  if ((bits == 8 || bits == 16 || bits == 32) && random.percent(30))
    return builder.CreateIntrinsic(random.of(kFunnel), {type},
                                   {scope.value(type), scope.value(type), scope.value(type)});
  const bool isWhole = bits == 16 || bits == 32 || bits == 64;
  const Intrinsic::ID id = isWhole && random.percent(30) ? random.of(kWhole) : random.of(kAny);
  return builder.CreateIntrinsic(id, {type}, {scope.value(type), scope.value(type)});
}

Value *threeWayComparison(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  Type *result = Scope::shapedLike(type, builder.getIntNTy(random.percent(50) ? 8 : 32));
  return builder.CreateIntrinsic(random.percent(50) ? Intrinsic::scmp : Intrinsic::ucmp, {result, type},
                                 {scope.value(type), scope.value(type)});
}

} // namespace

Value *integerInstruction(IRBuilder<> &builder, Random &random, Scope &scope) {
  static constexpr Instruction::BinaryOps kPlain[] = {Instruction::Add, Instruction::Sub, Instruction::Mul,
                                                      Instruction::And, Instruction::Or,  Instruction::Xor};
  Type *type = Scope::shapedLike(scope.anyType(), scope.anyInteger());
  const bool isCondition = type->getScalarSizeInBits() == 1;
  const uint64_t kind = isCondition ? 0 : random.below(20);
  if (kind < 10)
    return builder.CreateBinOp(random.of(kPlain), scope.value(type), scope.value(type));
  if (kind < 13)
    return shift(builder, random, scope, type);
  if (kind < 16)
    return division(builder, random, scope, type);
  return kind < 19 ? intrinsic(builder, random, scope, type) : threeWayComparison(builder, random, scope, type);
}

} // namespace tegula::ptx_fuzz
