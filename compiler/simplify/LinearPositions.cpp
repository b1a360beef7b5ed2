// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_LINEARPOSITIONS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

static void countUp(arith::SIToFPOp conversion) {
  auto type = dyn_cast<RankedTensorType>(conversion.getType());
  if (!type || !type.getElementType().isF32() || !getElementTypeOrSelf(conversion.getIn()).isInteger(32))
    return;
  auto magnitude = conversion.getIn().getDefiningOp<math::AbsIOp>();
  std::optional<AffineTile> positions = AffineTiles().find(magnitude ? magnitude.getOperand() : conversion.getIn());
  if (!positions || positions->isConstant())
    return;
  ImplicitLocOpBuilder b(conversion.getLoc(), conversion);
  Value position = arith::IndexCastOp::create(b, b.getI32Type(), positions->first(b));
  Value first = arith::SIToFPOp::create(b, b.getF32Type(), position);
  Value numbers = sm::LinearOp::create(b, type, first, positions->steps());
  if (magnitude)
    numbers = math::AbsFOp::create(b, numbers);
  conversion.replaceAllUsesWith(numbers);
  conversion.erase();
}

/// The bound on positions of 32 bits. The first element of a tile is at most this far from 0, and the other elements
/// are at most this far from the first.
constexpr int64_t far = int64_t(1) << 30;

/// Clamps `number`, the first element of a tile, to [-far, far]. All elements of the tile stay on the same side of 0.
static Value nearZero(ImplicitLocOpBuilder &b, Value number) {
  number = arith::MinSIOp::create(b, number, arith::ConstantIndexOp::create(b, far));
  number = arith::MaxSIOp::create(b, number, arith::ConstantIndexOp::create(b, -far));
  return arith::IndexCastOp::create(b, b.getI32Type(), number);
}

/// Returns true if the tile grows along several dimensions. Positions along only one dimension cost little without this
/// pass, if warps compute them for their loads anyway.
static bool growsAlongSeveral(const AffineTile &tile) {
  return llvm::count_if(tile.steps(), [](int64_t step) { return step != 0; }) > 1;
}

static bool isNarrow(const AffineTile &tile, ArrayRef<int64_t> shape) {
  int64_t room = far;
  for (auto [step, size] : llvm::zip_equal(tile.steps(), shape)) {
    if (std::abs(step) > room / size)
      return false;
    room -= std::abs(step) * size;
  }
  return true;
}

static void compareWithConstant(arith::CmpIOp compare) {
  auto type = dyn_cast<RankedTensorType>(compare.getType());
  std::optional<AffineTile> excess = type ? AffineTiles().excess(compare) : std::nullopt;
  if (!excess || excess->isConstant() || !isNarrow(*excess, type.getShape()))
    return;
  if (!growsAlongSeveral(*excess) && !tile::wantsRoles(compare))
    return;
  ImplicitLocOpBuilder b(compare.getLoc(), compare);
  auto numbers = RankedTensorType::get(type.getShape(), b.getI32Type());
  Value linear = sm::LinearOp::create(b, numbers, nearZero(b, excess->first(b)), excess->steps());
  Value zero = arith::ConstantOp::create(b, DenseElementsAttr::get(numbers, b.getI32IntegerAttr(0)));
  Value isWithin = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, linear, zero);
  compare.replaceAllUsesWith(isWithin);
  compare.erase();
}

namespace {
struct LinearPositions : simplify::impl::LinearPositionsBase<LinearPositions> {
  void runOnOperation() override {
    getOperation()->walk(countUp);
    getOperation()->walk(compareWithConstant);
  }
};
} // namespace
