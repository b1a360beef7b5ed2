// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_BLOCKRANDOM
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// The calls of the generator belong to blocks of this many rows and columns.
constexpr int64_t kBlock = 16;

/// Returns the positions as an affine tile, if they count up along `dim` from a multiple of 16 on. A dimension of size
/// 1 may start anywhere. Returns nothing for other positions.
static std::optional<AffineTile> positionsOfBlock(Value positions, size_t dim) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(positions.getType()).getShape();
  std::optional<AffineTile> tile = AffineTiles().find(positions);
  if (!tile || !tile->countsAlong(dim, shape) || (shape[dim] > 1 && !tile->firstIsMultipleOf(kBlock)))
    return std::nullopt;
  return tile;
}

/// Returns the numbers of `op` as those of a block whose rows lie along `rows`, dimension 0 or 1. Returns null if its
/// positions are not those of a block.
static Value asBlock(ImplicitLocOpBuilder &b, tile::RandomOp op, size_t rows) {
  const std::optional<AffineTile> row = positionsOfBlock(op.getRow(), rows);
  const std::optional<AffineTile> column = positionsOfBlock(op.getColumn(), 1 - rows);
  if (!row || !column)
    return {};
  auto first = [&](const AffineTile &tile) { return arith::IndexCastOp::create(b, b.getI32Type(), tile.first(b)); };
  const Value firstRow = first(*row), firstColumn = first(*column);
  auto type = cast<RankedTensorType>(op.getType());
  const SmallVector<int64_t> shape = {type.getDimSize(rows), type.getDimSize(1 - rows)};
  Value block = sm::RandomOp::create(b, type.clone(shape), op.getSeed(), op.getOffset(), op.getStream(), firstRow,
                                     firstColumn, op.getBits(), op.getRounds());
  return rows == 0 ? block : tile::TransposeOp::create(b, type, block, ArrayRef<int64_t>{1, 0}).getResult();
}

static void makeBlock(tile::RandomOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value block;
  for (size_t rows = 0; rows < 2 && !block && type.getRank() == 2; ++rows)
    block = asBlock(b, op, rows);
  if (!block) {
    op.emitRemark(
        "each random number takes a call of the generator; calls are shared among the elements of a matrix whose "
        "rows and columns count up from multiples of 16");
    return;
  }
  op.replaceAllUsesWith(block);
  op.erase();
}

namespace {
struct BlockRandom : simplify::impl::BlockRandomBase<BlockRandom> {
  void runOnOperation() override { getOperation()->walk(makeBlock); }
};
} // namespace
