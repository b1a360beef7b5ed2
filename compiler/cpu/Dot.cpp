// SPDX-License-Identifier: MIT
// Matrix products: C += A B with a block of C in registers (Goto and van de Geijn 2008, the innermost two loops). Tiles
// are small enough for the caches without further blocking.
#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

/// The number of terms in one partial sum of an f32 product. The rounding error of a plain sum grows with its number n
/// of terms. The error of a sum of partial sums grows with the square root of n times the chunk. Partial sums halve the
/// error of f32 attention and cost a tenth of its speed. Narrower operands have larger errors of their own, and their
/// terms are summed at once.
constexpr int64_t kExactChunk = 32;

/// An emitter of one dot in a canonical form, in which vectors run along the columns of C. A column-major C is the
/// transpose of a row-major C^T = B^T A^T, so the operands change roles.
class DotEmitter {
public:
  DotEmitter(Lowering &lowering, tile::DotOp dot, Buffer target)
      : l(lowering), b(lowering.builder_), loc(lowering.loc()), dot(dot), target(target),
        flipped(target.order == Order::Column) {
    auto type = tileType(dot.getResult());
    auto lhsType = tileType(dot.getLhs());
    depth = lhsType.getDimSize(dot.getTransposeLhs() ? 0 : 1);
    rows = type.getDimSize(flipped ? 1 : 0);
    vectors = llvm::divideCeil(type.getDimSize(flipped ? 0 : 1), l.lanes_);
    vectorOperand = flipped ? dot.getLhs() : dot.getRhs();
    vectorElement = tileType(vectorOperand).getElementType();
    scalarOperand = flipped ? dot.getRhs() : dot.getLhs();
    bool exact = lhsType.getElementType().isF32() && tileType(dot.getRhs()).getElementType().isF32();
    chunk = exact ? kExactChunk : depth;
    // Registers hold the accumulators, a row of B and an element of A. 16 registers hold 6 x 2 accumulators, and 32
    // hold 12 x 2. Fewer rows have wider blocks, in panels of equal width.
    const int64_t registers = l.lanes_ >= 16 ? 32 : 16;
    blockRows = std::min(rows, registers / 2 - registers / 8);
    const int64_t widest = (registers - 1) / (blockRows + 1), panels = llvm::divideCeil(vectors, widest);
    blockVectors = llvm::divideCeil(vectors, panels);
  }

  void emit() {
    vectorBuffer = dot->hasAttr(kPackAttr) ? pack() : l.buffers_.lookup(vectorOperand);
    // A panel of columns of B stays in the first-level cache while all row blocks use it.
    l.forBlocks(vectors * l.lanes_, blockVectors * l.lanes_, [&](Value column, int64_t width) {
      l.forBlocks(rows, blockRows, [&](Value row, int64_t height) { block(row, column, height, width / l.lanes_); });
    });
  }

private:
  /// Copies the vector operand so that vectors run along its contiguous dimension.
  Buffer pack() {
    Buffer source = l.buffers_.lookup(vectorOperand);
    Buffer copy = l.allocate(tileType(vectorOperand), source.order == Order::Row ? Order::Column : Order::Row);
    l.materialize(vectorOperand, copy);
    return copy;
  }

  // Accumulators start at 0, and the initial value of C is added at the end. Rounding is then relative to this dot's
  // sum, not to a running total over all tiles.
  void block(Value row, Value column, int64_t height, int64_t width) {
    if (depth <= chunk) {
      SmallVector<Value> sums = product(row, column, l.index(0), depth, height, width);
      return forEach(row, column, height, width, [&](int64_t at, Value i, Value j) {
        store(dot.getAcc() ? add(initial(i, j), sums[at]) : sums[at], i, j);
      });
    }
    forEach(row, column, height, width, [&](int64_t, Value i, Value j) { store(initial(i, j), i, j); });
    l.forBlocks(depth, chunk, [&](Value k, int64_t steps) { addMma(row, column, k, steps, height, width); });
  }

  void addMma(Value row, Value column, Value k, int64_t steps, int64_t height, int64_t width) {
    SmallVector<Value> sums = product(row, column, k, steps, height, width);
    forEach(row, column, height, width, [&](int64_t at, Value i, Value j) {
      Value old = vector::LoadOp::create(b, loc, vectorType(), target.memory, ValueRange{i, j});
      store(add(old, sums[at]), i, j);
    });
  }

  /// Emits `steps` steps of the dot from `k` on, for a block of C in registers. Returns the accumulators.
  SmallVector<Value> product(Value row, Value column, Value k, int64_t steps, int64_t height, int64_t width) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType()));
    int64_t unroll = steps % 2 == 0 ? 2 : 1;
    auto loop = scf::ForOp::create(b, loc, l.index(0), l.index(steps), l.index(unroll),
                                   SmallVector<Value>(height * width, zero));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> running(loop.getRegionIterArgs());
    Value first = arith::AddIOp::create(b, loc, k, loop.getInductionVar());
    for (int64_t i = 0; i < unroll; ++i)
      step(running, row, column, l.plus(first, i), height, width);
    scf::YieldOp::create(b, loc, running);
    return loop.getResults();
  }

  void forEach(Value row, Value column, int64_t height, int64_t width,
               llvm::function_ref<void(int64_t, Value, Value)> body) {
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        body(i * width + j, l.plus(row, i), l.plus(column, j * l.lanes_));
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  void store(Value value, Value row, Value column) {
    vector::StoreOp::create(b, loc, value, target.memory, ValueRange{row, column});
  }
  VectorType vectorType() { return VectorType::get({l.lanes_}, b.getF32Type()); }

  /// Returns the initial value of C at one vector.
  Value initial(Value row, Value column) {
    if (!dot.getAcc())
      return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType()));
    // Makes an op to insert before. The sums of one block come before it in order.
    Operation *end = l.index(0).getDefiningOp();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(end);
    SmallVector<Value, 2> position{row, column};
    if (flipped)
      std::swap(position[0], position[1]);
    Nest nest = l.here(position);
    return l.element(nest, dot.getAcc(), nest.position, flipped ? 0 : 1).value;
  }

  void step(SmallVector<Value> &sums, Value row, Value column, Value k, int64_t height, int64_t width) {
    SmallVector<Value> vectors;
    l.prefetchAhead(vectorBuffer, k, column, width * l.lanes_);
    for (int64_t j = 0; j < width; ++j)
      vectors.push_back(l.factorVector(vectorBuffer.memory, vectorElement, {k, l.plus(column, j * l.lanes_)}));
    for (int64_t i = 0; i < height; ++i) {
      Value factor = l.splat(scalarAt(l.plus(row, i), k));
      for (int64_t j = 0; j < width; ++j)
        sums[i * width + j] = math::FmaOp::create(b, loc, factor, vectors[j], sums[i * width + j]);
    }
  }

  /// Returns the scalar operand's element for row `row` of C and step `k`, in any order of its buffer.
  Value scalarAt(Value row, Value k) {
    Buffer buffer = l.buffers_.lookup(scalarOperand);
    bool kIsFirst = flipped ? !dot.getTransposeRhs() : dot.getTransposeLhs();
    bool kIsOuter = kIsFirst == (buffer.order == Order::Row);
    return memref::LoadOp::create(b, loc, buffer.memory, kIsOuter ? ValueRange{k, row} : ValueRange{row, k});
  }

  Lowering &l;
  OpBuilder &b;
  Location loc;
  tile::DotOp dot;
  Buffer target;
  bool flipped;
  int64_t depth, rows, vectors, blockRows, blockVectors, chunk;
  Value vectorOperand, scalarOperand;
  Buffer vectorBuffer;
  Type vectorElement;
};

/// The bytes that a core requests from memory before it uses them: its share of the memory's speed times the latency.
/// Without prefetches, memory is idle while the core computes.
constexpr int64_t kBytesAhead = 8192;

void Lowering::prefetchAhead(const Buffer &factor, Value row, Value column, int64_t count) {
  if (!factor.isTensor)
    return;
  auto type = cast<MemRefType>(factor.memory.getType());
  const int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value ahead = plus(row, llvm::divideCeil(kBytesAhead, type.getDimSize(1) * bytes));
  if (!factor.continues)
    ahead = arith::MinSIOp::create(builder_, loc(), ahead, index(type.getDimSize(0) - 1));
  for (int64_t i = 0; i < count; i += kCacheLine / bytes)
    memref::PrefetchOp::create(builder_, loc(), factor.memory, ValueRange{ahead, plus(column, i)}, /*isWrite=*/false,
                               /*localityHint=*/3, /*isDataCache=*/true);
}

Value Lowering::factorVector(Value memory, Type element, ValueRange at) {
  Type stored = cast<MemRefType>(memory.getType()).getElementType();
  Value vector = vector::LoadOp::create(builder_, loc(), VectorType::get({lanes_}, stored), memory, at);
  return stored.isF32() ? vector : widen(builder_, loc(), vector, element);
}

void Lowering::forBlocks(int64_t size, int64_t step, llvm::function_ref<void(Value, int64_t)> body) {
  const int64_t whole = size / step * step;
  if (whole) {
    auto loop = scf::ForOp::create(builder_, loc(), index(0), index(whole), index(step));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar(), step);
  }
  if (size != whole)
    body(index(whole), size - whole);
}

void Lowering::lowerDot(tile::DotOp dot) {
  Buffer target = bufferFor(dot);
  if (dot->hasAttr(kAlongDepthAttr))
    lowerDotAlongDepth(dot, target);
  else
    DotEmitter(*this, dot, target).emit();
  buffers_[dot.getResult()] = target;
}

} // namespace tegula::cpu
