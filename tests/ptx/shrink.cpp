// SPDX-License-Identifier: MIT
#include "ptx/shrink.h"

#include "ptx/scope.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tegula::ptx_fuzz {

using namespace llvm;

namespace {

constexpr unsigned kEdits = 6; ///< The number of ways to simplify one instruction.

Function &kernelOf(Module &module) { return *module.getFunction("kernel"); }

Instruction *instructionAt(Module &module, unsigned index) {
  for (Instruction &instruction : instructions(kernelOf(module)))
    if (index-- == 0)
      return &instruction;
  return nullptr;
}

/// Replaces a branch by a jump to one of its targets.
bool straighten(Instruction &terminator, unsigned edit) {
  if (edit >= terminator.getNumSuccessors() || terminator.getNumSuccessors() < 2)
    return false;
  BasicBlock *block = terminator.getParent(), *target = terminator.getSuccessor(edit);
  for (BasicBlock *other : SmallVector<BasicBlock *>(successors(block)))
    if (other != target)
      other->removePredecessor(block, /*KeepOneInputPHIs=*/true);
  BranchInst::Create(target, terminator.getIterator());
  terminator.eraseFromParent();
  return true;
}

/// Returns a simpler value for an instruction, or null. The first edits are constants, the others operands.
Value *simplerValue(Instruction &instruction, unsigned edit) {
  Type *type = instruction.getType();
  if (edit == 0)
    return Constant::getNullValue(type);
  if (edit == 1)
    return type->isFPOrFPVectorTy()     ? ConstantFP::get(type, 1.0)
           : type->isIntOrIntVectorTy() ? ConstantInt::get(type, 1)
                                        : nullptr;
  const unsigned operand = edit - 2;
  if (operand >= instruction.getNumOperands() || instruction.getOperand(operand)->getType() != type)
    return nullptr;
  return instruction.getOperand(operand) == &instruction ? nullptr : instruction.getOperand(operand);
}

/// Returns false if the edit does not apply.
bool apply(Instruction &instruction, unsigned edit) {
  if (instruction.isTerminator())
    return straighten(instruction, edit);
  if (instruction.hasMetadata(kGuard))
    return false;
  if (instruction.getType()->isVoidTy() && edit > 0)
    return false;
  if (!instruction.getType()->isVoidTy()) {
    Value *simpler = simplerValue(instruction, edit);
    if (!simpler)
      return false;
    instruction.replaceAllUsesWith(simpler);
  }
  instruction.eraseFromParent();
  return true;
}

void removeDeadCode(Function &kernel) {
  removeUnreachableBlocks(kernel);
  SmallVector<WeakTrackingVH> dead;
  for (Instruction &instruction : instructions(kernel))
    if (isInstructionTriviallyDead(&instruction))
      dead.push_back(&instruction);
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
  for (BasicBlock &block : make_early_inc_range(kernel))
    MergeBlockIntoPredecessor(&block);
}

/// Returns a copy with one edit, or null if that is not legal.
std::unique_ptr<Module> edited(const Module &module, unsigned index, unsigned edit) {
  std::unique_ptr<Module> copy = CloneModule(module);
  if (!apply(*instructionAt(*copy, index), edit))
    return nullptr;
  removeDeadCode(kernelOf(*copy));
  return verifyModule(*copy) ? nullptr : std::move(copy);
}

} // namespace

std::unique_ptr<Module> shrink(const Module &module, const std::function<bool(const Module &)> &fails) {
  std::unique_ptr<Module> smallest = CloneModule(module);
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    for (unsigned index = kernelOf(*smallest).getInstructionCount(); index-- > 0;)
      for (unsigned edit = 0; edit < kEdits && index < kernelOf(*smallest).getInstructionCount(); ++edit) {
        std::unique_ptr<Module> candidate = edited(*smallest, index, edit);
        if (!candidate || !fails(*candidate))
          continue;
        smallest = std::move(candidate);
        shrinks = true;
      }
  }
  return smallest;
}

} // namespace tegula::ptx_fuzz
