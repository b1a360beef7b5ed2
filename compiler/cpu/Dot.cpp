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
    scalarOperand = flipped ? dot.getRhs() : dot.getLhs();
    bool exact = lhsType.getElementType().isF32() && tileType(dot.getRhs()).getElementType().isF32();
    chunk = exact ? kExactChunk : depth;
    // 16 registers hold 6 x 2 accumulators, 2 vectors of B and one element of A. 32 registers hold twice as many rows.
    blockRows = l.lanes_ >= 16 ? 12 : 6;
  }

  void emit() {
    packed = dot->hasAttr(kPackAttr) ? pack() : l.buffers_.lookup(vectorOperand).memory;
    int64_t paired = vectors / 2 * 2;
    if (paired)
      panels(0, paired, 2);
    if (vectors != paired)
      panels(paired, vectors, 1);
  }

private:
  /// Copies the vector operand so that vectors run along its contiguous dimension.
  Value pack() {
    Buffer source = l.buffers_.lookup(vectorOperand);
    Buffer copy = l.allocate(tileType(vectorOperand), source.order == Order::Row ? Order::Column : Order::Row);
    l.materialize(vectorOperand, copy);
    return copy.memory;
  }

  void loop(int64_t from, int64_t to, int64_t step, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, l.index(from), l.index(to), l.index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar());
  }

  // A panel of columns of B stays in the first-level cache while all row blocks use it.
  void panels(int64_t from, int64_t to, int64_t width) {
    loop(from * l.lanes_, to * l.lanes_, width * l.lanes_, [&](Value column) {
      int64_t whole = rows / blockRows * blockRows;
      if (whole)
        loop(0, whole, blockRows, [&](Value row) { block(row, column, blockRows, width); });
      if (rows != whole)
        block(l.index(whole), column, rows - whole, width);
    });
  }

  Value add(Value x, int64_t y) { return y ? Value(arith::AddIOp::create(b, loc, x, l.index(y))) : x; }

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
    int64_t whole = depth / chunk * chunk;
    loop(0, whole, chunk, [&](Value k) { addMma(row, column, k, chunk, height, width); });
    if (depth != whole)
      addMma(row, column, l.index(whole), depth - whole, height, width);
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
      step(running, row, column, add(first, i), height, width);
    scf::YieldOp::create(b, loc, running);
    return loop.getResults();
  }

  void forEach(Value row, Value column, int64_t height, int64_t width,
               llvm::function_ref<void(int64_t, Value, Value)> body) {
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        body(i * width + j, add(row, i), add(column, j * l.lanes_));
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
    for (int64_t j = 0; j < width; ++j)
      vectors.push_back(vector::LoadOp::create(b, loc, vectorType(), packed, ValueRange{k, add(column, j * l.lanes_)}));
    for (int64_t i = 0; i < height; ++i) {
      Value factor = l.splat(scalarAt(add(row, i), k));
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
  int64_t depth, rows, vectors, blockRows, chunk;
  Value vectorOperand, scalarOperand, packed;
};

void Lowering::lowerDot(tile::DotOp dot) {
  Buffer target = bufferFor(dot);
  DotEmitter(*this, dot, target).emit();
  buffers_[dot.getResult()] = target;
}

} // namespace tegula::cpu
