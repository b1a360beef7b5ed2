// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/LayoutMap.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using tegula::sm::LayoutAttr;

namespace tegula::cuda {

//===-- Rules -----------------------------------------------------------------------------------------------------===//

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

static SmallVector<int64_t> withoutUnits(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  llvm::copy_if(shape, std::back_inserter(result), [](int64_t size) { return size != 1; });
  return result;
}

bool changesUnitDimsOnly(tile::ReshapeOp reshape) {
  return withoutUnits(reshape.getSource().getType().getShape()) ==
         withoutUnits(reshape.getResult().getType().getShape());
}

/// Returns true for ops without results whose operands that are tiles have the layout of the first one.
static bool writesElements(Operation *op) { return isa<tile::StoreOp, tile::ScatterOp, tile::ScatterAddOp>(op); }

/// Returns true if the operands that are tiles have the layout of the result.
static bool keepsLayout(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<tile::GatherOp, tile::CumsumOp>(op);
}

/// Converts the layout of a tile of shape `from` to that of a tile of shape `to`. The shapes differ only in dimensions
/// of size 1.
static LayoutAttr acrossUnitDims(LayoutAttr layout, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  for (int64_t dim = from.size() - 1; dim >= 0; --dim)
    if (from[dim] == 1)
      layout = sm::without(layout, dim);
  for (size_t dim = 0; dim < to.size(); ++dim)
    if (to[dim] == 1)
      layout = sm::withUnitDim(layout, dim);
  return layout;
}

static LayoutAttr sourceOf(tile::BroadcastOp broadcast, LayoutAttr result) {
  auto source = dyn_cast<RankedTensorType>(broadcast.getSource().getType());
  for (unsigned dim = 0; source && dim < source.getRank(); ++dim)
    if (source.getDimSize(dim) == 1)
      result = sm::collapsed(result, dim);
  return source ? result : LayoutAttr();
}

static LayoutAttr sourceOf(tile::ReshapeOp reshape, LayoutAttr result) {
  if (!changesUnitDimsOnly(reshape))
    return {};
  return acrossUnitDims(result, reshape.getResult().getType().getShape(), reshape.getSource().getType().getShape());
}

static LayoutAttr sourceOf(tile::TransposeOp transpose, LayoutAttr result) {
  SmallVector<int64_t> inverse(transpose.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
    inverse[from] = to;
  return sm::permuted(result, inverse);
}

static unsigned lastDim(Value tile) { return cast<RankedTensorType>(tile.getType()).getRank() - 1; }

/// Returns the layout of the source, given its own layout `known`, if any, and that of the result.
static LayoutAttr sourceOf(tile::ColumnsOp columns, LayoutAttr known, LayoutAttr result) {
  const unsigned dim = lastDim(columns);
  const bool agrees = known && sm::areColumnsOf(result, known, dim, columns.getRange());
  return agrees ? known : sm::aroundColumns(result, dim, columns.getRange());
}

/// Returns the layout of a part, given its own layout `known`, if any, and that of the result; null if one of the parts
/// has none.
static LayoutAttr partOf(tile::JoinOp join, unsigned operand, LayoutAttr known, LayoutAttr result) {
  const unsigned dim = lastDim(join);
  if (!sm::columnsOf(result, dim, join.rangeOf(1 - operand)))
    return {};
  const bool agrees = known && sm::areColumnsOf(known, result, dim, join.rangeOf(operand));
  return agrees ? known : sm::columnsOf(result, dim, join.rangeOf(operand));
}

LayoutAttr LayoutMap::required(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  auto ofResult = [&](unsigned number) { return lookup(op->getResult(number)); };
  if (!isTile(operand.get()))
    return {};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return ofResult(operand.getOperandNumber() - loop.getNumControlOperands());
  if (isa<scf::YieldOp>(op))
    return lookup(op->getParentOp()->getResult(operand.getOperandNumber()));
  if (writesElements(op))
    return lookup(op->getOperand(0));
  if (isa<tile::DotOp>(op))
    return operand.getOperandNumber() == 2 ? ofResult(0) : LayoutAttr();
  if (op->getNumResults() == 0 || !ofResult(0))
    return {};
  if (keepsLayout(op))
    return ofResult(0);
  return TypeSwitch<Operation *, LayoutAttr>(op)
      .Case([&](tile::ColumnsOp columns) { return sourceOf(columns, lookup(columns.getSource()), ofResult(0)); })
      .Case([&](tile::JoinOp join) {
        return partOf(join, operand.getOperandNumber(), lookup(operand.get()), ofResult(0));
      })
      .Case<tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp>([&](auto op) { return sourceOf(op, ofResult(0)); })
      .Default(LayoutAttr());
}

//===-- Closure ---------------------------------------------------------------------------------------------------===//

void LayoutMap::assign(Value tile, LayoutAttr layout) {
  add(tile, layout);
  while (!pending_.empty())
    follow(pending_.pop_back_val());
}

/// Returns the result of a loop for the argument of its body, and the reverse; null for other values. Both have one
/// type, and no conversion can stand between them.
static Value twinOf(Value tile) {
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop ? loop.getTiedLoopResult(argument) : OpResult();
  }
  auto loop = tile.getDefiningOp<scf::ForOp>();
  return loop ? loop.getTiedLoopRegionIterArg(cast<OpResult>(tile)) : BlockArgument();
}

void LayoutMap::add(Value tile, LayoutAttr layout) {
  if (!layout || !isTile(tile))
    return;
  // The result's layout follows from the layout of the reduced tile, never the other way round.
  if (auto reduce = tile.getDefiningOp<tile::ReduceOp>()) {
    LayoutAttr source = lookup(reduce.getSource());
    if (!source)
      return;
    layout = sm::without(source, reduce.getAxis());
  }
  if (!layouts_.try_emplace(tile, layout).second)
    return;
  pending_.push_back(tile);
  if (Value twin = twinOf(tile))
    add(twin, layout);
}

void LayoutMap::follow(Value tile) {
  LayoutAttr layout = lookup(tile);
  followDefinition(tile);
  for (OpOperand &use : tile.getUses())
    followUse(use, layout);
}

/// Returns the init, body argument, yielded value and result of one loop-carried value.
static SmallVector<Value, 4> passedOn(scf::ForOp loop, unsigned number) {
  return {loop.getInitArgs()[number], loop.getRegionIterArg(number), loop.getYieldedValues()[number],
          loop.getResult(number)};
}

void LayoutMap::followDefinition(Value tile) {
  LayoutAttr layout = lookup(tile);
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      for (Value other : passedOn(loop, argument.getArgNumber() - loop.getNumInductionVars()))
        add(other, layout);
    return;
  }
  Operation *op = tile.getDefiningOp();
  unsigned number = cast<OpResult>(tile).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value other : passedOn(loop, number))
      add(other, layout);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    add(branch.thenYield().getOperand(number), layout);
    add(branch.elseYield().getOperand(number), layout);
  } else {
    for (OpOperand &operand : op->getOpOperands())
      add(operand.get(), required(operand));
  }
}

void LayoutMap::followUse(OpOperand &use, LayoutAttr layout) {
  Operation *op = use.getOwner();
  if (keepsLayout(op))
    return add(op->getResult(0), layout);
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        for (Value other : passedOn(loop, use.getOperandNumber() - loop.getNumControlOperands()))
          add(other, layout);
      })
      .Case([&](scf::YieldOp yield) { add(yield->getParentOp()->getResult(use.getOperandNumber()), layout); })
      .Case([&](tile::ReduceOp reduce) { add(reduce.getResult(), layout); })
      .Case([&](tile::ReshapeOp reshape) {
        if (changesUnitDimsOnly(reshape))
          add(reshape.getResult(), acrossUnitDims(layout, reshape.getSource().getType().getShape(),
                                                  reshape.getResult().getType().getShape()));
      })
      .Case([&](tile::TransposeOp transpose) {
        add(transpose.getResult(), sm::permuted(layout, transpose.getPermutation()));
      })
      .Case([&](tile::ColumnsOp columns) {
        add(columns.getResult(), sm::columnsOf(layout, lastDim(columns), columns.getRange()));
      })
      .Case([&](tile::JoinOp join) {
        add(join.getResult(), sm::aroundColumns(layout, lastDim(join), join.rangeOf(use.getOperandNumber())));
      })
      .Case<tile::StoreOp, tile::ScatterOp, tile::ScatterAddOp>([&](auto write) {
        for (Value operand : write->getOperands())
          add(operand, lookup(write.getTile()));
      });
}

} // namespace tegula::cuda
