// SPDX-License-Identifier: MIT
#include "compiler/ptx/Selection.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

namespace tegula::ptx {

using namespace llvm;

StringRef toString(RegisterClass registerClass) {
  static constexpr StringLiteral names[] = {"pred", "b16", "b32", "b64"};
  return names[static_cast<size_t>(registerClass)];
}

unsigned bitsOf(RegisterClass registerClass) {
  static constexpr unsigned bits[] = {1, 16, 32, 64};
  return bits[static_cast<size_t>(registerClass)];
}

static std::string describe(const Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text;
}

static std::string describe(const Type &type) {
  std::string text;
  raw_string_ostream(text) << type;
  return text;
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

RegisterClass Selection::classOf(Type *type) {
  unsigned bits = type->getScalarSizeInBits();
  if (type->isPointerTy())
    bits = type->getPointerAddressSpace() == kSharedMemory ? 32 : 64;
  else if (!type->isIntegerTy() && !type->isFloatTy() && !type->is16bitFPTy())
    bits = 0;
  if (bits == 0 || bits > 64)
    refuse("the type " + describe(*type));
  if (bits == 1)
    return RegisterClass::pred;
  return bits <= 16 ? RegisterClass::b16 : bits <= 32 ? RegisterClass::b32 : RegisterClass::b64;
}

SmallVector<RegisterClass> Selection::classesOf(Type *type) {
  SmallVector<RegisterClass> classes;
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return SmallVector<RegisterClass>(vector->getNumElements(), classOf(vector->getElementType()));
  if (!type->isStructTy() && !type->isVoidTy())
    return {classOf(type)};
  for (Type *member : type->subtypes())
    classes.push_back(classOf(member));
  return classes;
}

//===-- Operands -------------------------------------------------------------------------------------------------===//

void Selection::define(Value *value, Operands operands) { values_[value] = code_.keep(operands); }

ArrayRef<Operand> Selection::elements(Value *value) {
  if (auto known = values_.find(value); known != values_.end())
    return known->second;
  if (auto *constant = dyn_cast<Constant>(value))
    return elementsOf(constant);
  if (auto *argument = dyn_cast<Argument>(value); argument && argument->hasByValAttr())
    return addressOf(argument);
  refuse("the value " + describe(*value));
  define(value, SmallVector<Operand>(classesOf(value->getType()).size()));
  return values_[value];
}

Operand Selection::readable(Value *value) {
  Operand operand = scalar(value);
  if (!value->getType()->isIntegerTy(1) || operand.isRegister())
    return operand;
  return emit("mov.pred $0, $1", RegisterClass::pred, operand);
}

static Operand literalOf(const Constant &constant) {
  if (auto *integer = dyn_cast<ConstantInt>(&constant))
    return Operand::ofInteger(integer->getBitWidth() == 1 ? integer->isOne() : integer->getSExtValue());
  if (auto *real = dyn_cast<ConstantFP>(&constant)) {
    auto bits = static_cast<int64_t>(real->getValueAPF().bitcastToAPInt().getZExtValue());
    return {constant.getType()->isFloatTy() ? Operand::Kind::f32 : Operand::Kind::integer, bits};
  }
  return isa<ConstantPointerNull>(constant) ? Operand::ofInteger(0) : Operand();
}

/// Returns the elements of a constant. Literals stay valid for the whole kernel, computed constants for this block
/// only.
ArrayRef<Operand> Selection::elementsOf(Constant *constant) {
  Type *type = constant->getType();
  if (isa<GlobalVariable>(constant)) {
    RegisterClass registerClass = classOf(type);
    define(constant, emit("mov." + toString(registerClass) + " $0, " + constant->getName(), registerClass, {}));
    computedHere_.push_back(constant);
  } else if (auto *expression = dyn_cast<ConstantExpr>(constant)) {
    Instruction *instruction = expression->getAsInstruction();
    select(*instruction);
    define(constant, SmallVector<Operand>(elements(instruction)));
    values_.erase(instruction);
    instruction->deleteValue();
    computedHere_.push_back(constant);
  } else if (type->isVectorTy() || type->isStructTy()) {
    SmallVector<Operand> all;
    for (unsigned i = 0; i < classesOf(type).size(); ++i)
      all.push_back(scalar(constant->getAggregateElement(i)));
    define(constant, all);
    computedHere_.push_back(constant);
  } else {
    define(constant, literalOf(*constant));
    if (!isa<ConstantData>(constant))
      refuse("the constant " + describe(*constant));
  }
  return values_[constant];
}

/// Computes the address for this block only. Otherwise it would take two registers in all earlier loops.
ArrayRef<Operand> Selection::addressOf(Argument *parameter) {
  Operand place = emit("mov.b64 $0, " + parameterName(*parameter), RegisterClass::b64, {});
  define(parameter, emit("cvta.param.u64 $0, $1", RegisterClass::b64, place));
  computedHere_.push_back(parameter);
  return values_[parameter];
}

//===-- Sizes ----------------------------------------------------------------------------------------------------===//

Operand Selection::extended(Operand narrow, Type *type, bool isSigned) {
  RegisterClass registerClass = classOf(type);
  unsigned bits = type->getScalarSizeInBits(), all = bitsOf(registerClass);
  if (type->isPointerTy() || bits == all)
    return narrow;
  int64_t mask = (int64_t{1} << bits) - 1;
  if (!narrow.isRegister())
    return Operand::ofInteger(isSigned ? SignExtend64(static_cast<uint64_t>(narrow.number), bits)
                                       : narrow.number & mask);
  std::string suffix = std::to_string(all) + " $0, $1, $2";
  if (!isSigned)
    return emit("and.b" + suffix, registerClass, {narrow, Operand::ofInteger(mask)});
  Operand count = Operand::ofInteger(all - bits);
  return emit("shr.s" + suffix, registerClass, {emit("shl.b" + suffix, registerClass, {narrow, count}), count});
}

/// Returns `{$FIRST, ...}`.
static std::string listOf(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// Returns true if `mov` packs such a vector into a register of 32 or 64 bits.
static bool isMovable(Type *type) {
  unsigned bits = type->getScalarSizeInBits(), all = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  return (bits == 16 || bits == 32) && bits < all && (all == 32 || all == 64);
}

bool isFourBytes(Type *type) { return type->getScalarSizeInBits() == 8 && type->getPrimitiveSizeInBits() == 32; }

Operand Selection::packed(Value *value) {
  if (auto known = packed_.find(value); known != packed_.end())
    return known->second;
  Type *type = value->getType();
  SmallVector<Operand> all(elements(value));
  if (all.size() == 1)
    return all.front();
  if (isMovable(type)) {
    auto registerClass = type->getPrimitiveSizeInBits() == 32 ? RegisterClass::b32 : RegisterClass::b64;
    return emit("mov." + toString(registerClass) + " $0, " + listOf(1, static_cast<unsigned>(all.size())),
                registerClass, all);
  }
  if (!isFourBytes(type))
    return refuse("packing " + describe(*value));
  for (Operand &element : all)
    element = emit("cvt.u32.u16 $0, $1", RegisterClass::b32, element);
  constexpr StringLiteral lowBytes = "prmt.b32 $0, $1, $2, 0x0040", lowHalves = "prmt.b32 $0, $1, $2, 0x5410";
  Operand low = emit(lowBytes, RegisterClass::b32, {all[0], all[1]});
  return emit(lowHalves, RegisterClass::b32, {low, emit(lowBytes, RegisterClass::b32, {all[2], all[3]})});
}

/// Defines a vector by one register. Its elements are extracted here, where they dominate all uses, unless no user
/// needs them. A constant expression has users that it does not know.
void Selection::definePacked(Instruction &value, Operand whole) {
  Type *type = value.getType();
  packed_[&value] = whole;
  if (value.getParent() && all_of(value.users(), [](User *user) {
        return isa<BitCastInst>(user) || isMachineInstruction(*user) || comparesPairs(*user) || shufflesBytes(*user);
      }))
    return;
  auto count = static_cast<unsigned>(classesOf(type).size());
  if (count == 1)
    return define(&value, whole);
  if (!isMovable(type))
    return defineShifted(value, whole);
  SmallVector<Operand> all;
  for (RegisterClass registerClass : classesOf(type))
    all.push_back(newRegister(registerClass));
  define(&value, all);
  all.push_back(whole);
  append("mov.b" + Twine(type->getPrimitiveSizeInBits()) + " " + listOf(0, count) + ", $" + Twine(count) + ";", all,
         count);
}

/// Defines a vector whose elements are shifted down from their places in a register.
void Selection::defineShifted(Instruction &value, Operand whole) {
  Type *type = value.getType();
  auto all = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  RegisterClass from = classOf(IntegerType::get(type->getContext(), all)), to = classOf(type->getScalarType());
  SmallVector<Operand> elements;
  for (unsigned low = 0; low < all; low += type->getScalarSizeInBits()) {
    Operand element = emit("shr.u" + Twine(bitsOf(from)) + " $0, $1, $2", from, {whole, Operand::ofInteger(low)});
    elements.push_back(to == RegisterClass::pred ? lowestBit(element, from)
                                                 : resize(element, from, to, /*isSigned=*/false));
  }
  define(&value, elements);
}

/// Returns an operand with the same bits. Literals are spelled by their type.
static Operand reinterpreted(Operand operand, Type *type) {
  if (operand.kind == Operand::Kind::integer && type->isFloatTy())
    return {Operand::Kind::f32, operand.number & 0xffffffff};
  if (operand.kind == Operand::Kind::f32 && !type->isFloatTy())
    return Operand::ofInteger(static_cast<int32_t>(operand.number));
  return operand;
}

void Selection::selectBitcast(Instruction &instruction) {
  Value *source = instruction.getOperand(0);
  Type *from = source->getType(), *to = instruction.getType();
  if (from->getScalarSizeInBits() == to->getScalarSizeInBits() && !packed_.contains(source)) {
    SmallVector<Operand> all;
    for (Operand element : elements(source))
      all.push_back(reinterpreted(element, to->getScalarType()));
    return define(&instruction, all);
  }
  Operand whole = from->isVectorTy() ? packed(source) : scalar(source);
  if (to->isVectorTy())
    return definePacked(instruction, whole);
  define(&instruction, reinterpreted(whole, to));
}

} // namespace tegula::ptx
