// SPDX-License-Identifier: MIT
// Addresses in shared memory, and the ops that order accesses to it.
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

Value Threads::sharedMemory(int64_t offset) {
  if (!sharedBase_)
    sharedBase_ = atEntry([&] { return gpu.sharedBase(); });
  return s.add(sharedBase_, offset);
}

Value Threads::scratch(int64_t bytes) {
  if (!scratchOffset_)
    scratchOffset_ = llvm::alignTo(sharedBytes_, 16);
  sharedBytes_ = std::max(sharedBytes_, *scratchOffset_ + bytes);
  return sharedMemory(*scratchOffset_);
}

Value Threads::reserve(int64_t bytes) {
  int64_t offset = llvm::alignTo(sharedBytes_, 8);
  sharedBytes_ = offset + bytes;
  scratchOffset_.reset(); // Scratch memory must not grow into this.
  return sharedMemory(offset);
}

Value Threads::sharedWord() {
  if (!sharedWordOffset_) {
    sharedWordOffset_ = llvm::alignTo(sharedBytes_, 8);
    return reserve(4);
  }
  return sharedMemory(*sharedWordOffset_);
}

void Threads::barrier() {
  if (role_ && warps_ == 1)
    gpu.syncWarp();
  else if (role_)
    gpu.barrier(s.i32(role_->barrier()), warps_ * sm::kWarpSize);
  else
    gpu.barrier();
}

static LogicalResult lower(Threads &t, sm::AllocOp op) {
  if (!op.getOffset())
    return op.emitError("has no place in shared memory; plan-shared gives it one");
  t.define(op.getResult(), t.sharedMemory(*op.getOffset()));
  return success();
}

static void lower(Threads &t, sm::SlotOp op) {
  Value offset = t.s.mul(t.scalar(op.getIndex()), op.getRing().getType().slotBytes());
  t.define(op.getResult(), t.s.add(t.sharedAddress(op.getRing()), offset));
}

static void lower(Threads &t, sm::ColumnsOp op) {
  sm::SharedType type = op.getMatrix().getType();
  int64_t offset = type.getShape()[0] * op.getFirst() * type.elementBytes(); // Panels follow each other.
  t.define(op.getResult(), t.s.add(t.sharedAddress(op.getMatrix()), offset));
}

static void lower(Threads &t, sm::CommitOp op) {
  if (!op.getJoinsNext())
    t.gpu.commitCopies();
  t.define(op.getCopies(), ArrayRef<Value>());
}

static void lower(Threads &t, sm::WaitOp op) { t.gpu.waitCopies(op.getPending().value_or(0)); }

static void lower(Threads &t, sm::TmaStoreWaitOp op) {
  op.getWritten() ? t.gpu.waitBoxesWritten() : t.gpu.waitBoxes(op.getPending().value_or(0));
}

static void lower(Threads &t, sm::BarrierOp op) {
  if (op.getWarp())
    t.gpu.syncWarp();
  else
    t.barrier();
}

static void lower(Threads &t, sm::ProxyFenceOp op) { op.getTensors() ? t.gpu.fenceAsyncTensors() : t.gpu.fenceAsync(); }

void cuda::addBufferLowerings(Lowerings &known) {
  known.add<sm::AllocOp, sm::SlotOp, sm::ColumnsOp, sm::CommitOp, sm::WaitOp, sm::TmaStoreWaitOp, sm::BarrierOp,
            sm::ProxyFenceOp>([](Threads &t, auto op) { return lower(t, op); });
}
