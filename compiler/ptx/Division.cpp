// SPDX-License-Identifier: MIT
// Divisions by a constant as multiplications by its reciprocal, as in Hacker's Delight. ptxas does this only for some
// constants.
#include "compiler/ptx/Selection.h"

#include "llvm/Support/DivisionByConstantInfo.h"

namespace tegula::ptx {

using namespace llvm;

Operand Selection::divideUnsigned(RegisterClass registerClass, Operand x, const APInt &divisor) {
  std::string bits = std::to_string(divisor.getBitWidth());
  auto two = [&](StringRef name, Operand a, Operand b) {
    return emit(name + bits + " $0, $1, $2", registerClass, {a, b});
  };
  auto shift = [&](Operand a, unsigned count) { return count ? two("shr.u", a, Operand::ofInteger(count)) : a; };
  if (divisor.isPowerOf2())
    return shift(x, divisor.logBase2());
  auto magic = UnsignedDivisionByConstantInfo::get(divisor, /*LeadingZeros=*/0, /*AllowEvenDivisorOptimization=*/true);
  Operand q = two("mul.hi.u", shift(x, magic.PreShift), Operand::ofInteger(magic.Magic.getSExtValue()));
  if (magic.IsAdd)
    q = two("add.s", shift(two("sub.s", x, q), 1), q);
  return shift(q, magic.PostShift);
}

Operand Selection::divideSigned(RegisterClass registerClass, Operand x, const APInt &divisor) {
  unsigned width = divisor.getBitWidth();
  auto two = [&](const Twine &name, Operand a, Operand b) {
    return emit(name + Twine(width) + " $0, $1, $2", registerClass, {a, b});
  };
  if (divisor.isStrictlyPositive() && divisor.isPowerOf2()) {
    Operand count = Operand::ofInteger(divisor.logBase2());
    Operand isNegative = two("shr.s", x, Operand::ofInteger(width - 1));
    Operand rounding = two("shr.u", isNegative, Operand::ofInteger(width - divisor.logBase2()));
    return two("shr.s", two("add.s", x, rounding), count);
  }
  auto magic = SignedDivisionByConstantInfo::get(divisor);
  Operand q = two("mul.hi.s", x, Operand::ofInteger(magic.Magic.getSExtValue()));
  if (divisor.isStrictlyPositive() && magic.Magic.isNegative())
    q = two("add.s", q, x);
  if (divisor.isNegative() && magic.Magic.isStrictlyPositive())
    q = two("sub.s", q, x);
  if (magic.ShiftAmount)
    q = two("shr.s", q, Operand::ofInteger(magic.ShiftAmount));
  return two("add.s", q, two("shr.u", q, Operand::ofInteger(width - 1)));
}

Operand Selection::divide(unsigned opcode, RegisterClass registerClass, Operand x, int64_t number) {
  bool isSigned = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  unsigned width = bitsOf(registerClass);
  APInt divisor(width, static_cast<uint64_t>(number), isSigned, /*implicitTrunc=*/true);
  Operand quotient = isSigned ? divideSigned(registerClass, x, divisor) : divideUnsigned(registerClass, x, divisor);
  if (opcode == Instruction::SDiv || opcode == Instruction::UDiv)
    return quotient;
  std::string suffix = std::to_string(width) + " $0, $1, $2";
  Operand product = emit("mul.lo.s" + suffix, registerClass, {quotient, Operand::ofInteger(number)});
  return emit("sub.s" + suffix, registerClass, {x, product});
}

} // namespace tegula::ptx
