// SPDX-License-Identifier: MIT
// Arithmetic, one element at a time. Narrow floats are widened to f32, and each op rounds its result.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/tile/Functions.h"
#include "compiler/tile/Random.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// Clones `op` for one element.
static Value clone(Threads &t, Operation *op, ArrayRef<Value> operands, Type type) {
  Operation *one = Operation::create(t.b.getLoc(), op->getName(), type, operands, NamedAttrList(),
                                     op->getPropertiesStorage(), BlockRange(), /*numRegions=*/0);
  return t.b.insert(one)->getResult(0);
}

/// Computes `op` on operands of 32 bits or more.
static Value computeWide(Threads &t, Operation *op, ArrayRef<Value> operands, Type type) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::Exp2Op) { return t.gpu.exp2(operands[0]); })
      .Case([&](math::Log2Op) { return t.gpu.log2(operands[0]); })
      .Case([&](math::ExpOp) { return exp(t, operands[0]); })
      .Case([&](math::LogOp) { return log(t, operands[0]); })
      .Case([&](math::TanhOp tanh) {
        bool fast = bitEnumContainsAny(tanh.getFastmath(), arith::FastMathFlags::afn);
        return fast ? t.gpu.tanh(operands[0]) : cuda::tanh(t, operands[0]);
      })
      .Case([&](arith::DivFOp) { return divide(t, operands[0], operands[1]); })
      .Case([&](tile::RandomOp random) { return tile::expandRandom(t.b, random, operands); })
      .Default([&](Operation *) {
        bool expands = tile::isExpandedFunction(op);
        return expands ? tile::expandFunction(t.b, op, operands) : clone(t, op, operands, type);
      });
}

static Value compute(Threads &t, Operation *op, ArrayRef<Value> operands, Type type) {
  if (isa<arith::SelectOp, arith::BitcastOp>(op))
    return clone(t, op, operands, type);
  Type f32 = t.b.getF32Type();
  SmallVector<Value, 3> wide;
  for (Value operand : operands)
    wide.push_back(tile::isNarrowFloat(operand.getType()) ? castFloats(t, operand, f32).front() : operand);
  Value result = computeWide(t, op, wide, tile::isNarrowFloat(type) ? f32 : type);
  return tile::isNarrowFloat(type) ? castFloats(t, result, type).front() : result;
}

/// Returns true for arithmetic that a GPU computes by instructions, without a library call.
static bool isKnown(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  return isa<arith::ArithDialect>(op->getDialect()) || tile::isExpandedFunction(op) ||
         isa<tile::RandomOp, math::Exp2Op, math::Log2Op, math::ExpOp, math::LogOp, math::TanhOp, math::SqrtOp,
             math::AbsFOp, math::AbsIOp, math::FmaOp>(op);
}

LogicalResult cuda::lowerElementwise(Threads &t, Operation *op) {
  if (!isKnown(op))
    return op->emitError("the cuda target cannot lower this op");
  Value result = op->getResult(0);
  auto tile = dyn_cast<RankedTensorType>(result.getType());
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    t.define(result, castFloats(t, t.registers(op->getOperand(0)), getElementTypeOrSelf(result.getType())));
    return success();
  }
  SmallVector<Value> registers;
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<RankedTensorType>(select.getCondition().getType()))
    registers = chooseByBits(t, select);
  if (!registers.empty()) {
    t.define(result, registers);
    return success();
  }
  for (unsigned reg = 0; reg < (tile ? registerCount(tile) : 1); ++reg) {
    SmallVector<Value, 5> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? t.registers(operand)[reg] : t.scalar(operand));
    registers.push_back(compute(t, op, operands, getElementTypeOrSelf(result.getType())));
  }
  t.define(result, registers);
  return success();
}
