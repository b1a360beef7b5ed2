// SPDX-License-Identifier: MIT
#include "compiler/ptx/Peepholes.h"

#include "compiler/ptx/ByteTests.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tegula::ptx {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

class Peepholes {
public:
  explicit Peepholes(Function &function) : function_(function), builder_(function.getContext()) {}

  void run() {
    for (BasicBlock &block : function_) {
      sums_.clear();
      leaveForward(block);
      testBytesInPairs(block);
      for (Instruction &instruction : make_early_inc_range(block))
        if (Value *better = improve(instruction)) {
          instruction.replaceAllUsesWith(better);
          replaced_.push_back(&instruction);
        }
    }
    for (BasicBlock &block : function_)
      addNumbersAgain(block);
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced_);
  }

private:
  /// Returns a better value for the instruction, or null.
  Value *improve(Instruction &instruction) {
    builder_.SetInsertPoint(&instruction);
    switch (instruction.getOpcode()) {
    case Instruction::Add:
      return moveNumberOutward(instruction);
    case Instruction::Or:
      return addNumber(cast<PossiblyDisjointInst>(instruction));
    case Instruction::Mul:
      return moveShiftOutward(instruction);
    case Instruction::Select:
      return chooseTwice(cast<SelectInst>(instruction));
    case Instruction::InsertElement:
      return packConversions(instruction);
    case Instruction::FPExt:
      return widenHalf(instruction);
    default:
      return nullptr;
    }
  }

  /// Makes a conditional branch leave the straight line, so that its second successor is the block that follows. ptxas
  /// takes the following block for the likely one. It unrolls only loops whose exit is taken if a predicate is true.
  void leaveForward(BasicBlock &block) {
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || branch->isUnconditional() || branch->getSuccessor(0) != block.getNextNode())
      return;
    auto *comparison = dyn_cast<CmpInst>(branch->getCondition());
    if (comparison && comparison->hasOneUse()) {
      comparison->setPredicate(comparison->getInversePredicate());
    } else {
      builder_.SetInsertPoint(branch);
      branch->setCondition(builder_.CreateNot(branch->getCondition()));
    }
    branch->swapSuccessors();
  }

  /// Returns true if `operand` is a constant expression, or is computed in this block for `user` only.
  static bool belongsTo(Value *operand, Instruction &user) {
    auto *instruction = dyn_cast<Instruction>(operand);
    return isa<ConstantExpr>(operand) ||
           (instruction && instruction->hasOneUse() && instruction->getParent() == user.getParent());
  }

  static bool isSum(const Operator &op) {
    auto *bits = dyn_cast<PossiblyDisjointInst>(&op);
    return op.getOpcode() == Instruction::Add || (bits && bits->isDisjoint());
  }

  /// Replaces (x + number) + y by (x + y) + number. Accesses to memory take a constant offset for free, and many share
  /// the sum.
  Value *moveNumberOutward(Instruction &instruction) {
    for (unsigned side : {1, 0}) {
      auto *inner = dyn_cast<Operator>(instruction.getOperand(side));
      if (!inner || !isSum(*inner) || !belongsTo(inner, instruction))
        continue;
      auto *number = dyn_cast<ConstantInt>(inner->getOperand(1));
      if (number)
        return builder_.CreateAdd(sumOf(inner->getOperand(0), instruction.getOperand(1 - side)), number);
    }
    return nullptr;
  }

  /// Replaces x | number by x + number if they have no bit in common. ptxas makes a constant offset of a sum only.
  Value *addNumber(PossiblyDisjointInst &instruction) {
    Value *number = instruction.getOperand(1);
    return instruction.isDisjoint() && isa<ConstantInt>(number)
               ? builder_.CreateNUWAdd(instruction.getOperand(0), number)
               : nullptr;
  }

  /// Computes sums x + number again in a block that uses many of other blocks. Each takes a register between the
  /// blocks, and little here. The start addresses of the steps of two operands of MMAs fill the uniform registers of a
  /// loop; those of one leave room.
  void addNumbersAgain(BasicBlock &block) {
    constexpr size_t many = 12;
    MapVector<Instruction *, SmallVector<Use *>> sums;
    SmallPtrSet<Value *, 4> addresses;
    for (Instruction &user : block) {
      if (isa<PHINode>(user))
        continue;
      for (Use &use : user.operands())
        if (auto *sum = dyn_cast<Instruction>(use); sum && sum->getParent() != &block && addsNumber(*sum)) {
          sums[sum].push_back(&use);
          addresses.insert(sum->getOperand(0));
        }
    }
    if (sums.size() < many || addresses.size() == 1)
      return;
    for (auto &[sum, uses] : sums) {
      Instruction *here = sum->clone();
      here->insertBefore(cast<Instruction>(uses.front()->getUser())->getIterator());
      for (Use *use : uses)
        use->set(here);
      replaced_.push_back(sum);
    }
  }

  static bool addsNumber(const Instruction &sum) {
    return sum.getOpcode() == Instruction::Add && sum.getType()->isIntegerTy(32) && isa<ConstantInt>(sum.getOperand(1));
  }

  Value *sumOf(Value *x, Value *y) {
    Value *&sum = sums_[std::minmax(x, y)];
    if (!sum)
      sum = builder_.CreateAdd(x, y);
    return sum;
  }

  /// Replaces (x << number) * y by (x * y) << number. The shift then becomes part of the addition that follows.
  Value *moveShiftOutward(Instruction &instruction) {
    for (unsigned side : {0, 1}) {
      Value *x = nullptr, *shift = instruction.getOperand(side), *y = instruction.getOperand(1 - side);
      ConstantInt *number = nullptr;
      if (belongsTo(shift, instruction) && match(shift, m_Shl(m_Value(x), m_ConstantInt(number))))
        return builder_.CreateShl(builder_.CreateMul(x, y), number);
    }
    return nullptr;
  }

  /// Splits a choice on `x and y`, or on `x or y`, into two choices. ptxas schedules two choices better than one, whose
  /// predicate it computes first.
  Value *chooseTwice(SelectInst &choice) {
    Value *x = nullptr, *y = nullptr, *yes = choice.getTrueValue(), *no = choice.getFalseValue();
    if (choice.getType()->isIntegerTy(1) || !belongsTo(choice.getCondition(), choice))
      return nullptr;
    if (match(choice.getCondition(), m_LogicalAnd(m_Value(x), m_Value(y))))
      return builder_.CreateSelect(x, builder_.CreateSelect(y, yes, no), no);
    if (match(choice.getCondition(), m_LogicalOr(m_Value(x), m_Value(y))))
      return builder_.CreateSelect(x, yes, builder_.CreateSelect(y, yes, no));
    return nullptr;
  }

  /// A 16-bit number: `wide` rounded, or 0 where `condition` is given and false.
  struct Rounded {
    Value *wide = nullptr, *condition = nullptr;
  };

  static Rounded roundedBy(Value *narrow) {
    Rounded from;
    auto rounding = m_OneUse(m_FPTrunc(m_Value(from.wide)));
    if (match(narrow, rounding) || match(narrow, m_OneUse(m_Select(m_Value(from.condition), rounding, m_PosZeroFP()))))
      return from;
    return {};
  }

  Value *chosen(const Rounded &from) {
    return from.condition ? builder_.CreateSelect(from.condition, from.wide, ConstantFP::getZero(from.wide->getType()))
                          : from.wide;
  }

  /// Combines two f32 that are rounded to 16 bits and packed into one word. This is one instruction, for which LLVM has
  /// an intrinsic. Where each has a condition of its own, the choice comes first, because choices between halves of a
  /// word take instructions to part and join them.
  Value *packConversions(Instruction &instruction) {
    Value *first = nullptr, *second = nullptr;
    auto *type = cast<FixedVectorType>(instruction.getType());
    if (type->getNumElements() != 2 ||
        !match(&instruction, m_InsertElt(m_InsertElt(m_Undef(), m_Value(first), m_Zero()), m_Value(second), m_One())))
      return nullptr;
    const Rounded low = roundedBy(first), high = roundedBy(second);
    if (!low.wide || !high.wide || (low.condition && low.condition == high.condition))
      return nullptr;
    Intrinsic::ID id = type->getElementType()->isHalfTy() ? Intrinsic::nvvm_ff2f16x2_rn : Intrinsic::nvvm_ff2bf16x2_rn;
    return builder_.CreateIntrinsic(id, {chosen(high), chosen(low)});
  }

  /// Widens a bf16 by a shift or a mask, because a bf16 is the upper half of an f32. For the upper half of a word,
  /// ptxas would make two instructions, one down and one up.
  Value *widenHalf(Instruction &instruction) {
    Value *pair = nullptr, *word = nullptr;
    uint64_t index = 0;
    if (!match(&instruction, m_FPExt(m_ExtractElt(m_Value(pair), m_ConstantInt(index)))) ||
        !match(pair, m_BitCast(m_Value(word))) || !word->getType()->isIntegerTy(32) ||
        !instruction.getType()->isFloatTy() || !cast<VectorType>(pair->getType())->getElementType()->isBFloatTy())
      return nullptr;
    Value *bits = index == 0 ? builder_.CreateShl(word, 16) : builder_.CreateAnd(word, 0xffff0000);
    return builder_.CreateBitCast(bits, instruction.getType());
  }

  Function &function_;
  IRBuilder<> builder_;
  DenseMap<std::pair<Value *, Value *>, Value *> sums_; ///< The sums of this block.
  SmallVector<WeakTrackingVH> replaced_;
};

} // namespace

void applyPeepholes(Function &function) { Peepholes(function).run(); }

} // namespace tegula::ptx
