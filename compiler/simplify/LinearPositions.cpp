// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/IntegerRanges.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

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
  const ConstantIntRanges range = tile::IntegerRanges().of(number);
  if (range.smax().sgt(far))
    number = arith::MinSIOp::create(b, number, arith::ConstantIndexOp::create(b, far));
  if (range.smin().slt(-far))
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

/// Returns true for a comparison as compareWithConstant() makes it.
static bool isWithConstant(arith::CmpIOp compare) {
  return compare.getPredicate() == arith::CmpIPredicate::sle && compare.getLhs().getDefiningOp<sm::LinearOp>() &&
         matchPattern(compare.getRhs(), m_Zero());
}

static void compareWithConstant(arith::CmpIOp compare) {
  if (isWithConstant(compare))
    return;
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

/// Returns the distance of the largest element of a tile from its first one, which is the smallest. Returns nothing if
/// another element is smaller.
static std::optional<int64_t> extent(const AffineTile &tile, ArrayRef<int64_t> shape) {
  int64_t extent = 0;
  for (auto [step, size] : llvm::zip_equal(tile.steps(), shape)) {
    if (step < 0)
      return std::nullopt;
    extent += step * (size - 1);
  }
  return extent;
}

/// Takes the modulus of the first element only, if it is a multiple of a power of two that no other one reaches.
static void countInPeriod(arith::AndIOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  DenseIntElementsAttr mask;
  if (!type || !type.getElementType().isInteger(32) || !matchPattern(op.getRhs(), m_Constant(&mask)) ||
      !mask.isSplat() || !mask.getSplatValue<APInt>().isMask())
    return;
  std::optional<AffineTile> positions = AffineTiles().find(op.getLhs());
  std::optional<int64_t> most = positions ? extent(*positions, type.getShape()) : std::nullopt;
  if (!most || *most == 0)
    return;
  const int64_t period = mask.getSplatValue<APInt>().getZExtValue() + 1;
  const auto aligned = static_cast<int64_t>(llvm::PowerOf2Ceil(*most + 1));
  if (aligned > period || !positions->firstIsMultipleOf(aligned))
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value first = arith::ConstantIndexOp::create(b, 0);
  if (!positions->firstIsMultipleOf(period))
    first = arith::AndIOp::create(b, positions->first(b), arith::ConstantIndexOp::create(b, period - 1));
  first = b.createOrFold<arith::IndexCastOp>(b.getI32Type(), first);
  op.replaceAllUsesWith(sm::LinearOp::create(b, type, first, positions->steps()).getResult());
  op.erase();
}

namespace {
struct LinearPositions : simplify::impl::LinearPositionsBase<LinearPositions> {
  void runOnOperation() override {
    getOperation()->walk(countInPeriod);
    getOperation()->walk(countUp);
    getOperation()->walk(compareWithConstant);
  }
};
} // namespace
