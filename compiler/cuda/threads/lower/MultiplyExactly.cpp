// SPDX-License-Identifier: MIT
// Lowering of sm.mma without tensor cores: each thread computes the elements of the result that it holds.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/cuda/threads/lower/Mma.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

/// The number of terms c of a partial sum. The bound of the rounding error of a plain sum of n terms grows with n. With
/// partial sums it grows with c + n / c.
constexpr int64_t kChunk = 32;

/// The elements of an operand: by index in a list of rows (or columns), then by step of k.
using Elements = SmallVector<SmallVector<Value, 4>>;

/// Loads of one operand at `steps` steps from k on; k is a multiple of `steps`.
class OperandLoads {
public:
  /// `along` is the thread's first coordinate along m or n.
  OperandLoads(Threads &t, Value shared, bool kIsRow, Value along, sm::Spread spread, Value k, int64_t steps)
      : t(t), kIsRow(kIsRow), steps(steps),
        tile(t, t.sharedPlace(shared), origin(shared, kIsRow, along, spread, k, steps)) {}

  /// Loads the elements of the rows (or columns) at these distances.
  Elements load(ArrayRef<int64_t> distances) {
    Elements elements(distances.size(), SmallVector<Value, 4>(steps));
    for (size_t i = 0, count; i < distances.size(); i += count) {
      count = kIsRow && isPair(distances, i) ? 2 : 1;
      if (kIsRow)
        for (int64_t step = 0; step < steps; ++step)
          for (auto [j, element] : llvm::enumerate(loadRun({step, distances[i]}, count)))
            elements[i + j][step] = element;
      else
        llvm::copy(loadRun({distances[i], 0}, steps), elements[i].begin());
    }
    return elements;
  }

private:
  static Origin origin(Value shared, bool kIsRow, Value along, sm::Spread spread, Value k, int64_t steps) {
    int64_t depth = cast<sm::SharedType>(shared.getType()).getShape()[!kIsRow];
    Origin origin{{along, k}, {spread, {~(steps - 1), depth - steps}}};
    if (kIsRow) {
      std::swap(origin.coordinates[0], origin.coordinates[1]);
      std::swap(origin.spread[0], origin.spread[1]);
    }
    return origin;
  }

  bool isPair(ArrayRef<int64_t> distances, size_t i) const {
    bool isEven = (tile.spread()[1].bits | distances[i] | tile.shape()[1]) % 2 == 0;
    return isEven && i + 1 < distances.size() && distances[i + 1] == distances[i] + 1;
  }

  /// Loads neighbours in a row of the buffer and widens them to f32.
  SmallVector<Value> loadRun(ArrayRef<int64_t> distance, int64_t count) {
    SmallVector<Value> elements =
        t.gpu.loadShared(tile.type().getElementType(), count, tile.atOrInside(distance, count));
    return castFloats(t, elements, t.b.getF32Type());
  }

  Threads &t;
  bool kIsRow;
  int64_t steps;
  SharedTile tile;
};

class ExactProduct {
public:
  ExactProduct(Threads &t, sm::MmaOp op)
      : t(t), s(t.s), op(op), layout(sm::layoutOf(op.getResult())), origin(originOf(t, layout, 2)),
        unrolled(wholeSteps(4) ? 4 : 1), depth(llvm::alignTo(op.getDepth(), unrolled)) {
    for (unsigned reg = 0; reg < registerCount(op.getResult().getType()); ++reg) {
      sm::Coordinates distance = registerOffset(op.getResult().getType(), reg);
      places.push_back({position(rows, distance[0]), position(columns, distance[1])});
    }
  }

  void emit() {
    SmallVector<Value> sums = initialSums(t, op);
    int64_t whole = depth / kChunk * kChunk;
    if (whole > kChunk)
      sums = loop(s.i32(0), whole, kChunk, sums,
                  [&](Value k, ValueRange running) { return addTo(running, product(k, kChunk)); });
    else if (whole)
      sums = addTo(sums, product(s.i32(0), whole));
    if (whole != depth)
      sums = addTo(sums, product(s.i32(whole), depth - whole));
    t.define(op.getResult(), sums);
  }

private:
  /// Returns true if both operands are stored with zeros up to a multiple of `steps`.
  bool wholeSteps(int64_t steps) {
    int64_t lhsDepth = lhsType().getShape()[!op.getTransposeLhs()];
    int64_t rhsDepth = op.getRhs().getType().getShape()[op.getTransposeRhs()];
    return lhsDepth % steps == 0 && rhsDepth % steps == 0;
  }

  sm::SharedType lhsType() { return cast<sm::SharedType>(op.getLhs().getType()); }

  /// Returns the index of `distance` in the list, and appends it if it is new.
  static size_t position(SmallVectorImpl<int64_t> &list, int64_t distance) {
    auto found = llvm::find(list, distance);
    size_t index = found - list.begin();
    if (found == list.end())
      list.push_back(distance);
    return index;
  }

  SmallVector<Value> loop(Value from, int64_t count, int64_t step, ValueRange sums,
                          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(t.b, from, s.add(from, count), s.i32(step), sums);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(t.b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return loop.getResults();
  }

  SmallVector<Value> addTo(ValueRange sums, ValueRange products) {
    SmallVector<Value> result;
    for (auto [sum, product] : llvm::zip_equal(sums, products))
      result.push_back(arith::AddFOp::create(t.b, sum, product));
    return result;
  }

  /// Returns the sums of products over `count` steps from k on.
  SmallVector<Value> product(Value k, int64_t count) {
    return loop(k, count, unrolled, SmallVector<Value>(places.size(), t.zero(t.b.getF32Type())),
                [&](Value step, ValueRange sums) { return steps(step, sums); });
  }

  SmallVector<Value> steps(Value k, ValueRange running) {
    OperandLoads lhs(t, op.getLhs(), op.getTransposeLhs(), origin.coordinates[0], origin.spread[0], k, unrolled);
    OperandLoads rhs(t, op.getRhs(), !op.getTransposeRhs(), origin.coordinates[1], origin.spread[1], k, unrolled);
    Elements x = lhs.load(rows), y = rhs.load(columns);
    SmallVector<Value> sums(running);
    for (int64_t step = 0; step < unrolled; ++step)
      for (auto [sum, place] : llvm::zip_equal(sums, places))
        sum = math::FmaOp::create(t.b, x[place.first][step], y[place.second][step], sum);
    return sums;
  }

  Threads &t;
  Scalars &s;
  sm::MmaOp op;
  sm::LayoutAttr layout;
  Origin origin;
  int64_t unrolled, depth;
  SmallVector<int64_t> rows, columns;
  /// The indices in `rows` and `columns` of each register's element.
  SmallVector<std::pair<size_t, size_t>> places;
};

} // namespace

void cuda::multiplyExactly(Threads &t, sm::MmaOp op) { ExactProduct(t, op).emit(); }
