// SPDX-License-Identifier: MIT
// Lowering of sm.wgmma, of sm.await and of sm.pack.
#include "compiler/cuda/threads/lower/Descriptors.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Storage.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static void lower(Threads &t, sm::PackOp op) {
  auto tile = cast<RankedTensorType>(op.getSource().getType());
  TypedAttr zero = t.b.getZeroAttr(tile.getElementType());
  auto element = [&](unsigned reg) { return t.insideOr(tile, reg, 1, t.registers(op.getSource())[reg], zero); };
  SmallVector<Value> words;
  for (unsigned reg = 0; reg < registerCount(tile); reg += 2) {
    Value low = element(reg), high = element(reg + 1);
    words.push_back(t.gpu.pack(low, high));
  }
  t.define(op.getResult(), words);
}

namespace {
/// The share of a warpgroup in an MMA.
struct Share {
  Value rows, columns; ///< Which part of the rows and columns, counted from 0.
};
} // namespace

static Share shareOf(Threads &t, const sm::Fragments &grid) {
  Value warpgroup = warpgroupOf(t);
  if (grid.warpsN == 1)
    return {warpgroup, t.s.i32(0)};
  const int64_t alongRows = grid.warpsM / sm::kWarpsPerWarpgroup;
  return {t.s.rem(warpgroup, alongRows), t.s.div(warpgroup, alongRows)};
}

static emit::WgmmaType typeOf(sm::WgmmaOp op) {
  const sm::MmaElement element = *sm::mmaElement(op.getRhs().getType().getElementType());
  emit::WgmmaType type{element.name, element.depth, std::nullopt};
  if (!element.mustBeKMajor)
    type.transposes = {op.getTransposeLhs(), !op.getTransposeRhs()};
  return type;
}

/// Multiplies all steps of the depth for each block of 64 rows, and returns the sums of all blocks.
static SmallVector<Value> multiply(Threads &t, sm::WgmmaOp op, const std::optional<SharedOperand> &lhs,
                                   const SharedOperand &rhs, ArrayRef<Value> initial, const sm::Fragments &grid) {
  constexpr int64_t wordsOfStep = 4;
  const int64_t steps = llvm::divideCeil(op.getDepth(), rhs.depthOfStep());
  const unsigned columns = 16 * grid.columns;
  const emit::WgmmaType type = typeOf(op);
  ArrayRef<Value> words = lhs ? ArrayRef<Value>() : t.registers(op.getLhs());
  SmallVector<SmallVector<Value>> sums(grid.rows);
  for (int64_t block = 0; !initial.empty() && block < grid.rows; ++block)
    sums[block] = SmallVector<Value>(initial.slice(block * columns / 2, columns / 2));
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t block = 0; block < grid.rows; ++block) {
      SmallVector<Value> a = lhs ? SmallVector<Value>{lhs->at(step, block * grid.rowStride)}
                                 : SmallVector<Value>(words.slice(wordsOfStep * (block * steps + step), wordsOfStep));
      sums[block] = t.gpu.multiplyAsync(type, columns, a, rhs.at(step), sums[block]);
    }
  SmallVector<Value> all;
  for (ArrayRef<Value> ofBlock : sums)
    llvm::append_range(all, ofBlock);
  return all;
}

/// Copies repeated registers among the first values of accumulators, so that each accumulator has its own, for this
/// MMA and those that start with it. ptxas waits for an MMA in flight before such copies (C7517).
static void separateAccumulators(Threads &t, sm::WgmmaOp first) {
  for (Operation *op = first; op && !isa<sm::AwaitOp>(op); op = op->getNextNode()) {
    auto mma = dyn_cast<sm::WgmmaOp>(op);
    Operation *start = mma && mma.getAcc() ? mma.getAcc().getDefiningOp() : nullptr;
    if (start && mma.getAcc().hasOneUse() && start->getBlock() == first->getBlock() && start->isBeforeInBlock(first))
      t.define(mma.getAcc(), t.gpu.distinct(t.registers(mma.getAcc())));
  }
}

static void lower(Threads &t, sm::WgmmaOp op) {
  const sm::Fragments grid = *sm::warpgroupFragments(sm::layoutOf(op.getType().getTile()));
  const Share share = shareOf(t, grid);
  std::optional<SharedOperand> lhs;
  if (isa<sm::SharedType>(op.getLhs().getType())) {
    lhs.emplace(t, op.getLhs(), /*kIsRow=*/op.getTransposeLhs());
    lhs->skip(share.rows, sm::kRowsPerWarpgroup);
  }
  SharedOperand rhs(t, op.getRhs(), /*kIsRow=*/!op.getTransposeRhs());
  if (grid.warpsN > 1)
    rhs.skip(share.columns, 16 * grid.columns);
  if (op.getFenced())
    separateAccumulators(t, op);
  SmallVector<Value> initial = op.getAcc() ? t.gpu.distinct(t.registers(op.getAcc())) : SmallVector<Value>();
  if (op.getFenced())
    t.gpu.fenceMmas();
  SmallVector<Value> sums = multiply(t, op, lhs, rhs, initial, grid);
  t.gpu.commitMmas();
  t.define(op.getResult(), sums);
}

static void lower(Threads &t, sm::AwaitOp op) {
  const auto pending = static_cast<unsigned>(op.getPending().value_or(0));
  if (op.getReads())
    t.gpu.waitMmas(pending, {});
  else
    t.define(op.getResult(), t.gpu.waitMmas(pending, t.registers(op.getHandle())));
}

void cuda::addWarpgroupLowerings(Lowerings &known) {
  known.add<sm::PackOp, sm::WgmmaOp, sm::AwaitOp>([](Threads &t, auto op) { return lower(t, op); });
}
