// SPDX-License-Identifier: MIT
// Matrix products: C += A B with a block of C in registers (Goto and van de Geijn 2008, the innermost two loops; tiles
// are small enough for the caches as they are).
#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

/// One product in a canonical form: vectors run along the columns of C. A column-major C is the row-major transpose of
/// it, C^T = B^T A^T, so the operands change roles.
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
    // 16 registers hold 6 x 2 sums, 2 vectors of B and one element of A; 32 registers hold twice the rows.
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
  /// Copies the vector operand so that its contiguous dimension is the one along which vectors run.
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

  // A panel of columns stays in the first-level cache while all rows pass by it.
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

  void block(Value row, Value column, int64_t height, int64_t width) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        sums.push_back(initial(add(row, i), add(column, j * l.lanes_)));
    int64_t unroll = depth % 2 == 0 ? 2 : 1;
    auto loop = scf::ForOp::create(b, loc, l.index(0), l.index(depth), l.index(unroll), sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> running(loop.getRegionIterArgs());
      for (int64_t k = 0; k < unroll; ++k)
        step(running, row, column, add(loop.getInductionVar(), k), height, width);
      scf::YieldOp::create(b, loc, running);
    }
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        vector::StoreOp::create(b, loc, loop.getResult(i * width + j), target.memory,
                                ValueRange{add(row, i), add(column, j * l.lanes_)});
  }

  Value initial(Value row, Value column) {
    auto type = VectorType::get({l.lanes_}, b.getF32Type());
    if (!dot.getAcc())
      return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    // An op to insert before; the sums of one block are computed in order in front of it.
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
    auto type = VectorType::get({l.lanes_}, b.getF32Type());
    SmallVector<Value> vectors;
    for (int64_t j = 0; j < width; ++j)
      vectors.push_back(
          vector::LoadOp::create(b, loc, type, packed, ValueRange{k, add(column, j * l.lanes_)}));
    for (int64_t i = 0; i < height; ++i) {
      Value factor = l.splat(scalarAt(add(row, i), k));
      for (int64_t j = 0; j < width; ++j)
        sums[i * width + j] = math::FmaOp::create(b, loc, factor, vectors[j], sums[i * width + j]);
    }
  }

  /// The scalar operand's element for row `row` of C and step `k`, whichever way it lies.
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
  int64_t depth, rows, vectors, blockRows;
  Value vectorOperand, scalarOperand, packed;
};

void Lowering::lowerDot(tile::DotOp dot) {
  Buffer target = bufferFor(dot);
  DotEmitter(*this, dot, target).emit();
  buffers_[dot.getResult()] = target;
}

} // namespace tegula::cpu
