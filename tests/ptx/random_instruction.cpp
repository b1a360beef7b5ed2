// SPDX-License-Identifier: MIT
#include "ptx/random_instruction.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

Value *comparison(IRBuilder<> &builder, Random &random, Scope &scope) {
  if (random.percent(40)) {
    Type *type = Scope::shapedLike(scope.anyType(), scope.anyFloat());
    auto predicate = static_cast<CmpInst::Predicate>(
        CmpInst::FIRST_FCMP_PREDICATE + random.below(CmpInst::LAST_FCMP_PREDICATE - CmpInst::FIRST_FCMP_PREDICATE + 1));
    return builder.CreateFCmp(predicate, scope.value(type), scope.value(type));
  }
  Type *type = Scope::shapedLike(scope.anyType(), scope.anyInteger());
  if (type->getScalarSizeInBits() == 1) // LLVM rewrites the order of conditions as logic.
    return builder.CreateICmp(random.percent(50) ? CmpInst::ICMP_EQ : CmpInst::ICMP_NE, scope.value(type),
                              scope.value(type));
  auto predicate = static_cast<CmpInst::Predicate>(
      CmpInst::FIRST_ICMP_PREDICATE + random.below(CmpInst::LAST_ICMP_PREDICATE - CmpInst::FIRST_ICMP_PREDICATE + 1));
  return builder.CreateICmp(predicate, scope.value(type), scope.value(type));
}

Value *selection(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *type = scope.anyType(), *condition = builder.getInt1Ty();
  if (random.percent(50))
    condition = Scope::shapedLike(type, condition);
  return builder.CreateSelect(scope.value(condition), scope.value(type), scope.value(type));
}

/// Takes a vector apart, or puts one together.
Value *vectorInstruction(IRBuilder<> &builder, Random &random, Scope &scope) {
  Type *scalar = random.percent(50) ? scope.anyInteger() : scope.anyFloat();
  FixedVectorType *type = Scope::vectorOf(scalar);
  scalar = type->getElementType();
  const unsigned count = type->getNumElements();
  Value *vector = scope.value(type);
  switch (random.below(3)) {
  case 0:
    return builder.CreateExtractElement(vector, random.below(count));
  case 1:
    return builder.CreateInsertElement(vector, scope.value(scalar), random.below(count));
  default:
    SmallVector<int> mask;
    for (unsigned i = 0; i < count; ++i)
      mask.push_back(static_cast<int>(random.below(2 * count)));
    return builder.CreateShuffleVector(vector, scope.value(type), mask);
  }
}

} // namespace

void addRandomInstruction(IRBuilder<> &builder, Random &random, Scope &scope) {
  using Make = Value *(*)(IRBuilder<> &, Random &, Scope &);
  static constexpr Make kKinds[] = {
      integerInstruction, integerInstruction,    integerInstruction,    floatInstruction,  floatInstruction, comparison,
      selection,          conversionInstruction, conversionInstruction, vectorInstruction, peepholeForm};
  scope.add(random.of(kKinds)(builder, random, scope));
}

} // namespace tegula::ptx_fuzz
