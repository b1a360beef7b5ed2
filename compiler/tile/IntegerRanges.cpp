// SPDX-License-Identifier: MIT
#include "compiler/tile/IntegerRanges.h"

#include "compiler/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::tile;

/// The limit that sizes of tensors and of the grid stay below, which launches check.
static constexpr int64_t kSizeLimit = int64_t(1) << 31;

unsigned tile::integerWidth(Type type) { return ConstantIntRanges::getStorageBitwidth(getElementTypeOrSelf(type)); }

/// Returns the numbers `first` to `last` of the type of `value`.
static ConstantIntRanges between(Value value, int64_t first, int64_t last) {
  const unsigned width = integerWidth(value.getType());
  return ConstantIntRanges::fromSigned(APInt(width, first), APInt(width, last));
}

/// Returns all numbers of the type of `value`.
static ConstantIntRanges everything(Value value) { return ConstantIntRanges::maxRange(integerWidth(value.getType())); }

ConstantIntRanges IntegerRanges::of(Value value) {
  if (auto found = known_.find(value); found != known_.end())
    return found->second;
  const ConstantIntRanges range = compute(value);
  known_.try_emplace(value, range);
  return range;
}

ConstantIntRanges IntegerRanges::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofPosition(argument);
  return TypeSwitch<Operation *, ConstantIntRanges>(value.getDefiningOp())
      .Case([&](tile::ProgramIdOp) { return between(value, 0, kSizeLimit - 2); })
      .Case([&](tile::NumProgramsOp) { return between(value, 1, kSizeLimit - 1); })
      .Case([&](tile::DimOp) { return between(value, 0, kSizeLimit - 1); })
      .Case([&](tile::IotaOp iota) { return between(value, 0, iota.getResult().getType().getNumElements() - 1); })
      .Case<tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp>([&](auto op) { return of(op.getSource()); })
      .Default([&](Operation *) { return ofArithmetic(value); });
}

/// Returns the positions of a loop. Any other block argument may be any number.
ConstantIntRanges IntegerRanges::ofPosition(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar())
    return everything(argument);
  const APInt first = of(loop.getLowerBound()).smin(), end = of(loop.getUpperBound()).smax();
  return ConstantIntRanges::fromSigned(first, end.sgt(first) ? end - 1 : first);
}

ConstantIntRanges IntegerRanges::ofArithmetic(Value result) {
  ConstantIntRanges range = everything(result);
  auto op = dyn_cast<InferIntRangeInterface>(result.getDefiningOp());
  if (!op)
    return range;
  SmallVector<IntegerValueRange, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(integerWidth(operand.getType()) > 0 ? IntegerValueRange(of(operand)) : IntegerValueRange());
  op.inferResultRangesFromOptional(operands, [&](Value inferred, const IntegerValueRange &found) {
    if (inferred == result && !found.isUninitialized())
      range = found.getValue();
  });
  return range;
}
