// SPDX-License-Identifier: MIT
// Selects PTX instructions for the instructions of LLVM IR, one by one. A value is a list of operands, one for each
// member of a structure and each element of a vector. Taking values apart and putting them together therefore costs
// nothing.
#pragma once

#include "compiler/ptx/Code.h"
#include "compiler/ptx/Ptx.h"

#include "tegula/status.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"

#include <map>
#include <tuple>

namespace llvm {
class IntrinsicInst;
} // namespace llvm

namespace tegula::ptx {

inline constexpr int64_t kSign16 = 0x8000; ///< The sign of a 16-bit float.

/// Returns true if `user` is an intrinsic that stands for one instruction of the GPU.
bool isMachineInstruction(const llvm::User &user);
/// Returns true if `user` compares two f16 numbers with two others. This is one instruction.
bool comparesPairs(const llvm::User &user);
/// Returns true for a vector that is a word of four bytes.
bool isFourBytes(llvm::Type *type);
/// Returns true for a shuffle of the bytes of words.
bool shufflesBytes(const llvm::User &user);

/// The selection of PTX instructions for one kernel. Call `run` once.
class Selection {
public:
  /// Takes an empty `code`, to which `run` appends the kernel's blocks.
  Selection(llvm::Function &kernel, Code &code, const Target &target) : kernel_(kernel), code_(code), target_(target) {}

  Status run();

private:
  using Operands = llvm::ArrayRef<Operand>;

  //===-- Values -------------------------------------------------------------------------------------------------===//
  llvm::SmallVector<RegisterClass> classesOf(llvm::Type *type);
  RegisterClass classOf(llvm::Type *type);
  Operands elements(llvm::Value *value);
  Operands elementsOf(llvm::Constant *constant);
  Operands addressOf(llvm::Argument *parameter);
  Operand scalar(llvm::Value *value) { return elements(value).front(); }
  /// Returns a scalar as an operand that an instruction may name. A predicate must be a register.
  Operand readable(llvm::Value *value);
  /// Returns a vector as one register.
  Operand packed(llvm::Value *value);
  /// Returns an integer that fills its register. The type may be narrower, and then the other bits of `narrow` are
  /// undefined.
  Operand extended(Operand narrow, llvm::Type *type, bool isSigned);
  void define(llvm::Value *value, Operands operands);
  void definePacked(llvm::Instruction &value, Operand whole);
  void defineShifted(llvm::Instruction &value, Operand whole);

  //===-- Lines --------------------------------------------------------------------------------------------------===//
  void append(const llvm::Twine &text, Operands operands, unsigned results);
  Operand emit(const llvm::Twine &text, RegisterClass result, Operands read);
  void copy(Operand to, Operand from);
  Operand newRegister(RegisterClass registerClass) { return Operand::of(code_.addRegister(registerClass)); }
  /// Records an error. run() returns the first one. The result has no meaning.
  Operand refuse(const llvm::Twine &what);

  //===-- Blocks -------------------------------------------------------------------------------------------------===//
  std::string parameterName(const llvm::Argument &parameter) const;
  void loadParameters();
  void locateShared();
  void select(llvm::BasicBlock &block);
  void prepare(llvm::PHINode &phi);
  void beginPhis(llvm::BasicBlock &block);
  void endPhis(llvm::BasicBlock &block);
  void selectBranch(llvm::BranchInst &branch);
  void selectSwitch(llvm::SwitchInst &instruction);
  Operand labelOf(llvm::BasicBlock *block) const;

  //===-- Instructions -------------------------------------------------------------------------------------------===//
  void select(llvm::Instruction &instruction);
  bool selectAggregate(llvm::Instruction &instruction);
  void selectFreeze(llvm::Instruction &instruction);
  void selectBitcast(llvm::Instruction &instruction);
  void selectAssembly(llvm::CallInst &call);
  void selectIntrinsic(llvm::IntrinsicInst &call);
  void selectElementwise(llvm::Instruction &instruction);
  /// Returns one element of the instruction's result. `type` is the element's type.
  Operand compute(llvm::Instruction &instruction, llvm::Type *type, Operands operands);
  Operand computeBinary(llvm::Instruction &instruction, llvm::Type *type, Operand a, Operand b);
  Operand divideFloats(Operand a, Operand b);
  Operand divide(unsigned opcode, RegisterClass registerClass, Operand x, int64_t number);
  Operand divideUnsigned(RegisterClass registerClass, Operand x, const llvm::APInt &divisor);
  Operand divideSigned(RegisterClass registerClass, Operand x, const llvm::APInt &divisor);
  Operand computeCast(llvm::CastInst &cast, llvm::Type *type, Operand x);
  /// Returns the lowest bit of an integer as a condition.
  Operand lowestBit(Operand x, RegisterClass from);
  Operand roundToOdd(RegisterClass from, bool isSigned, Operand x);
  Operand convertCondition(llvm::CastInst &cast, llvm::Type *type, Operand x);
  Operand resize(Operand x, RegisterClass from, RegisterClass to, bool isSigned);
  Operand compare(llvm::CmpInst &comparison, Operand a, Operand b);
  void comparePairs(llvm::CmpInst &comparison);
  void shuffleBytes(llvm::ShuffleVectorInst &shuffle);
  struct Bytes;
  Bytes neighbours(llvm::ArrayRef<std::pair<llvm::Value *, unsigned>> two);
  Operand choose(llvm::Type *type, Operand condition, Operand yes, Operand no);
  Operand computeGeneric(llvm::IntrinsicInst &call, llvm::Type *type, Operands operands);
  Operand computeInteger(llvm::IntrinsicInst &call, llvm::Type *type, Operands x);
  Operand shiftNarrowPair(llvm::Type *type, bool isLeft, Operands x);
  Operand reverseBits(llvm::Type *type, Operand x);
  Operand computeNarrow(llvm::Intrinsic::ID id, llvm::Type *type, Operands x);
  Operand inRegister(Operand narrow);
  Operand compareThreeWays(llvm::IntrinsicInst &call, llvm::Type *type, Operands x);
  /// Most arithmetic on 16-bit floats is done in f32: `widen` converts an operand of `type` to f32, `narrow` a result
  /// to `type`.
  Operand widen(Operand narrow, llvm::Type *type);
  Operand narrow(Operand wide, llvm::Type *type);

  llvm::Function &kernel_;
  Code &code_;
  const Target &target_;
  Status status_;
  llvm::DenseMap<llvm::Value *, Operands> values_;
  llvm::DenseMap<llvm::Value *, Operand> packed_;
  /// Halves of two words, interleaved by this block.
  std::map<std::tuple<llvm::Value *, llvm::Value *, unsigned>, Operand> interleaved_;
  llvm::DenseMap<llvm::PHINode *, Operands> incoming_; ///< The registers of a phi that its predecessors write.
  llvm::DenseMap<llvm::BasicBlock *, unsigned> numbers_;
  llvm::SmallVector<llvm::Value *> computedHere_; ///< Constants and addresses of parameters that this block computes.
  Block *block_ = nullptr;
  const llvm::DILocation *place_ = nullptr;
};

} // namespace tegula::ptx
