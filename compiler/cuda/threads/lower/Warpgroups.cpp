// SPDX-License-Identifier: MIT
// Lowering of sm.wgmma, of sm.await and of sm.pack.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Storage.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

constexpr int64_t kDepthOfStep = 16, kPanelElements = 64, kElementBytes = 2, kRowBytes = 128;
/// The unit of addresses and distances in a descriptor, in bytes.
constexpr int64_t kUnit = 16;

/// The descriptors of an operand in shared memory.
class Operand {
public:
  /// `kIsRow` is true if the index along the depth k is the row index of the tile as it is stored.
  Operand(Threads &t, Value shared, bool kIsRow)
      : t(t), kIsRow(kIsRow), rows(cast<sm::SharedType>(shared.getType()).getShape()[0]) {
    Value address = arith::ShRUIOp::create(t.b, t.sharedAddress(shared), t.s.i32(4));
    // The distance of panels matters only where the operand's rows or columns, not its depth, lie along them.
    first = t.s.bitOr(address, t.s.i32((kIsRow ? panelBytes() / kUnit : 1) << 16));
  }

  /// Moves the start of the operand by `count` rows.
  void skipRows(Value count) { first = t.s.add(first, t.s.mul(count, kRowBytes / kUnit)); }

  /// Returns the low 32 bits of the descriptor of a step.
  Value at(int64_t step) const {
    int64_t k = step * kDepthOfStep;
    int64_t bytes = kIsRow ? k * kRowBytes : k / kPanelElements * panelBytes() + k % kPanelElements * kElementBytes;
    return t.s.add(first, bytes / kUnit);
  }

private:
  int64_t panelBytes() const { return rows * kRowBytes; }

  Threads &t;
  bool kIsRow;
  int64_t rows;
  Value first;
};

} // namespace

static LogicalResult lower(Threads &t, sm::PackOp op) {
  auto tile = cast<RankedTensorType>(op.getSource().getType());
  Value zero = arith::ConstantOp::create(t.b, t.b.getZeroAttr(tile.getElementType()));
  auto element = [&](unsigned reg) -> Value {
    Value held = t.registers(op.getSource())[reg], inside = t.inside(tile, reg, 1);
    return inside ? t.s.select(inside, held, zero) : held;
  };
  SmallVector<Value> words;
  for (unsigned reg = 0; reg < registerCount(tile); reg += 2) {
    Value low = element(reg), high = element(reg + 1);
    words.push_back(t.gpu.pack(low, high));
  }
  t.define(op.getResult(), words);
  return success();
}

static LogicalResult lower(Threads &t, sm::WgmmaOp op) {
  constexpr int64_t wordsOfStep = 4;
  int64_t steps = llvm::divideCeil(op.getDepth(), kDepthOfStep);
  std::optional<Operand> lhs;
  ArrayRef<Value> words;
  if (isa<sm::SharedType>(op.getLhs().getType())) {
    lhs.emplace(t, op.getLhs(), /*kIsRow=*/false);
    lhs->skipRows(t.s.mul(t.s.div(t.warp(), sm::kWarpsPerWarpgroup), sm::kRowsPerWarpgroup));
  } else {
    words = t.registers(op.getLhs());
  }
  Operand rhs(t, op.getRhs(), /*kIsRow=*/!op.getTransposeRhs());
  SmallVector<Value> sums;
  if (op.getAcc())
    sums.assign(t.registers(op.getAcc()).begin(), t.registers(op.getAcc()).end());
  unsigned columns = 2 * registerCount(op.getType().getTile());
  // Accumulators in flight need no fence (PTX ISA, wgmma.fence).
  const bool isInFlight = op.getAcc() && isa<sm::InflightType>(op.getAcc().getType());
  if (!isInFlight || !lhs)
    t.gpu.fenceMmas();
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Value> a =
        lhs ? SmallVector<Value>{lhs->at(step)} : SmallVector<Value>(words.slice(wordsOfStep * step, wordsOfStep));
    sums = t.gpu.multiplyAsync(op.getRhs().getType().getElementType(), columns, a, rhs.at(step), sums,
                               /*transposeA=*/false, /*transposeB=*/!op.getTransposeRhs());
  }
  t.gpu.commitMmas();
  t.define(op.getResult(), sums);
  return success();
}

static LogicalResult lower(Threads &t, sm::AwaitOp op) {
  const auto pending = static_cast<unsigned>(op.getPending().value_or(0));
  if (op.getReads())
    t.gpu.waitMmas(pending, {});
  else
    t.define(op.getResult(), t.gpu.waitMmas(pending, t.registers(op.getHandle())));
  return success();
}

void cuda::addWarpgroupLowerings(Lowerings &known) {
  known.add<sm::PackOp, sm::WgmmaOp, sm::AwaitOp>([](Threads &t, auto op) { return lower(t, op); });
}
