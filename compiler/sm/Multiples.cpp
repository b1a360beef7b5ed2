// SPDX-License-Identifier: MIT
#include "compiler/sm/Multiples.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tegula::sm {

namespace {
/// Counts the low bits of integers that are always 0.
class LowZeros {
public:
  unsigned of(Value value) {
    if (auto known = counts_.find(value); known != counts_.end())
      return known->second;
    const unsigned count = compute(value);
    counts_[value] = count;
    return count;
  }

private:
  unsigned compute(Value value) {
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
      return constant.countr_zero();
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofArgument(argument);
    Operation *op = value.getDefiningOp();
    if (isa<arith::MulIOp>(op))
      return of(op->getOperand(0)) + of(op->getOperand(1));
    if (isa<arith::AndIOp>(op))
      return std::max(of(op->getOperand(0)), of(op->getOperand(1)));
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return std::min(of(select.getTrueValue()), of(select.getFalseValue()));
    if (keepsCommonZeros(op))
      return leastOf(op->getOperands());
    return 0;
  }

  /// Returns true if the low bits of the result are 0 where those of all operands are.
  static bool keepsCommonZeros(Operation *op) {
    return isa<arith::AddIOp, arith::SubIOp, arith::RemSIOp, arith::RemUIOp, arith::MinSIOp, arith::MinUIOp,
               arith::MaxSIOp, arith::MaxUIOp, arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
               arith::TruncIOp, OpaqueOp>(op);
  }

  unsigned leastOf(ValueRange values) {
    unsigned least = 64;
    for (Value value : values)
      least = std::min(least, of(value));
    return least;
  }

  unsigned ofArgument(BlockArgument argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    bool isCounter = loop && argument == loop.getInductionVar();
    return isCounter ? leastOf({loop.getLowerBound(), loop.getStep()}) : 0;
  }

  llvm::DenseMap<Value, unsigned> counts_;
};
} // namespace

bool isMultipleOf(Value value, int64_t divisor) {
  assert(llvm::isPowerOf2_64(divisor) && "low bits decide for powers of two only");
  return LowZeros().of(value) >= llvm::Log2_64(divisor);
}

} // namespace tegula::sm
