// SPDX-License-Identifier: MIT
#include "compiler/ptx/Selection.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

namespace tegula::ptx {

using namespace llvm;
using namespace llvm::PatternMatch;

/// Gives an undefined operand the value 0, in the spelling of its type.
static Operand spelled(Operand operand, Type *type) {
  if (operand.kind != Operand::Kind::undefined)
    return operand;
  return {type->getScalarType()->isFloatTy() ? Operand::Kind::f32 : Operand::Kind::integer, 0};
}

void Selection::selectElementwise(Instruction &instruction) {
  if (instruction.getType()->isVoidTy())
    return void(refuse(Twine("the instruction ") + instruction.getOpcodeName()));
  SmallVector<Operand> results;
  Type *type = instruction.getType()->getScalarType();
  size_t count = classesOf(instruction.getType()).size();
  for (size_t i = 0; i < count; ++i) {
    SmallVector<Operand, 3> operands;
    auto *call = dyn_cast<CallInst>(&instruction);
    for (Value *operand : call ? call->args() : instruction.operands()) {
      Operands all = elements(operand);
      operands.push_back(spelled(all[all.size() == 1 ? 0 : i], operand->getType()));
    }
    results.push_back(compute(instruction, type, operands));
  }
  define(&instruction, results);
}

Operand Selection::compute(Instruction &instruction, Type *type, Operands operands) {
  if (instruction.isBinaryOp())
    return computeBinary(instruction, type, operands[0], operands[1]);
  if (instruction.isCast())
    return computeCast(cast<CastInst>(instruction), type, operands[0]);
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return computeGeneric(*call, type, operands.take_front(call->arg_size()));
  if (auto *comparison = dyn_cast<CmpInst>(&instruction))
    return compare(*comparison, operands[0], operands[1]);
  if (isa<SelectInst>(instruction))
    return choose(type, operands[0], operands[1], operands[2]);
  if (instruction.getOpcode() == Instruction::FNeg && type->is16bitFPTy())
    return emit("xor.b16 $0, $1, $2", RegisterClass::b16, {operands[0], Operand::ofInteger(kSign16)});
  if (instruction.getOpcode() == Instruction::FNeg)
    return emit("neg.f32 $0, $1", RegisterClass::b32, operands[0]);
  return refuse(Twine("the instruction ") + instruction.getOpcodeName());
}

//===-- Two operands ---------------------------------------------------------------------------------------------===//

namespace {

enum class Extension { none, zeros, sign }; ///< The bits beyond a narrow integer.

struct Spelling {
  unsigned opcode;
  StringLiteral name; ///< The number of bits follows.
  Extension extension = Extension::none;
};

constexpr Spelling kBinary[] = {
    {Instruction::Add, "add.s"},
    {Instruction::Sub, "sub.s"},
    {Instruction::Mul, "mul.lo.s"},
    {Instruction::Shl, "shl.b"},
    {Instruction::And, "and.b"},
    {Instruction::Or, "or.b"},
    {Instruction::Xor, "xor.b"},
    {Instruction::UDiv, "div.u", Extension::zeros},
    {Instruction::URem, "rem.u", Extension::zeros},
    {Instruction::LShr, "shr.u", Extension::zeros},
    {Instruction::SDiv, "div.s", Extension::sign},
    {Instruction::SRem, "rem.s", Extension::sign},
    {Instruction::AShr, "shr.s", Extension::sign},
    {Instruction::FAdd, "add.rn.f"},
    {Instruction::FSub, "sub.rn.f"},
    {Instruction::FMul, "mul.rn.f"},
};

/// Instructions on conditions. Arithmetic on one bit is logic.
constexpr Spelling kLogic[] = {
    {Instruction::And, "and.pred $0, $1, $2"}, {Instruction::Mul, "and.pred $0, $1, $2"},
    {Instruction::Or, "or.pred $0, $1, $2"},   {Instruction::Xor, "xor.pred $0, $1, $2"},
    {Instruction::Add, "xor.pred $0, $1, $2"}, {Instruction::Sub, "xor.pred $0, $1, $2"},
};

const Spelling *find(ArrayRef<Spelling> all, unsigned opcode) {
  auto *found = find_if(all, [&](const Spelling &one) { return one.opcode == opcode; });
  return found == all.end() ? nullptr : found;
}

} // namespace

/// Returns true for the 64-bit product of a word and a number of 32 bits whose upper half is used. ptxas adds a 0 to
/// the upper half if it does not know that both factors are words.
static bool isProductOfWords(Instruction &product) {
  Value *word = nullptr;
  const APInt *number = nullptr;
  return product.getType()->getScalarType()->isIntegerTy(64) &&
         match(&product, m_Mul(m_ZExt(m_Value(word)), m_APInt(number))) && number->isIntN(32) &&
         word->getType()->getScalarType()->isIntegerTy(32) &&
         any_of(product.users(), [](User *user) { return match(user, m_LShr(m_Value(), m_SpecificInt(32))); });
}

Operand Selection::computeBinary(Instruction &instruction, Type *type, Operand a, Operand b) {
  unsigned opcode = instruction.getOpcode();
  RegisterClass registerClass = classOf(type);
  if (isProductOfWords(instruction)) {
    auto word = [&](Operand x) { return resize(x, RegisterClass::b64, RegisterClass::b32, /*isSigned=*/false); };
    return emit("mul.wide.u32 $0, $1, $2", registerClass, {word(a), word(b)});
  }
  bool isCondition = registerClass == RegisterClass::pred;
  if (type->isFloatingPointTy())
    a = widen(a, type), b = widen(b, type);
  if (opcode == Instruction::FDiv)
    return narrow(divideFloats(a, b), type);
  const Spelling *spelling = find(isCondition ? ArrayRef(kLogic) : ArrayRef(kBinary), opcode);
  if (!spelling)
    return refuse(Twine("the instruction ") + instruction.getOpcodeName());
  if (isCondition && opcode == Instruction::Xor && b.isLiteral(1))
    return emit("not.pred $0, $1", registerClass, a);
  if (isCondition)
    return emit(spelling->name, registerClass, {a, b});
  if (type->isFloatingPointTy())
    return narrow(emit(spelling->name + "32 $0, $1, $2", RegisterClass::b32, {a, b}), type);
  if (spelling->extension != Extension::none) {
    a = extended(a, type, spelling->extension == Extension::sign);
    b = extended(b, type, spelling->extension == Extension::sign);
  }
  if (instruction.isIntDivRem() && b.kind == Operand::Kind::integer && std::abs(b.number) > 1)
    return divide(opcode, registerClass, a, b.number);
  if (instruction.isShift())
    b = resize(extended(b, type, /*isSigned=*/false), registerClass, RegisterClass::b32, /*isSigned=*/false);
  return emit(spelling->name + Twine(bitsOf(registerClass)) + " $0, $1, $2", registerClass, {a, b});
}

/// Divides f32.
Operand Selection::divideFloats(Operand a, Operand b) {
  constexpr int64_t kOne = 0x3f800000;
  if (a.kind == Operand::Kind::f32 && a.number == kOne)
    return emit("rcp.rn.f32 $0, $1", RegisterClass::b32, b);
  return emit("div.rn.f32 $0, $1, $2", RegisterClass::b32, {a, b});
}

//===-- Comparisons and choices ----------------------------------------------------------------------------------===//

/// Returns the name of a predicate in PTX. LLVM puts the letter of an unordered comparison in front, PTX puts it at the
/// end. PTX has no letter for ordered ones, and expresses signedness by the type.
static std::string nameOf(CmpInst::Predicate predicate) {
  StringRef name = CmpInst::getPredicateName(predicate);
  if (predicate == CmpInst::FCMP_ORD || predicate == CmpInst::FCMP_UNO)
    return predicate == CmpInst::FCMP_ORD ? "num" : "nan";
  bool isUnordered = CmpInst::isFPPredicate(predicate) && name.front() == 'u';
  return (name.take_back(2) + (isUnordered ? "u" : "")).str();
}

Operand Selection::compare(CmpInst &comparison, Operand a, Operand b) {
  Type *type = comparison.getOperand(0)->getType()->getScalarType();
  RegisterClass registerClass = classOf(type);
  std::string name = nameOf(comparison.getPredicate());
  if (comparison.getPredicate() == CmpInst::FCMP_TRUE || comparison.getPredicate() == CmpInst::FCMP_FALSE)
    return Operand::ofInteger(comparison.getPredicate() == CmpInst::FCMP_TRUE);
  if (registerClass == RegisterClass::pred) {
    if (!comparison.isEquality())
      return refuse("the order of conditions");
    Operand differ = emit("xor.pred $0, $1, $2", registerClass, {a, b});
    return name == "ne" ? differ : emit("not.pred $0, $1", registerClass, differ);
  }
  if (type->isFloatingPointTy())
    return emit("setp." + name + ".f32 $0, $1, $2", RegisterClass::pred, {widen(a, type), widen(b, type)});
  bool isSigned = comparison.isSigned();
  StringRef letter = comparison.isEquality() ? "b" : isSigned ? "s" : "u";
  return emit("setp." + name + "." + letter + Twine(bitsOf(registerClass)) + " $0, $1, $2", RegisterClass::pred,
              {extended(a, type, isSigned), extended(b, type, isSigned)});
}

bool comparesPairs(const User &user) {
  auto *comparison = dyn_cast<FCmpInst>(&user);
  auto *type = comparison ? dyn_cast<FixedVectorType>(comparison->getOperand(0)->getType()) : nullptr;
  return type && type->getNumElements() == 2 && type->getElementType()->isHalfTy() &&
         comparison->getPredicate() != CmpInst::FCMP_TRUE && comparison->getPredicate() != CmpInst::FCMP_FALSE;
}

void Selection::comparePairs(CmpInst &comparison) {
  SmallVector<Operand, 4> operands = {newRegister(RegisterClass::pred), newRegister(RegisterClass::pred)};
  for (Value *pair : comparison.operands())
    operands.push_back(packed(pair));
  append("setp." + nameOf(comparison.getPredicate()) + ".f16x2 $0|$1, $2, $3;", operands, 2);
  define(&comparison, ArrayRef(operands).take_front(2));
}

Operand Selection::choose(Type *type, Operand condition, Operand yes, Operand no) {
  RegisterClass registerClass = classOf(type);
  if (registerClass != RegisterClass::pred)
    return emit("selp." + (type->isFloatTy() ? "f32" : toString(registerClass)) + " $0, $1, $2, $3", registerClass,
                {yes, no, condition});
  if (yes.isLiteral(1))
    return emit("or.pred $0, $1, $2", registerClass, {condition, no});
  if (no.isLiteral(0))
    return emit("and.pred $0, $1, $2", registerClass, {condition, yes});
  Operand isNot = emit("not.pred $0, $1", registerClass, condition);
  return emit("or.pred $0, $1, $2", registerClass,
              {emit("and.pred $0, $1, $2", registerClass, {condition, yes}),
               emit("and.pred $0, $1, $2", registerClass, {isNot, no})});
}

} // namespace tegula::ptx
