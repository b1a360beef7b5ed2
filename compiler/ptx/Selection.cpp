// SPDX-License-Identifier: MIT
#include "compiler/ptx/Selection.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace tegula::ptx {

using namespace llvm;

Status Selection::run() {
  code_.blocks.resize(kernel_.size());
  for (BasicBlock &block : kernel_) {
    numbers_[&block] = static_cast<unsigned>(numbers_.size());
    for (PHINode &phi : block.phis())
      prepare(phi);
  }
  block_ = &code_.blocks.front();
  loadParameters();
  locateShared();
  // In this order, a definition comes before its uses, except uses by phis.
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&kernel_))
    select(*block);
  return std::move(status_);
}

Operand Selection::refuse(const Twine &what) {
  if (status_.ok())
    status_ = Status(ErrorCode::internal, ("cannot print PTX for " + what).str());
  return Operand();
}

//===-- Lines ----------------------------------------------------------------------------------------------------===//

void Selection::append(const Twine &text, Operands operands, unsigned results) {
  block_->lines.push_back({code_.keep(text), code_.keep(operands), results, /*isCopy=*/false, place_});
}

Operand Selection::emit(const Twine &text, RegisterClass result, Operands read) {
  SmallVector<Operand, 4> operands = {newRegister(result)};
  append_range(operands, read);
  append(text + ";", operands, 1);
  return operands.front();
}

void Selection::copy(Operand to, Operand from) {
  block_->lines.push_back({"", code_.keep({to, from}), 1, /*isCopy=*/true, place_});
}

//===-- Parameters -----------------------------------------------------------------------------------------------===//

std::string Selection::parameterName(const Argument &parameter) const {
  return (kernel_.getName() + "_param_" + Twine(parameter.getArgNo())).str();
}

void Selection::loadParameters() {
  for (Argument &argument : kernel_.args()) {
    RegisterClass registerClass = classOf(argument.getType());
    std::string name = parameterName(argument);
    if (argument.use_empty() || argument.hasByValAttr())
      continue;
    if (argument.getType()->getScalarSizeInBits() < 32)
      refuse("a parameter of less than 32 bits");
    define(&argument, emit("ld.param." + toString(registerClass) + " $0, [" + name + "]", registerClass, {}));
  }
}

/// Keeps the address of shared memory in a register. From sm_90 on, the address depends on the thread block's rank in
/// its cluster. ptxas would read a special register wherever the address is needed. It keeps the sum of the address and
/// a number that it does not know to be 0.
void Selection::locateShared() {
  constexpr StringLiteral unknownZero = "shr.u32 $0, $1, 31"; // No grid has 2^31 blocks.
  if (target_.number < 90)
    return;
  for (GlobalVariable &variable : kernel_.getParent()->globals()) {
    Operand address = emit("mov.b32 $0, " + variable.getName(), RegisterClass::b32, {});
    Operand program = emit("mov.u32 $0, %ctaid.x", RegisterClass::b32, {});
    Operand zero = emit(unknownZero, RegisterClass::b32, program);
    define(&variable, emit("add.s32 $0, $1, $2", RegisterClass::b32, {address, zero}));
  }
}

//===-- Blocks ---------------------------------------------------------------------------------------------------===//

void Selection::select(BasicBlock &block) {
  block_ = &code_.blocks[numbers_[&block]];
  for (BasicBlock *successor : successors(&block))
    block_->successors.push_back(numbers_[successor]);
  beginPhis(block);
  for (Instruction &instruction : block) {
    if (const DebugLoc &place = instruction.getDebugLoc())
      place_ = place.get();
    if (instruction.isTerminator())
      endPhis(block);
    select(instruction);
  }
  for (Value *value : computedHere_)
    values_.erase(value);
  computedHere_.clear();
  interleaved_.clear();
}

/// Gives a phi two sets of registers: its own, and one for incoming values. Only the blocks before the phi write the
/// incoming set, and only the phi's block reads it. No copy can therefore overwrite a value that another copy needs.
/// Most of the pairs are coalesced.
void Selection::prepare(PHINode &phi) {
  SmallVector<Operand> own, incoming;
  for (RegisterClass registerClass : classesOf(phi.getType())) {
    own.push_back(newRegister(registerClass));
    incoming.push_back(newRegister(registerClass));
  }
  define(&phi, own);
  incoming_[&phi] = code_.keep(incoming);
}

void Selection::beginPhis(BasicBlock &block) {
  for (PHINode &phi : block.phis())
    for (auto [own, incoming] : zip_equal(elements(&phi), incoming_[&phi]))
      copy(own, incoming);
}

void Selection::endPhis(BasicBlock &block) {
  SmallVector<BasicBlock *> targets(successors(&block));
  for (BasicBlock *target : SetVector<BasicBlock *>(targets.begin(), targets.end()))
    for (PHINode &phi : target->phis())
      for (auto [incoming, value] : zip_equal(incoming_[&phi], elements(phi.getIncomingValueForBlock(&block))))
        copy(incoming, value);
}

Operand Selection::labelOf(BasicBlock *block) const { return {Operand::Kind::label, numbers_.lookup(block)}; }

void Selection::selectBranch(BranchInst &branch) {
  unsigned next = numbers_[branch.getParent()] + 1;
  auto follows = [&](unsigned i) { return numbers_[branch.getSuccessor(i)] == next; };
  if (branch.isUnconditional()) {
    if (!follows(0))
      append("bra.uni $0;", labelOf(branch.getSuccessor(0)), 0);
    return;
  }
  append("@$0 bra $1;", {readable(branch.getCondition()), labelOf(branch.getSuccessor(0))}, 0);
  if (!follows(1))
    append("bra.uni $0;", labelOf(branch.getSuccessor(1)), 0);
}

void Selection::selectSwitch(SwitchInst &instruction) {
  Type *type = instruction.getCondition()->getType();
  const bool isCondition = type->isIntegerTy(1);
  Operand value = isCondition ? readable(instruction.getCondition())
                              : extended(scalar(instruction.getCondition()), type, /*isSigned=*/false);
  for (auto &choice : instruction.cases()) {
    if (isCondition) {
      Operand isCase = choice.getCaseValue()->isOne() ? value : emit("not.pred $0, $1", RegisterClass::pred, {value});
      append("@$0 bra $1;", {isCase, labelOf(choice.getCaseSuccessor())}, 0);
      continue;
    }
    Operand number = extended(Operand::ofInteger(choice.getCaseValue()->getSExtValue()), type, /*isSigned=*/false);
    Operand isEqual = emit("setp.eq." + toString(classOf(type)) + " $0, $1, $2", RegisterClass::pred, {value, number});
    append("@$0 bra $1;", {isEqual, labelOf(choice.getCaseSuccessor())}, 0);
  }
  append("bra.uni $0;", labelOf(instruction.getDefaultDest()), 0);
}

//===-- Instructions ---------------------------------------------------------------------------------------------===//

void Selection::select(Instruction &instruction) {
  if (isa<PHINode>(instruction))
    return;
  if (auto *branch = dyn_cast<BranchInst>(&instruction))
    return selectBranch(*branch);
  if (auto *choice = dyn_cast<SwitchInst>(&instruction))
    return selectSwitch(*choice);
  if (isa<ReturnInst, UnreachableInst>(instruction))
    return append(isa<ReturnInst>(instruction) ? "ret;" : "trap;", {}, 0);
  if (isa<FreezeInst>(instruction))
    return selectFreeze(instruction);
  if (isa<BitCastInst>(instruction))
    return selectBitcast(instruction);
  if (comparesPairs(instruction))
    return comparePairs(cast<CmpInst>(instruction));
  if (shufflesBytes(instruction))
    return shuffleBytes(cast<ShuffleVectorInst>(instruction));
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return selectIntrinsic(*call);
  if (auto *call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm())
    return selectAssembly(*call);
  if (!selectAggregate(instruction))
    selectElementwise(instruction);
}

/// Selects an instruction that only determines the operands that a value consists of. Returns false for any other
/// instruction.
bool Selection::selectAggregate(Instruction &instruction) {
  if (auto *extract = dyn_cast<ExtractValueInst>(&instruction); extract && extract->getNumIndices() == 1) {
    define(extract, elements(extract->getAggregateOperand()).slice(extract->getIndices().front(), 1));
  } else if (auto *insert = dyn_cast<InsertValueInst>(&instruction); insert && insert->getNumIndices() == 1) {
    SmallVector<Operand> all(elements(insert->getAggregateOperand()));
    all[insert->getIndices().front()] = scalar(insert->getInsertedValueOperand());
    define(insert, all);
  } else if (auto *insert = dyn_cast<InsertElementInst>(&instruction);
             insert && isa<ConstantInt>(insert->getOperand(2))) {
    SmallVector<Operand> all(elements(insert->getOperand(0)));
    all[cast<ConstantInt>(insert->getOperand(2))->getZExtValue()] = scalar(insert->getOperand(1));
    define(insert, all);
  } else if (auto *take = dyn_cast<ExtractElementInst>(&instruction);
             take && isa<ConstantInt>(take->getIndexOperand())) {
    auto index = cast<ConstantInt>(take->getIndexOperand())->getZExtValue();
    define(take, elements(take->getVectorOperand()).slice(index, 1));
  } else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction)) {
    SmallVector<Operand> both(elements(shuffle->getOperand(0))), chosen;
    append_range(both, elements(shuffle->getOperand(1)));
    for (int index : shuffle->getShuffleMask())
      chosen.push_back(index < 0 ? Operand() : both[index]);
    define(shuffle, chosen);
  } else {
    return false;
  }
  return true;
}

/// Gives an undefined value the value 0, which is then the same for all uses.
void Selection::selectFreeze(Instruction &instruction) {
  SmallVector<Operand> all(elements(instruction.getOperand(0)));
  Operand::Kind zero =
      instruction.getType()->getScalarType()->isFloatTy() ? Operand::Kind::f32 : Operand::Kind::integer;
  for (Operand &operand : all)
    if (operand.kind == Operand::Kind::undefined)
      operand = {zero, 0};
  define(&instruction, all);
}

/// Emits inline assembly. A constraint is either a letter, for the class that the operand's type has anyway, or the
/// number of a result that starts with this operand.
void Selection::selectAssembly(CallInst &call) {
  auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  SmallVector<Operand> operands;
  for (RegisterClass registerClass : classesOf(call.getType()))
    operands.push_back(newRegister(registerClass));
  auto results = static_cast<unsigned>(operands.size());
  auto *argument = call.arg_begin();
  // The registers of a left operand may be literals, which wgmma does not take.
  const bool isMma = StringRef(assembly->getAsmString()).contains("wgmma.mma_async");
  for (StringRef constraint : split(assembly->getConstraintString(), ',')) {
    if (constraint.empty() || constraint.starts_with("=") || constraint.starts_with("~"))
      continue;
    Operand read = readable(*argument++);
    unsigned result = 0;
    if (!constraint.getAsInteger(10, result)) {
      copy(operands[result], read);
      read = operands[result];
    } else if (isMma && !read.isRegister()) {
      read = emit("mov.b32 $0, $1", RegisterClass::b32, read);
    }
    operands.push_back(read);
  }
  append(assembly->getAsmString(), operands, results);
  define(&call, ArrayRef(operands).take_front(results));
}

} // namespace tegula::ptx
