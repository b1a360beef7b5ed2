// SPDX-License-Identifier: MIT
#include "compiler/debug/StoredElements.h"

#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::debug;

static int64_t rankOf(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile ? tile.getRank() : 0;
}

static int64_t sizeOf(Value tile, unsigned axis) { return cast<RankedTensorType>(tile.getType()).getDimSize(axis); }

static SmallVector<unsigned> nonUnitAxes(Value tile) {
  SmallVector<unsigned> axes;
  for (unsigned axis = 0; axis < rankOf(tile); ++axis)
    if (sizeOf(tile, axis) != 1)
      axes.push_back(axis);
  return axes;
}

bool AxisUse::add(const AxisUse &other) {
  const bool becomesAll = other.all && !all;
  all |= other.all;
  const size_t before = stores.size();
  stores.insert_range(other.stores);
  return becomesAll || stores.size() != before;
}

StoredElements::StoredElements(func::FuncOp function) {
  // Loops hand uses backwards, so one pass is not enough.
  do {
    changed_ = false;
    function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) { visit(op); });
  } while (changed_);
}

void StoredElements::add(Value operand, unsigned axis, const AxisUse &use) {
  const AxisUse copy = use; // The map may grow.
  changed_ |= uses_[{operand, axis}].add(copy);
}

void StoredElements::follow(Value operand, unsigned axis, Value result, unsigned ofResult) {
  if (axis < rankOf(operand))
    add(operand, axis, uses_[{result, ofResult}]);
}

void StoredElements::followAll(Value operand, Value result) {
  for (unsigned axis = 0; axis < rankOf(operand); ++axis)
    follow(operand, axis, result, axis);
}

void StoredElements::needAll(Value operand, unsigned axis) { add(operand, axis, {.all = true, .stores = {}}); }

void StoredElements::needAll(Value operand) {
  for (unsigned axis = 0; axis < rankOf(operand); ++axis)
    needAll(operand, axis);
}

void StoredElements::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tile::StoreOp, tile::AtomicAddOp>([&](auto store) {
        for (unsigned axis = 0; axis < rankOf(store.getTile()); ++axis) {
          AxisUse use;
          use.stores.insert({store, axis});
          add(store.getTile(), axis, use);
        }
      })
      .Case([&](tile::BroadcastOp broadcast) {
        for (unsigned axis = 0; axis < rankOf(broadcast.getSource()); ++axis)
          if (sizeOf(broadcast.getSource(), axis) == sizeOf(broadcast, axis))
            follow(broadcast.getSource(), axis, broadcast, axis);
          else
            needAll(broadcast.getSource(), axis);
      })
      .Case([&](tile::ReshapeOp reshape) {
        SmallVector<unsigned> from = nonUnitAxes(reshape.getSource()), to = nonUnitAxes(reshape);
        auto size = [](Value tile) { return [=](unsigned axis) { return sizeOf(tile, axis); }; };
        if (!llvm::equal(llvm::map_range(from, size(reshape.getSource())), llvm::map_range(to, size(reshape))))
          return needAll(reshape.getSource());
        for (auto [axis, ofResult] : llvm::zip_equal(from, to))
          follow(reshape.getSource(), axis, reshape, ofResult);
        for (unsigned axis = 0; axis < rankOf(reshape.getSource()); ++axis)
          if (sizeOf(reshape.getSource(), axis) == 1)
            needAll(reshape.getSource(), axis);
      })
      .Case([&](tile::TransposeOp transpose) {
        for (auto [axis, source] : llvm::enumerate(transpose.getPermutation()))
          follow(transpose.getSource(), source, transpose, axis);
      })
      .Case<tile::ColumnsOp, tile::JoinOp>([&](Operation *columns) {
        const Value result = columns->getResult(0);
        for (Value operand : columns->getOperands()) {
          for (unsigned axis = 0; axis + 1 < rankOf(result); ++axis)
            follow(operand, axis, result, axis);
          needAll(operand, rankOf(result) - 1);
        }
      })
      .Case([&](tile::ReduceOp reduce) {
        for (unsigned axis = 0; axis < rankOf(reduce.getSource()); ++axis)
          if (axis != reduce.getAxis())
            follow(reduce.getSource(), axis, reduce.getResult(), axis - (axis > reduce.getAxis()));
        needAll(reduce.getSource(), reduce.getAxis());
      })
      .Case([&](tile::CumsumOp cumsum) {
        followAll(cumsum.getSource(), cumsum);
        needAll(cumsum.getSource(), cumsum.getAxis());
      })
      .Case([&](tile::DotOp dot) {
        const unsigned row = dot.getTransposeLhs() ? 1 : 0, column = dot.getTransposeRhs() ? 0 : 1;
        follow(dot.getLhs(), row, dot, 0);
        needAll(dot.getLhs(), 1 - row);
        follow(dot.getRhs(), column, dot, 1);
        needAll(dot.getRhs(), 1 - column);
        if (dot.getAcc())
          followAll(dot.getAcc(), dot);
      })
      .Case([&](tile::SoftmaxUpdateOp update) {
        for (Value result : update->getResults())
          for (Value operand : {update.getScores(), update.getMax(), update.getSum(), update.getOutput()})
            follow(operand, 0, result, 0);
        needAll(update.getScores(), 1);
        needAll(update.getValues(), 0);
        follow(update.getValues(), 1, update.getNewOutput(), 1);
        follow(update.getOutput(), 1, update.getNewOutput(), 1);
      })
      .Case<tile::SoftmaxOutputOp, tile::SoftmaxLseOp>([&](Operation *finish) {
        for (Value operand : finish->getOperands())
          followAll(operand, finish->getResult(0));
      })
      .Case([&](scf::ForOp loop) {
        for (auto [init, carried, yielded, result] :
             llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
          for (Value operand : {init, yielded}) {
            followAll(operand, carried);
            followAll(operand, result);
          }
      })
      .Case([&](scf::IfOp branch) {
        for (Region &side : branch->getRegions())
          if (!side.empty())
            for (auto [yielded, result] :
                 llvm::zip_equal(side.front().getTerminator()->getOperands(), branch.getResults()))
              followAll(yielded, result);
      })
      .Case<scf::YieldOp, arith::CmpFOp, tile::PrintOp, tile::AssertOp>([](Operation *) {})
      .Default([&](Operation *other) {
        const bool elementwise = other->hasTrait<OpTrait::Elementwise>() && other->getNumResults() == 1 &&
                                 isa<FloatType>(getElementTypeOrSelf(other->getResult(0)));
        for (Value operand : other->getOperands())
          elementwise ? followAll(operand, other->getResult(0)) : needAll(operand);
      });
}
