// SPDX-License-Identifier: MIT
#include "compiler/ptx/Selection.h"

#include "llvm/IR/InstrTypes.h"

namespace tegula::ptx {

using namespace llvm;

static std::string conversion(const Twine &to, const Twine &from) {
  return ("cvt." + to + "." + from + " $0, $1").str();
}

constexpr unsigned kExactBits = 24; ///< f32 holds each integer of this size.

/// Returns a type name such as `s32` or `u64`.
static std::string integerOf(RegisterClass registerClass, bool isSigned) {
  return ((isSigned ? "s" : "u") + Twine(bitsOf(registerClass))).str();
}

/// Converts an integer between register sizes. The value must already fill its register.
Operand Selection::resize(Operand x, RegisterClass from, RegisterClass to, bool isSigned) {
  if (from == to)
    return x;
  if (!x.isRegister()) {
    APInt whole(bitsOf(from), static_cast<uint64_t>(x.number), /*isSigned=*/false, /*implicitTrunc=*/true);
    return Operand::ofInteger(
        (isSigned ? whole.sextOrTrunc(bitsOf(to)) : whole.zextOrTrunc(bitsOf(to))).getSExtValue());
  }
  bool isSmaller = bitsOf(to) < bitsOf(from);
  return emit(conversion(integerOf(to, isSigned && !isSmaller), integerOf(from, isSigned && !isSmaller)), to, x);
}

Operand Selection::lowestBit(Operand x, RegisterClass from) {
  x = emit("and." + toString(from) + " $0, $1, 1", from, x);
  return emit("setp.ne." + toString(from) + " $0, $1, 0", RegisterClass::pred, x);
}

/// Converts a condition to any type.
Operand Selection::convertCondition(CastInst &cast, Type *type, Operand x) {
  RegisterClass to = classOf(type);
  bool isSigned = isa<SExtInst, SIToFPInst>(cast);
  if (isa<ZExtInst, SExtInst>(cast))
    return emit("selp." + toString(to) + " $0, $1, $2, $3", to,
                {Operand::ofInteger(isSigned ? -1 : 1), Operand::ofInteger(0), x});
  constexpr int64_t kOne = 0x3f800000, kMinusOne = 0xbf800000;
  Operand one = {Operand::Kind::f32, isSigned ? kMinusOne : kOne};
  return narrow(emit("selp.b32 $0, $1, $2, $3", RegisterClass::b32, {one, Operand{Operand::Kind::f32, 0}, x}), type);
}

/// Converts an integer to f32. If f32 cannot hold it, the last bit becomes 1, so that rounding the result to bf16 gives
/// the same as one rounding. f16 needs none of this: what f32 cannot hold is infinite in f16.
Operand Selection::roundToOdd(RegisterClass from, bool isSigned, Operand x) {
  std::string integer = integerOf(from, isSigned);
  Operand rounded = emit(conversion("rz.f32", integer), RegisterClass::b32, x);
  Operand back = emit(conversion("rzi." + integer, "f32"), from, rounded);
  Operand isInexact = emit("setp.ne." + toString(from) + " $0, $1, $2", RegisterClass::pred, {back, x});
  Operand odd = emit("or.b32 $0, $1, 1", RegisterClass::b32, rounded);
  return emit("selp.b32 $0, $1, $2, $3", RegisterClass::b32, {odd, rounded, isInexact});
}

Operand Selection::computeCast(CastInst &cast, Type *type, Operand x) {
  Type *source = cast.getSrcTy()->getScalarType();
  RegisterClass from = classOf(source), to = classOf(type);
  if (from == RegisterClass::pred)
    return convertCondition(cast, type, x);
  if (to == RegisterClass::pred && !isa<TruncInst>(cast))
    return refuse(Twine("the instruction ") + cast.getOpcodeName() + " to one bit");
  switch (cast.getOpcode()) {
  case Instruction::Trunc:
    if (to != RegisterClass::pred)
      return resize(x, from, to, /*isSigned=*/false);
    return lowestBit(x, from);
  case Instruction::ZExt:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr:
    return resize(extended(x, source, /*isSigned=*/false), from, to, /*isSigned=*/false);
  case Instruction::SExt:
    return resize(extended(x, source, /*isSigned=*/true), from, to, /*isSigned=*/true);
  case Instruction::FPTrunc:
    return narrow(x, type);
  case Instruction::FPExt:
    return widen(x, source);
  case Instruction::SIToFP:
  case Instruction::UIToFP: {
    bool isSigned = cast.getOpcode() == Instruction::SIToFP;
    x = extended(x, source, isSigned);
    if (type->isBFloatTy() && bitsOf(from) > kExactBits)
      return narrow(roundToOdd(from, isSigned, x), type);
    return narrow(emit(conversion("rn.f32", integerOf(from, isSigned)), RegisterClass::b32, x), type);
  }
  case Instruction::FPToSI:
  case Instruction::FPToUI: {
    bool isSigned = cast.getOpcode() == Instruction::FPToSI;
    return emit(conversion("rzi." + integerOf(to, isSigned), "f32"), to, widen(x, source));
  }
  default:
    return refuse(Twine("the instruction ") + cast.getOpcodeName());
  }
}

/// Widens a literal. No instruction takes one of 16 bits.
static Operand widenLiteral(Operand literal, Type *type) {
  APFloat real(type->getFltSemantics(), APInt(16, static_cast<uint64_t>(literal.number), /*isSigned=*/false,
                                              /*implicitTrunc=*/true));
  bool isInexact = false;
  real.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &isInexact);
  return {Operand::Kind::f32, static_cast<int64_t>(real.bitcastToAPInt().getZExtValue())};
}

Operand Selection::widen(Operand narrow, Type *type) {
  if (!type->is16bitFPTy())
    return narrow;
  if (!narrow.isRegister())
    return widenLiteral(narrow, type);
  return emit(type->isHalfTy() ? "cvt.f32.f16 $0, $1" : "cvt.f32.bf16 $0, $1", RegisterClass::b32, narrow);
}

Operand Selection::narrow(Operand wide, Type *type) {
  if (!type->is16bitFPTy())
    return wide;
  return emit(type->isHalfTy() ? "cvt.rn.f16.f32 $0, $1" : "cvt.rn.bf16.f32 $0, $1", RegisterClass::b16, wide);
}

} // namespace tegula::ptx
