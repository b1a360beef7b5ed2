// SPDX-License-Identifier: MIT
#include "ptx/scope.h"

#include "ptx/kernel_memory.h"

#include "llvm/IR/InlineAsm.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

Value *guard(Value *value) {
  if (auto *instruction = dyn_cast<Instruction>(value))
    instruction->setMetadata(kGuard, MDNode::get(value->getContext(), {}));
  return value;
}

//===-- Types ----------------------------------------------------------------------------------------------------===//

Type *Scope::anyInteger() {
  static constexpr unsigned kUsual[] = {1, 8, 16, 32, 32, 64}, kRare[] = {4, 12, 24, 48};
  return builder_.getIntNTy(random_.percent(93) ? random_.of(kUsual) : random_.of(kRare));
}

Type *Scope::anyFloat() {
  switch (random_.below(4)) {
  case 0:
    return builder_.getHalfTy();
  case 1:
    return builder_.getBFloatTy();
  default:
    return builder_.getFloatTy();
  }
}

Type *Scope::anyType() {
  Type *scalar = random_.percent(60) ? anyInteger() : anyFloat();
  if (random_.percent(80))
    return scalar;
  return vectorOf(scalar);
}

/// Returns a type of which vectors are simple. LLVM takes vectors of other types apart in memory.
static Type *vectorElement(Type *scalar) {
  const unsigned bits = scalar->getScalarSizeInBits();
  return bits == 1 || (bits >= 8 && isPowerOf2_32(bits)) ? scalar : Type::getInt16Ty(scalar->getContext());
}

FixedVectorType *Scope::vectorOf(Type *scalar) {
  scalar = vectorElement(scalar);
  return FixedVectorType::get(scalar, scalar->isIntegerTy(8) ? 4 : 2);
}

Type *Scope::shapedLike(Type *like, Type *element) {
  auto *vector = dyn_cast<FixedVectorType>(like);
  return vector ? FixedVectorType::get(vectorElement(element), vector->getNumElements()) : element;
}

//===-- Constants ------------------------------------------------------------------------------------------------===//

APInt Scope::interestingBits(unsigned bits) {
  const APInt one(bits, 1);
  switch (random_.below(6)) {
  case 0:
    return APInt(bits, random_.below(9), /*isSigned=*/false, /*implicitTrunc=*/true);
  case 1:
    return -APInt(bits, random_.below(9), /*isSigned=*/false, /*implicitTrunc=*/true);
  case 2:
    return one << static_cast<unsigned>(random_.below(bits));
  case 3:
    return (one << static_cast<unsigned>(random_.below(bits))) - 1;
  case 4:
    return APInt::getSignedMaxValue(bits) + APInt(bits, random_.below(2));
  default:
    return APInt(bits, random_.bits(), /*isSigned=*/false, /*implicitTrunc=*/true);
  }
}

Constant *Scope::scalarConstant(Type *type) {
  if (type->isIntegerTy())
    return ConstantInt::get(type, interestingBits(type->getIntegerBitWidth()));
  static constexpr double kNumbers[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.75, 1e-3, 100.0, 65504.0, 1e-7};
  if (random_.percent(8))
    return ConstantFP::getInfinity(type, random_.percent(50));
  return ConstantFP::get(type, random_.of(kNumbers));
}

Constant *Scope::constant(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return scalarConstant(type);
  SmallVector<Constant *> elements;
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    elements.push_back(scalarConstant(vector->getElementType()));
  return ConstantVector::get(elements);
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

Value *Scope::value(Type *type) {
  if (random_.percent(12))
    return constant(type);
  SmallVector<Value *> fitting;
  for (Value *value : values_)
    if (value->getType() == type)
      fitting.push_back(value);
  if (!fitting.empty() && random_.percent(95)) // Later values depend on more.
    return fitting[std::max(random_.below(fitting.size()), random_.below(fitting.size()))];
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return loadedScalar(type);
  Value *result = PoisonValue::get(type);
  for (uint64_t i = 0; i < vector->getNumElements(); ++i)
    result = guard(builder_.CreateInsertElement(result, value(vector->getElementType()), i));
  values_.push_back(result);
  return result;
}

/// Returns bits in which each NaN of the type `real` is the one that PTX instructions produce.
Value *Scope::canonical(Value *bits, Type *real) {
  Type *type = bits->getType();
  const APInt infinity = APFloat::getInf(real->getFltSemantics()).bitcastToAPInt();
  const APInt nan = APInt::getSignedMaxValue(infinity.getBitWidth());
  Value *magnitude = guard(builder_.CreateAnd(bits, ConstantInt::get(type, nan)));
  Value *isNan = guard(builder_.CreateICmpUGT(magnitude, ConstantInt::get(type, infinity)));
  return guard(builder_.CreateSelect(isNan, ConstantInt::get(type, nan), bits));
}

Value *Scope::bitsOf(Value *real) {
  Type *type = real->getType()->getScalarType();
  Type *integer = shapedLike(real->getType(), builder_.getIntNTy(type->getScalarSizeInBits()));
  return canonical(guard(builder_.CreateBitCast(real, integer)), type);
}

Value *Scope::realOf(Value *bits, Type *type) {
  return guard(builder_.CreateBitCast(canonical(bits, type->getScalarType()), type));
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

CallInst *Scope::assembly(const Twine &text, const Twine &constraints, Type *result, ArrayRef<Value *> operands) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = FunctionType::get(result, types, /*isVarArg=*/false);
  auto *callee = InlineAsm::get(type, text.str(), (constraints + ",~{memory}").str(), /*hasSideEffects=*/true);
  return builder_.CreateCall(callee, operands);
}

/// Returns an address that is a multiple of `bytes`, where as many bytes lie in the input or the output.
Value *Scope::address(unsigned bytes, bool isOutput) {
  const unsigned size = isOutput ? kOutputBytes : kInputBytes;
  Value *base = kernel_.getArg(isOutput ? 1 : 0);
  if (random_.percent(60))
    return builder_.CreateAdd(base, builder_.getInt64(random_.below(size / bytes) * bytes));
  Value *offset = guard(builder_.CreateAnd(value(builder_.getInt32Ty()), builder_.getInt32(size - bytes)));
  return guard(builder_.CreateAdd(base, guard(builder_.CreateZExt(offset, builder_.getInt64Ty()))));
}

/// An element of an access: its register, and its size in memory.
struct Scope::Element {
  Type *type;
  char letter;
  unsigned bits;

  static Element ofBits(IRBuilder<> &builder, unsigned bits) {
    Type *type = builder.getIntNTy(bits < 16 ? 16 : bits);
    return {type, bits == 64 ? 'l' : bits == 32 ? 'r' : 'h', bits};
  }
};

/// Loads 1, 2 or 4 elements, or one on a condition.
void Scope::load() {
  const Element element = Element::ofBits(builder_, 8u << random_.below(4));
  const bool isConditional = random_.percent(25), isOutput = random_.percent(20);
  unsigned count = isConditional ? 1 : 1u << random_.below(3);
  count = std::min(count, 128 / element.bits);
  Value *from = address(element.bits / 8 * count, isOutput);
  const std::string size = (count > 1 ? ".v" + std::to_string(count) : "") + ".b" + std::to_string(element.bits);
  const std::string result = std::string("=") + element.letter;
  if (isConditional) {
    Value *otherwise = asInteger(value(element.type), element.type->getIntegerBitWidth());
    return add(assembly("@$2 ld.global" + size + " $0, [$1];", result + ",l,b,0", element.type,
                        {from, value(builder_.getInt1Ty()), otherwise}));
  }
  if (count == 1)
    return add(assembly("ld.global" + size + " $0, [$1];", result + ",l", element.type, from));
  std::string list, constraints;
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(i), constraints += result + ",";
  Type *type = StructType::get(builder_.getContext(), SmallVector<Type *>(count, element.type));
  Value *all =
      assembly("ld.global" + size + " {" + list + "}, [$" + Twine(count) + "];", constraints + "l", type, from);
  for (unsigned i = 0; i < count; ++i)
    add(builder_.CreateExtractValue(all, i));
}

/// Returns a new value of a scalar type, from memory.
Value *Scope::loadedScalar(Type *type) {
  const unsigned bits = type->getScalarSizeInBits(), size = bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
  const Element element = Element::ofBits(builder_, size);
  Value *loaded = assembly("ld.global.b" + Twine(size) + " $0, [$1];", "=" + Twine(element.letter) + ",l", element.type,
                           address(size / 8, /*isOutput=*/false));
  Value *result = type->isFloatingPointTy() ? realOf(loaded, type) : builder_.CreateTrunc(loaded, type);
  values_.push_back(result);
  return result;
}

/// Returns the bits of a scalar as an integer of at least its size.
Value *Scope::asInteger(Value *scalar, unsigned bits) {
  if (scalar->getType()->isFloatingPointTy())
    scalar = bitsOf(scalar);
  return builder_.CreateZExtOrTrunc(scalar, builder_.getIntNTy(bits));
}

void Scope::store(Value *value) {
  if (auto *vector = dyn_cast<FixedVectorType>(value->getType()))
    value = builder_.CreateExtractElement(value, random_.below(vector->getNumElements()));
  const unsigned bits = value->getType()->getScalarSizeInBits();
  const unsigned size = bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
  const Element element = Element::ofBits(builder_, size);
  Value *data = asInteger(value, element.type->getIntegerBitWidth());
  Value *to = address(size / 8, /*isOutput=*/true);
  const std::string text = "st.global.b" + std::to_string(size) + " [$0], $1;";
  if (random_.percent(20))
    assembly("@$2 " + text, std::string("l,") + element.letter + ",b", builder_.getVoidTy(),
             {to, data, this->value(builder_.getInt1Ty())});
  else
    assembly(text, std::string("l,") + element.letter, builder_.getVoidTy(), {to, data});
}

/// Stores 2 or 4 words at once.
void Scope::storeSeveral() {
  const unsigned count = random_.percent(50) ? 2 : 4;
  SmallVector<Value *> operands = {address(4 * count, /*isOutput=*/true)};
  std::string list, constraints = "l";
  for (unsigned i = 0; i < count; ++i) {
    operands.push_back(value(builder_.getInt32Ty()));
    list += (i ? ", $" : "$") + std::to_string(i + 1), constraints += ",r";
  }
  assembly("st.global.v" + Twine(count) + ".b32 [$0], {" + list + "};", constraints, builder_.getVoidTy(), operands);
}

} // namespace tegula::ptx_fuzz
