// SPDX-License-Identifier: MIT
// Lowering of products whose accumulators are in tensor memory.
#include "compiler/cuda/threads/lower/Descriptors.h"
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static bool isLast(sm::TensorAllocOp alloc) {
  auto allocs = alloc->getBlock()->getOps<sm::TensorAllocOp>();
  return llvm::none_of(allocs, [&](sm::TensorAllocOp other) { return alloc->isBeforeInBlock(other); });
}

/// Allocates the columns by one warp, which hands their address to the others through shared memory.
static void lower(Threads &t, sm::TensorAllocOp op) {
  constexpr int64_t addressBytes = 8;
  Value place = t.reserve(addressBytes);
  t.onlyIf(t.isFirstWarp(), [&] {
    t.gpu.allocateTensor(place, op.getType().allocated());
    if (isLast(op))
      t.gpu.relinquishTensor();
  });
  t.gpu.barrier();
  t.define(op.getResult(), t.gpu.loadShared(t.b.getI32Type(), 1, place));
}

static void lower(Threads &t, sm::TensorFreeOp op) {
  t.onlyIf(t.isFirstWarp(), [&] {
    t.gpu.fenceTensorAfter();
    t.gpu.freeTensor(t.scalar(op.getSums()), op.getSums().getType().allocated());
  });
}

/// Returns the address of a slot, in lane 0.
static Value slotOf(Threads &t, TypedValue<sm::TensorMemoryType> sums, Value slot) {
  return t.s.add(t.scalar(sums), t.s.mul(t.scalar(slot), sums.getType().getColumns()));
}

static void lower(Threads &t, sm::Tcgen05Op op) {
  const SharedOperand lhs(t, op.getLhs(), /*kIsRow=*/op.getTransposeLhs());
  const SharedOperand rhs(t, op.getRhs(), /*kIsRow=*/!op.getTransposeRhs());
  const emit::TensorMma type{sm::mmaElement(op.getRhs().getType().getElementType())->name,
                             static_cast<unsigned>(op.getSums().getType().getColumns()),
                             {op.getTransposeLhs(), !op.getTransposeRhs()}};
  Value to = slotOf(t, op.getSums(), op.getSlot()), accumulates = t.scalar(op.getAccumulates());
  const int64_t steps = llvm::divideCeil(op.getDepth(), lhs.depthOfStep());
  for (int64_t step = 0; step < steps; ++step)
    t.gpu.multiplyToTensor(type, to, lhs.at(step), rhs.at(step), step == 0 ? accumulates : t.s.i1(true));
}

/// Loads the columns of a thread, as many at once as the largest power of 2 that divides them.
static SmallVector<Value> loadColumns(Threads &t, Value from, int64_t columns) {
  constexpr int64_t most = 32;
  const int64_t atOnce = std::min<int64_t>(most, columns & -columns);
  SmallVector<Value> loaded;
  for (int64_t column = 0; column < columns; column += atOnce)
    llvm::append_range(loaded, t.gpu.loadTensor(t.s.add(from, column), atOnce));
  t.gpu.fenceTensorBefore();
  return loaded;
}

static void lower(Threads &t, sm::TensorReadOp op) {
  constexpr int64_t laneShift = 16;
  const unsigned columns = registerCount(op.getType());
  Value warp = t.s.rem(t.warp(), sm::kWarpsPerWarpgroup);
  Value from = t.s.add(slotOf(t, op.getSums(), op.getSlot()), t.s.mul(warp, sm::kWarpSize << laneShift));
  from = t.s.add(from, t.s.mul(warpgroupOf(t), int64_t(columns)));
  auto load = [&] { return loadColumns(t, from, columns); };
  auto clear = [&] { return SmallVector<Value>(columns, t.zero(t.b.getF32Type())); };
  t.define(op.getResult(),
           t.either(t.scalar(op.getWritten()), SmallVector<Type>(columns, t.b.getF32Type()), load, clear));
}

void cuda::addTensorMemoryLowerings(Lowerings &known) {
  known.add<sm::TensorAllocOp, sm::TensorFreeOp, sm::Tcgen05Op, sm::TensorReadOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
