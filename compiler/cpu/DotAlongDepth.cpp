// SPDX-License-Identifier: MIT
// Matrix products whose vectors run along the depth, such as the scores of one query. Vectors along a short side of the
// result would be mostly empty. Both factors are contiguous along the depth. A block of results has as many
// accumulators as a vector has lanes, and a transposing reduction makes one vector of their sums.
#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

/// The most rows of the shorter side in a block. With 16 lanes, 4 x 4 accumulators need 8 loads for 16 multiply-adds.
constexpr int64_t kMostShortRows = 4;

/// An emitter of one dot along its depth. A row is a row or column of a factor, which is contiguous along the depth.
class DepthDotEmitter {
public:
  DepthDotEmitter(Lowering &lowering, tile::DotOp dot, Buffer target)
      : l(lowering), b(lowering.builder_), loc(lowering.loc()), dot(dot), target(target) {
    auto lhs = tileType(dot.getLhs());
    depth = lhs.getDimSize(dot.getTransposeLhs() ? 0 : 1);
    vectorType = VectorType::get({l.lanes_}, b.getF32Type());
  }

  // The rows of one strip of the longer side stay in the first-level cache while all rows of the shorter side use them.
  void emit() {
    auto type = tileType(dot.getResult());
    shortSide = type.getDimSize(0) <= type.getDimSize(1) ? 0 : 1;
    if (dot.getAcc() && l.buffers_.lookup(dot.getAcc()).memory != target.memory)
      l.materialize(dot.getAcc(), target);
    l.forBlocks(type.getDimSize(1 - shortSide), l.lanes_, [&](Value strip, int64_t length) {
      l.forBlocks(type.getDimSize(shortSide), kMostShortRows,
                  [&](Value first, int64_t count) { blocks(first, count, strip, length); });
    });
  }

private:
  struct Rows {
    Value factor, first;
    int64_t count;
  };

  /// Emits the results of `count` rows of the shorter side with `length` rows of the longer side. The former are powers
  /// of two in each block, so that whole blocks have as many accumulators as a vector has lanes.
  void blocks(Value first, int64_t count, Value strip, int64_t length) {
    const auto height = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(count)));
    l.forBlocks(length, l.lanes_ / height, [&](Value inStrip, int64_t width) {
      std::array<Rows, 2> sides;
      sides[shortSide] = {dot->getOperand(shortSide), first, height};
      sides[1 - shortSide] = {dot->getOperand(1 - shortSide), l.plus(strip, inStrip), width};
      block(sides);
    });
    if (count != height)
      blocks(l.plus(first, height), count - height, strip, length);
  }

  /// Emits a block of results. The sums that are contiguous in the target are in adjacent lanes.
  void block(ArrayRef<Rows> sides) {
    for (const Rows &rows : sides)
      for (int64_t i = 0; i < rows.count; ++i)
        l.prefetchAhead(l.buffers_.lookup(rows.factor), l.plus(rows.first, i), l.index(0), depth);
    const auto contiguous = target.contiguousDim(2);
    const Rows &outer = sides[1 - contiguous], &inner = sides[contiguous];
    Value sums = sumsOfLanes(accumulators(outer, inner));
    for (int64_t i = 0; i < outer.count; ++i) {
      Value row = vector::ExtractStridedSliceOp::create(b, loc, sums, i * inner.count, inner.count, 1);
      SmallVector<Value> at{l.plus(outer.first, i), inner.first};
      if (dot.getAcc()) {
        Value before = vector::LoadOp::create(b, loc, cast<VectorType>(row.getType()), target.memory, at);
        row = arith::AddFOp::create(b, loc, before, row);
      }
      vector::StoreOp::create(b, loc, row, target.memory, at);
    }
  }

  /// Returns an accumulator for each pair of an outer and an inner row.
  SmallVector<Value> accumulators(const Rows &outer, const Rows &inner) {
    SmallVector<Value> sums(outer.count * inner.count, zeros());
    const int64_t whole = depth / l.lanes_ * l.lanes_;
    if (whole) {
      auto loop = scf::ForOp::create(b, loc, l.index(0), l.index(whole), l.index(l.lanes_), sums);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      step(sums, outer, inner, loop.getInductionVar(), {});
      scf::YieldOp::create(b, loc, sums);
      sums.assign(loop.getResults().begin(), loop.getResults().end());
    }
    if (depth != whole)
      step(sums, outer, inner, l.index(whole), l.lanesInside(l.index(whole), depth));
    return sums;
  }

  /// Adds the products at one vector of the depth. If `inside` is given, all other lanes count as 0.
  void step(SmallVector<Value> &sums, const Rows &outer, const Rows &inner, Value k, Value inside) {
    auto vectorsOf = [&](const Rows &rows) {
      SmallVector<Value> vectors;
      for (int64_t i = 0; i < rows.count; ++i) {
        Value vector = l.factorVector(l.buffers_.lookup(rows.factor).memory, tileType(rows.factor).getElementType(),
                                      {l.plus(rows.first, i), k});
        vectors.push_back(inside ? Value(arith::SelectOp::create(b, loc, inside, vector, zeros())) : vector);
      }
      return vectors;
    };
    SmallVector<Value> outerVectors = vectorsOf(outer), innerVectors = vectorsOf(inner);
    for (auto [i, x] : llvm::enumerate(outerVectors))
      for (auto [j, y] : llvm::enumerate(innerVectors)) {
        Value &sum = sums[i * innerVectors.size() + j];
        sum = math::FmaOp::create(b, loc, x, y, sum);
      }
  }

  /// Returns a vector whose lane p is the sum of the lanes of `vectors[p]`. Each level adds the two halves of each
  /// segment of a vector, and puts the segments of two vectors into one.
  Value sumsOfLanes(SmallVector<Value> vectors) {
    vectors.resize(l.lanes_, zeros());
    for (int64_t half = l.lanes_ / 2; half; half /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < l.lanes_; ++lane) {
        const int64_t segment = lane / (2 * half) * (2 * half), source = lane - segment < half ? 0 : l.lanes_;
        low.push_back(source + segment + lane % half);
        high.push_back(low.back() + half);
      }
      for (int64_t p = 0; p < half; ++p) {
        Value lows = vector::ShuffleOp::create(b, loc, vectors[p], vectors[p + half], low);
        Value highs = vector::ShuffleOp::create(b, loc, vectors[p], vectors[p + half], high);
        vectors[p] = arith::AddFOp::create(b, loc, lows, highs);
      }
    }
    return vectors.front();
  }

  Value zeros() { return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType)); }

  Lowering &l;
  OpBuilder &b;
  Location loc;
  tile::DotOp dot;
  Buffer target;
  unsigned shortSide = 0;
  int64_t depth;
  VectorType vectorType;
};

void Lowering::lowerDotAlongDepth(tile::DotOp dot, const Buffer &target) { DepthDotEmitter(*this, dot, target).emit(); }

} // namespace tegula::cpu
