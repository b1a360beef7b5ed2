// SPDX-License-Identifier: MIT
// Lowering of products whose accumulators are in tensor memory.
#include "compiler/cuda/threads/lower/Descriptors.h"
#include "compiler/cuda/threads/lower/Lower.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

/// Emits code for the first warp of the role or of the thread block.
static void byFirstWarp(Threads &t, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.s.compare(Compare::eq, t.warp(), 0)).thenBlock());
  emit();
}

static bool isLast(sm::TensorAllocOp alloc) {
  auto allocs = alloc->getBlock()->getOps<sm::TensorAllocOp>();
  return llvm::none_of(allocs, [&](sm::TensorAllocOp other) { return alloc->isBeforeInBlock(other); });
}

/// Allocates the columns by one warp, which hands their address to the others through shared memory.
static LogicalResult lower(Threads &t, sm::TensorAllocOp op) {
  constexpr int64_t addressBytes = 8;
  Value place = t.reserve(addressBytes);
  byFirstWarp(t, [&] {
    t.gpu.allocateTensor(place, op.getType().allocated());
    if (isLast(op))
      t.gpu.relinquishTensor();
  });
  t.gpu.barrier();
  t.define(op.getResult(), t.gpu.loadShared(t.b.getI32Type(), 1, place));
  return success();
}

static LogicalResult lower(Threads &t, sm::TensorFreeOp op) {
  byFirstWarp(t, [&] {
    t.gpu.fenceTensorAfter();
    t.gpu.freeTensor(t.scalar(op.getSums()), op.getSums().getType().allocated());
  });
  return success();
}

/// Returns the address of a slot, in lane 0.
static Value slotOf(Threads &t, TypedValue<sm::TensorMemoryType> sums, Value slot) {
  return t.s.add(t.scalar(sums), t.s.mul(t.scalar(slot), sums.getType().getColumns()));
}

static LogicalResult lower(Threads &t, sm::Tcgen05Op op) {
  const SharedOperand lhs(t, op.getLhs(), /*kIsRow=*/op.getTransposeLhs());
  const SharedOperand rhs(t, op.getRhs(), /*kIsRow=*/!op.getTransposeRhs());
  const emit::TensorMma type{sm::mmaElement(op.getRhs().getType().getElementType())->name,
                             static_cast<unsigned>(op.getSums().getType().getColumns()),
                             {op.getTransposeLhs(), !op.getTransposeRhs()}};
  Value to = slotOf(t, op.getSums(), op.getSlot()), accumulates = t.scalar(op.getAccumulates());
  const int64_t steps = llvm::divideCeil(op.getDepth(), lhs.depthOfStep());
  for (int64_t step = 0; step < steps; ++step)
    t.gpu.multiplyToTensor(type, to, lhs.at(step), rhs.at(step), step == 0 ? accumulates : t.s.i1(true));
  return success();
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

static LogicalResult lower(Threads &t, sm::TensorReadOp op) {
  constexpr int64_t laneShift = 16;
  const unsigned columns = registerCount(op.getType());
  Value warpgroup = t.s.div(t.warp(), sm::kWarpsPerWarpgroup), warp = t.s.rem(t.warp(), sm::kWarpsPerWarpgroup);
  Value from = t.s.add(slotOf(t, op.getSums(), op.getSlot()), t.s.mul(warp, sm::kWarpSize << laneShift));
  from = t.s.add(from, t.s.mul(warpgroup, int64_t(columns)));
  Value zero = arith::ConstantOp::create(t.b, t.b.getF32FloatAttr(0));
  t.define(op.getResult(),
           t.either(
               t.scalar(op.getWritten()), SmallVector<Type>(columns, t.b.getF32Type()),
               [&] { return loadColumns(t, from, columns); }, [&] { return SmallVector<Value>(columns, zero); }));
  return success();
}

void cuda::addTensorMemoryLowerings(Lowerings &known) {
  known.add<sm::TensorAllocOp, sm::TensorFreeOp, sm::Tcgen05Op, sm::TensorReadOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
