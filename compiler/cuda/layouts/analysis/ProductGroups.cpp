// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/ProductGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tegula::cuda {

/// Returns true for a tile whose layout binds other tiles.
static bool isBinding(Value value) {
  return isa<RankedTensorType>(value.getType()) &&
         !isa_and_present<arith::ConstantOp, tile::IotaOp, sm::LinearOp, tile::BroadcastOp>(value.getDefiningOp());
}

ProductGroups::ProductGroups(func::FuncOp function) {
  function.walk([&](Operation *op) { tieOperands(op); });
}

Value ProductGroups::of(Value tile) const {
  auto leader = groups_.findLeader(tile);
  return leader == groups_.member_end() ? tile : *leader;
}

void ProductGroups::tie(Value a, Value b) {
  if (isBinding(a) && isBinding(b))
    groups_.unionSets(a, b);
}

void ProductGroups::tieOperands(Operation *op) {
  if (op->hasTrait<OpTrait::Elementwise>())
    for (Value operand : op->getOperands())
      tie(op->getResult(0), operand);
  TypeSwitch<Operation *>(op)
      .Case([&](tile::DotOp dot) {
        if (dot.getAcc())
          tie(dot.getResult(), dot.getAcc());
      })
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument, yielded, result] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                                                                      loop.getYieldedValues(), loop.getResults())) {
          tie(argument, init);
          tie(argument, yielded);
          tie(argument, result);
        }
      })
      .Case([&](scf::IfOp branch) {
        for (Value result : branch.getResults())
          for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
            tie(result, yield.getOperand(cast<OpResult>(result).getResultNumber()));
      });
}

} // namespace tegula::cuda
