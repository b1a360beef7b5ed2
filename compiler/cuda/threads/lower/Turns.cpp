// SPDX-License-Identifier: MIT
// Turns that program instances take one after another, arrivals and work indices, by counters in memory.
#include "compiler/cuda/threads/lower/Boxes.h"
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

/// Returns the address of the counter at these coordinates of a tensor, the innermost dimension first; 0 outside it.
static Value counterAt(Threads &t, const View &tensor, ArrayRef<Value> coordinates) {
  Value inside, address = tensor.base;
  for (auto [at, size, stride] : llvm::zip_equal(llvm::reverse(coordinates), tensor.sizes, tensor.strides)) {
    Value index = t.s.toIndex(at);
    inside = t.s.both(inside, t.s.compare(Compare::ult, index, size));
    address = t.s.add(address, t.s.mul(t.s.toI64(index), t.s.mul(t.s.toI64(stride), tensor.elementBytes())));
  }
  return t.s.select(inside, address, t.s.i64(0));
}

/// Computes the address from coordinates, which have 32 bits: the address of a slice would take more registers
/// throughout a loop.
static Value counterOf(Threads &t, TypedValue<tile::ViewType> counters, ValueRange place) {
  return counterAt(t, t.view(tile::rootOf(counters)), coordinatesOf(t, counters, place));
}
template <class Op> static Value counterOf(Threads &t, Op op) { return counterOf(t, op.getTurns(), op.getPlace()); }

/// Emits what the first thread of the role or of the thread block does.
static void byFirstThread(Threads &t, function_ref<void()> emit) {
  t.onlyIf(t.warps() > 1 ? t.isFirstWarp() : Value(), [&] { t.onlyIf(t.isFirstLane(), emit); });
}

/// Returns the i32 that `emit` returns for a counter, or 0 if there is no counter.
static Value ifCounts(Threads &t, Value counter, function_ref<Value()> emit) {
  auto number = [&]() -> SmallVector<Value> { return {emit()}; };
  auto none = [&]() -> SmallVector<Value> { return {t.s.i32(0)}; };
  return t.either(t.s.compare(Compare::ne, counter, 0), t.b.getI32Type(), number, none).front();
}

/// Emits what one thread does with its counter, if that exists. All lanes of a role of one warp compute the address,
/// once for the wait and for what passes the turn on. Others have no registers for it.
template <class Op> static void withCounter(Threads &t, Op op, function_ref<void(Value)> emit) {
  Value early = t.warps() == 1 ? counterOf(t, op) : Value();
  byFirstThread(t, [&] {
    Value counter = early ? early : counterOf(t, op);
    t.onlyIf(t.s.compare(Compare::ne, counter, 0), [&] { emit(counter); });
  });
}

/// All lanes test what is known of the counter, before one of them has a branch of its own. If the turn has come, the
/// warp then stays together.
static void lower(Threads &t, sm::WaitMemoryTurnOp op) {
  Value isLate = op.getKnown() ? t.s.compare(Compare::slt, t.scalar(op.getKnown()), t.scalar(op.getNumber())) : Value();
  withCounter(t, op,
              [&](Value counter) { t.onlyIf(isLate, [&] { t.gpu.waitForTurn(counter, t.scalar(op.getNumber())); }); });
}

static void lower(Threads &t, sm::ReadMemoryTurnOp op) {
  Value counter = counterOf(t, op);
  t.define(op.getResult(), ifCounts(t, counter, [&] { return t.gpu.readTurn(counter); }));
}

static void lower(Threads &t, sm::PassMemoryTurnOp op) {
  withCounter(t, op, [&](Value counter) { t.gpu.passTurn(counter, t.scalar(op.getNumber())); });
}

//===-- One thread for all ---------------------------------------------------------------------------------------===//

static void lower(Threads &t, sm::DrawWorkOp op) {
  Value word = t.sharedWord(), counter = t.view(op.getCounter()).base;
  byFirstThread(t, [&] { t.gpu.storeShared(t.gpu.fetchIncrement(counter), word); });
}

static void lower(Threads &t, sm::ArriveOp op) {
  Value word = t.sharedWord();
  byFirstThread(t, [&] {
    Value counter = counterOf(t, op.getCounters(), op.getPlace()), last = t.s.sub(t.scalar(op.getCount()), t.s.i32(1));
    auto arrive = [&] { return t.s.toI32(t.s.compare(Compare::eq, t.gpu.arriveAtCounter(counter, last), last)); };
    t.gpu.storeShared(ifCounts(t, counter, arrive), word);
  });
}

static void lower(Threads &t, sm::ReadWordOp op) {
  t.define(op.getResult(), t.gpu.loadShared(t.b.getI32Type(), 1, t.sharedWord()));
}

void cuda::addTurnLowerings(Lowerings &known) {
  known.add<sm::WaitMemoryTurnOp, sm::ReadMemoryTurnOp, sm::PassMemoryTurnOp, sm::DrawWorkOp, sm::ArriveOp,
            sm::ReadWordOp>([](Threads &t, auto op) { return lower(t, op); });
}
