// SPDX-License-Identifier: MIT
#include "compiler/cpu/Costs.h"
#include "compiler/tile/Functions.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cpu {

using namespace mlir;

double frequency(Operation *op) {
  double result = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      result *= kTripsOfALoop;
  return result;
}

double ownCost(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (isa<arith::ConstantOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp, tile::IotaOp>(op))
    return 0.5;
  if (name.starts_with("math.exp") || name.starts_with("math.log") || name.starts_with("math.tanh"))
    return 15;
  if (tile::isExpandedFunction(op))
    return isa<math::PowFOp>(op) ? 80 : 30;
  if (name.starts_with("arith.div") || name.starts_with("arith.rem") || name == "math.sqrt")
    return 10;
  return 1;
}

} // namespace tegula::cpu
