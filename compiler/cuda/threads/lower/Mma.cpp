// SPDX-License-Identifier: MIT
// Lowering of sm.mma to tensor cores. The fragments of a step are loaded while the MMAs of the previous step run.
#include "compiler/cuda/threads/lower/Mma.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Elements.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

using Words = SmallVector<Value, 4>;

/// Loads of one operand's fragments from shared memory. `places` says where each lane reads.
class FragmentLoads {
public:
  FragmentLoads(Threads &t, Value shared, sm::LayoutAttr places, bool kIsRow)
      : t(t), tile(t, t.sharedPlace(shared), originOf(t, places, 2)), kIsRow(kIsRow) {}

  /// Returns a block of 16 x 16 elements of 16 bits, counted in blocks along (m or n, k).
  Words matrices(int64_t block, int64_t step) {
    constexpr int64_t chunk = 8;
    return Words(t.gpu.loadMatrices(4, /*transposed=*/kIsRow, address(16 * block, 16 * step, chunk)));
  }

  /// Returns the f32 of this lane in the 8 x 4 block at (m or n, k), rounded to tf32.
  Value tf32(int64_t along, int64_t k) {
    return t.gpu.toTf32(t.gpu.loadShared(t.b.getF32Type(), 1, address(along, k, 1)).front());
  }

private:
  Value address(int64_t along, int64_t k, int64_t elements) {
    return kIsRow ? tile.atOrInside({k, along}, elements) : tile.atOrInside({along, k}, elements);
  }

  Threads &t;
  SharedTile tile;
  bool kIsRow;
};

/// The lowering to mma.m16n8k16, for 16-bit elements.
class Mma16 {
public:
  Mma16(Threads &t, sm::MmaOp op, const sm::Fragments &grid)
      : t(t), op(op), grid(grid), steps(llvm::divideCeil(op.getDepth(), 16)), sums(initialSums(t, op)),
        rhs(t, op.getRhs(), sm::rhsMatrices(op.getContext(), grid, op.getTransposeRhs()),
            /*kIsRow=*/!op.getTransposeRhs()) {
    if (isa<sm::SharedType>(op.getLhs().getType()))
      lhs.emplace(t, op.getLhs(), sm::lhsMatrices(op.getContext(), grid, op.getTransposeLhs()),
                  /*kIsRow=*/op.getTransposeLhs());
  }

  void emit() {
    SmallVector<Words> a = loadLhs(0), b;
    for (int64_t column = 0; column < grid.columns; ++column)
      b.push_back(rhs.matrices(column, 0));
    for (int64_t step = 0; step < steps; ++step) {
      bool isLast = step + 1 == steps;
      SmallVector<Words> nextA = isLast ? a : loadLhs(step + 1);
      for (int64_t column = 0; column < grid.columns; ++column) {
        Words next = isLast ? Words() : rhs.matrices(column, step + 1);
        multiply(a, b[column], column);
        b[column] = next;
      }
      a = nextA;
    }
    t.define(op.getResult(), sums);
  }

private:
  SmallVector<Words> loadLhs(int64_t step) {
    SmallVector<Words> fragments;
    for (int64_t row = 0; row < grid.rows; ++row)
      fragments.push_back(lhs ? lhs->matrices(row, step) : packLhs(row, step));
    return fragments;
  }

  Words packLhs(int64_t row, int64_t step) {
    Words words;
    int64_t first = 8 * (row * sm::operandFragments(sm::layoutOf(op.getLhs()))->columns + step);
    for (int64_t reg = first; reg < first + 8; reg += 2) {
      Value low = lhsElement(reg), high = lhsElement(reg + 1);
      words.push_back(t.gpu.pack(low, high));
    }
    return words;
  }

  /// Returns an element of the lhs, or 0 if the register is padding along k.
  Value lhsElement(int64_t reg) {
    Value element = t.registers(op.getLhs())[reg];
    return t.insideOr(cast<RankedTensorType>(op.getLhs().getType()), reg, 1, element,
                      t.b.getZeroAttr(element.getType()));
  }

  /// Multiplies the fragments of all rows by the two n8 blocks of a column.
  void multiply(ArrayRef<Words> a, const Words &b, int64_t column) {
    for (int64_t row = 0; row < grid.rows; ++row)
      for (int64_t half = 0; half < 2; ++half) {
        MutableArrayRef<Value> c = MutableArrayRef(sums).slice(8 * (row * grid.columns + column) + 4 * half, 4);
        llvm::copy(t.gpu.mma16(op.getRhs().getType().getElementType(), a[row], ArrayRef(b).slice(2 * half, 2), c),
                   c.begin());
      }
  }

  Threads &t;
  sm::MmaOp op;
  sm::Fragments grid;
  int64_t steps;
  SmallVector<Value> sums;
  FragmentLoads rhs;
  std::optional<FragmentLoads> lhs;
};

/// The lowering to mma.m16n8k8, for f32 elements rounded to tf32.
class MmaTf32 {
public:
  MmaTf32(Threads &t, sm::MmaOp op, const sm::Fragments &grid)
      : t(t), op(op), grid(grid), sums(initialSums(t, op)),
        lhs(t, op.getLhs(), places(op.getTransposeLhs(), 16 * grid.rows, grid.warpsM, 1, grid.warpsN),
            op.getTransposeLhs()),
        rhs(t, op.getRhs(), places(!op.getTransposeRhs(), 16 * grid.columns, grid.warpsN, grid.warpsM, 1),
            !op.getTransposeRhs()) {}

  void emit() {
    for (int64_t k = 0; k < static_cast<int64_t>(op.getDepth()); k += 8) {
      SmallVector<Words> a;
      for (int64_t row = 0; row < grid.rows; ++row)
        a.push_back({lhs.tf32(16 * row, k), lhs.tf32(16 * row + 8, k), lhs.tf32(16 * row, k + 4),
                     lhs.tf32(16 * row + 8, k + 4)});
      for (int64_t column = 0; column < 2 * grid.columns; ++column)
        multiply(a, {rhs.tf32(8 * column, k), rhs.tf32(8 * column, k + 4)}, column);
    }
    t.define(op.getResult(), sums);
  }

private:
  /// Returns where lanes read an operand: `before` consecutive warps are replicas, then `warps` positions along m or n
  /// follow, and `after` repetitions of these are replicas again.
  sm::LayoutAttr places(bool kIsRow, int64_t stride, int64_t warps, int64_t before, int64_t after) {
    return sm::LayoutAttr::get(
        t.b.getContext(), {}, sm::Digits{{!kIsRow, 4, 1}, {kIsRow, 8, 1}},
        sm::Digits{{sm::Digit::replicas, before, 0}, {kIsRow, warps, stride}, {sm::Digit::replicas, after, 0}});
  }

  void multiply(ArrayRef<Words> a, const Words &b, int64_t column) {
    for (int64_t row = 0; row < grid.rows; ++row) {
      MutableArrayRef<Value> c = MutableArrayRef(sums).slice(4 * (row * 2 * grid.columns + column), 4);
      llvm::copy(t.gpu.mmaTf32(a[row], b, c), c.begin());
    }
  }

  Threads &t;
  sm::MmaOp op;
  sm::Fragments grid;
  SmallVector<Value> sums;
  FragmentLoads lhs, rhs;
};

} // namespace

SmallVector<Value> cuda::initialSums(Threads &t, sm::MmaOp op) {
  if (op.getAcc())
    return SmallVector<Value>(t.registers(op.getAcc()));
  return SmallVector<Value>(registerCount(op.getResult().getType()), t.zero(t.b.getF32Type()));
}

static Type elementOf(Type operand) {
  auto shared = dyn_cast<sm::SharedType>(operand);
  return shared ? shared.getElementType() : cast<RankedTensorType>(operand).getElementType();
}

static bool isOperandOf(const sm::Fragments &grid, sm::LayoutAttr layout) {
  std::optional<sm::Fragments> lhs = sm::operandFragments(layout);
  return lhs && lhs->rows == grid.rows && lhs->warpsM == grid.warpsM && lhs->warpsN == grid.warpsN;
}

static LogicalResult lower(Threads &t, sm::MmaOp op) {
  std::optional<sm::Fragments> grid = sm::accumulatorFragments(sm::layoutOf(op.getResult()));
  if (!grid)
    return op.emitOpError("has a result that is not in an accumulator layout");
  Type lhsType = elementOf(op.getLhs().getType()), rhsType = op.getRhs().getType().getElementType();
  bool isShared = isa<sm::SharedType>(op.getLhs().getType());
  if (!isShared && !isOperandOf(*grid, sm::layoutOf(op.getLhs())))
    return op.emitOpError("has an lhs that is not in the operand layout of its result");
  if (std::optional<sm::MmaElement> element = sm::mmaElement(rhsType);
      lhsType == rhsType && element && element->bytes == 2)
    Mma16(t, op, *grid).emit();
  else if (!isShared)
    return op.emitOpError("multiplies ") << lhsType << " by " << rhsType << " from registers";
  else if (lhsType.isF32() && rhsType.isF32() && op.getAllowTf32())
    MmaTf32(t, op, *grid).emit();
  else
    multiplyExactly(t, op);
  return success();
}

void cuda::addMmaLowerings(Lowerings &known) {
  known.add<sm::MmaOp>([](Threads &t, auto op) { return lower(t, op); });
}
