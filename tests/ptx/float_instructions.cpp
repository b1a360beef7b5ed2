// SPDX-License-Identifier: MIT
#include "ptx/random_instruction.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

Value *arithmetic(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  static constexpr Instruction::BinaryOps kBinary[] = {Instruction::FAdd, Instruction::FSub, Instruction::FMul,
                                                       Instruction::FDiv};
  const Instruction::BinaryOps opcode = random.of(kBinary);
  const bool isReciprocal = opcode == Instruction::FDiv && random.percent(20);
  Value *x = isReciprocal ? ConstantFP::get(type, 1.0) : scope.value(type);
  return builder.CreateBinOp(opcode, x, scope.value(type));
}

Value *unaryIntrinsic(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  static constexpr Intrinsic::ID kUnary[] = {Intrinsic::sqrt,  Intrinsic::fabs, Intrinsic::floor,    Intrinsic::ceil,
                                             Intrinsic::trunc, Intrinsic::rint, Intrinsic::roundeven};
  return builder.CreateUnaryIntrinsic(random.of(kUnary), scope.value(type));
}

Value *binaryIntrinsic(IRBuilder<> &builder, Random &random, Scope &scope, Type *type) {
  static constexpr Intrinsic::ID kBinary[] = {Intrinsic::minnum,  Intrinsic::maxnum,     Intrinsic::minimum,
                                              Intrinsic::maximum, Intrinsic::minimumnum, Intrinsic::maximumnum};
  return builder.CreateBinaryIntrinsic(random.of(kBinary), scope.value(type), scope.value(type));
}

/// The sign comes from a float that is not an arbitrary NaN.
Value *copiedSign(IRBuilder<> &builder, Scope &scope, Type *type) {
  Value *sign = scope.realOf(scope.bitsOf(scope.value(type)), type);
  return builder.CreateBinaryIntrinsic(Intrinsic::copysign, scope.value(type), sign);
}

Value *approximation(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = builder.getFloatTy();
  Value *x = scope.value(type);
  switch (random.below(4)) {
  case 0:
    return builder.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz, {type}, {x});
  case 1:
    return builder.CreateIntrinsic(Intrinsic::nvvm_lg2_approx_ftz_f, {}, {x});
  case 2:
    return builder.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x});
  default:
    return builder.CreateIntrinsic(Intrinsic::nvvm_div_full, {}, {x, scope.value(type)});
  }
}

} // namespace

Value *floatInstruction(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = Scope::shapedLike(scope.anyType(), scope.anyFloat());
  const uint64_t kind = random.below(20);
  if (kind < 8)
    return arithmetic(builder, random, scope, type);
  if (kind < 10)
    return builder.CreateIntrinsic(Intrinsic::fma, {type}, {scope.value(type), scope.value(type), scope.value(type)});
  if (kind < 12)
    return builder.CreateFNeg(scope.value(type));
  if (kind < 15)
    return unaryIntrinsic(builder, random, scope, type);
  if (kind < 18)
    return binaryIntrinsic(builder, random, scope, type);
  return kind < 19 ? copiedSign(builder, scope, type) : approximation(builder, random, scope);
}

} // namespace tegula::ptx_fuzz
