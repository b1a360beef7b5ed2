// SPDX-License-Identifier: MIT
#include "compiler/sm/Sm.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::sm;

llvm::hash_code tegula::sm::hash_value(const Digit &digit) {
  return llvm::hash_combine(digit.dim, digit.size, digit.stride);
}

//===-- Numbers ---------------------------------------------------------------------------------------------------===//

int64_t tegula::sm::countOf(ArrayRef<Digit> digits) {
  int64_t count = 1;
  for (const Digit &digit : digits)
    count *= digit.size;
  return count;
}

int64_t tegula::sm::countAlong(ArrayRef<Digit> digits, unsigned dim) {
  int64_t count = 1;
  for (const DigitAlong &digit : digitsAlong(digits, dim))
    count *= digit.size;
  return count;
}

Coordinates tegula::sm::coordinatesOf(ArrayRef<Digit> digits, int64_t index, unsigned rank) {
  Coordinates coordinates(rank, 0);
  for (const Digit &digit : digits) {
    if (digit.dim != Digit::replicas)
      coordinates[digit.dim] += index % digit.size * digit.stride;
    index /= digit.size;
  }
  return coordinates;
}

SmallVector<DigitAlong, 2> tegula::sm::digitsAlong(ArrayRef<Digit> digits, unsigned dim) {
  SmallVector<DigitAlong, 2> along;
  int64_t weight = 1;
  for (const Digit &digit : digits) {
    if (digit.dim == static_cast<int32_t>(dim))
      along.push_back({weight, digit.size, digit.stride});
    weight *= digit.size;
  }
  return along;
}

//===-- Types -----------------------------------------------------------------------------------------------------===//

LayoutAttr tegula::sm::layoutOf(Type tile) {
  auto tensor = dyn_cast<RankedTensorType>(tile);
  return tensor ? dyn_cast_if_present<LayoutAttr>(tensor.getEncoding()) : LayoutAttr();
}

LayoutAttr tegula::sm::layoutOf(Value tile) { return layoutOf(tile.getType()); }

bool tegula::sm::isRegisterTile(Type type) { return layoutOf(type) != nullptr; }

RankedTensorType tegula::sm::withLayout(Type tile, LayoutAttr layout) {
  auto tensor = cast<RankedTensorType>(tile);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), layout);
}

//===-- Construction ----------------------------------------------------------------------------------------------===//

/// Removes digits of size 1 and merges a digit with the next one if the next one continues it. Equal layouts then are
/// equal attributes.
static Digits normalized(ArrayRef<Digit> digits) {
  Digits result;
  for (Digit digit : digits) {
    if (digit.size == 1)
      continue;
    bool continues =
        !result.empty() && result.back().dim == digit.dim && result.back().stride * result.back().size == digit.stride;
    if (continues)
      result.back().size *= digit.size;
    else
      result.push_back(digit);
  }
  return result;
}

static LayoutAttr makeLayout(MLIRContext *context, ArrayRef<Digit> registers, ArrayRef<Digit> lanes,
                             ArrayRef<Digit> warps) {
  return LayoutAttr::get(context, normalized(registers), normalized(lanes), normalized(warps));
}

static Digit replicasOf(int64_t size) { return {Digit::replicas, size, 0}; }

/// Returns the layout of fragments of mma: each warp has `rows` x `columns` blocks of 16 x 16. From one block to the
/// block below it are `rowStride` rows.
static LayoutAttr fragments(MLIRContext *context, int64_t rows, int64_t columns, int64_t rowStride,
                            ArrayRef<Digit> warps) {
  return makeLayout(context, {{1, 2, 1}, {0, 2, 8}, {1, 2 * columns, 8}, {0, rows, rowStride}}, {{1, 4, 2}, {0, 8, 1}},
                    warps);
}

LayoutAttr tegula::sm::accumulatorLayout(MLIRContext *context, int64_t m, int64_t n, int64_t warps_m, int64_t warps_n) {
  int64_t rows = llvm::divideCeil(m, 16 * warps_m), columns = llvm::divideCeil(n, 16 * warps_n);
  return fragments(context, rows, columns, 16, {{0, warps_m, 16 * rows}, {1, warps_n, 16 * columns}});
}

LayoutAttr tegula::sm::operandLayout(MLIRContext *context, int64_t m, int64_t k, int64_t warps_m, int64_t warps_n) {
  int64_t rows = llvm::divideCeil(m, 16 * warps_m), columns = llvm::divideCeil(k, 16);
  return fragments(context, rows, columns, 16, {{0, warps_m, 16 * rows}, replicasOf(warps_n)});
}

LayoutAttr tegula::sm::warpgroupLayout(MLIRContext *context, int64_t m, int64_t n, int64_t warps_m, int64_t warps_n) {
  int64_t rows = llvm::divideCeil(m, 16 * warps_m), columns = llvm::divideCeil(n, 16 * warps_n);
  return fragments(context, rows, columns, 16 * warps_m, {{0, warps_m, 16}, {1, warps_n, 16 * columns}});
}

LayoutAttr tegula::sm::tensorLayout(MLIRContext *context, int64_t m, int64_t n, int64_t warps) {
  const int64_t warpgroups = warps / kWarpsPerWarpgroup, columns = n / warpgroups;
  return makeLayout(context, {{1, columns, 1}}, {{0, kWarpSize, 1}},
                    {{0, m / kWarpSize, kWarpSize}, {1, warpgroups, columns}});
}

namespace {
/// Distributes threads (the lanes of a warp, or the warps) over dimensions.
struct ThreadMapping {
  int64_t left;
  Digits digits;

  /// Assigns at most `wanted` of the remaining threads to `dim` and returns their number.
  int64_t deal(int32_t dim, int64_t wanted, int64_t stride) {
    int64_t taken = 1;
    while (taken < wanted && left % 2 == 0) {
      taken *= 2;
      left /= 2;
    }
    if (taken < wanted && left > 1 && left <= static_cast<int64_t>(llvm::divideCeil(wanted, taken))) {
      taken *= left;
      left = 1;
    }
    digits.push_back({dim, taken, stride});
    return taken;
  }
};
} // namespace

LayoutAttr tegula::sm::rowMajorLayout(MLIRContext *context, ArrayRef<int64_t> shape, int64_t vector, int64_t warps) {
  auto rank = static_cast<int32_t>(shape.size());
  auto uncovered = [&](int32_t dim, int64_t covered) {
    return static_cast<int64_t>(llvm::divideCeil(shape[dim], covered));
  };
  ThreadMapping lanes{kWarpSize, {}}, warpMapping{warps, {}};
  Coordinates covered(rank, 1);
  covered.back() = vector;
  for (int32_t dim = rank - 1; dim >= 0; --dim)
    covered[dim] *= lanes.deal(dim, uncovered(dim, covered[dim]), covered[dim]);
  for (int32_t dim = 0; dim < rank; ++dim)
    covered[dim] *= warpMapping.deal(dim, uncovered(dim, covered[dim]), covered[dim]);
  Digits registers{{rank - 1, vector, 1}};
  for (int32_t dim = rank - 1; dim >= 0; --dim)
    registers.push_back({dim, uncovered(dim, covered[dim]), covered[dim]});
  lanes.digits.push_back(replicasOf(lanes.left));
  warpMapping.digits.push_back(replicasOf(warpMapping.left));
  return makeLayout(context, registers, lanes.digits, warpMapping.digits);
}

LayoutAttr tegula::sm::squaresLayout(MLIRContext *context, ArrayRef<int64_t> shape, int64_t side, int64_t warps) {
  constexpr int64_t columnsAtOnce = 2, rowsAtOnce = 4;
  ThreadMapping lanes{kWarpSize, {}}, warpMapping{warps, {}};
  std::array<int64_t, 2> covered = {side, side};
  auto deal = [&](ThreadMapping &threads, int32_t dim, int64_t most) {
    const auto left = static_cast<int64_t>(llvm::divideCeil(shape[dim], covered[dim]));
    covered[dim] *= threads.deal(dim, std::min(left, most), covered[dim]);
  };
  deal(lanes, 1, columnsAtOnce);
  deal(lanes, 0, rowsAtOnce);
  for (ThreadMapping *threads : {&lanes, &warpMapping}) {
    deal(*threads, 1, threads->left);
    deal(*threads, 0, threads->left);
    threads->digits.push_back(replicasOf(threads->left));
  }
  Digits registers{{1, side, 1}, {0, side, 1}};
  for (int32_t dim : {1, 0})
    registers.push_back({dim, static_cast<int64_t>(llvm::divideCeil(shape[dim], covered[dim])), covered[dim]});
  return makeLayout(context, registers, lanes.digits, warpMapping.digits);
}

//===-- Change of shape -------------------------------------------------------------------------------------------===//

/// Renames the dimension of each digit. If `rename` returns Digit::replicas, the digit becomes replicas, or disappears
/// if `keepCopies` is false.
static Digits renamed(ArrayRef<Digit> digits, function_ref<int32_t(int32_t)> rename, bool keepCopies) {
  Digits result;
  for (Digit digit : digits) {
    int32_t dim = digit.dim == Digit::replicas ? Digit::replicas : rename(digit.dim);
    if (dim != Digit::replicas)
      result.push_back({dim, digit.size, digit.stride});
    else if (keepCopies)
      result.push_back(replicasOf(digit.size));
  }
  return result;
}

static LayoutAttr renamed(LayoutAttr layout, function_ref<int32_t(int32_t)> rename) {
  return makeLayout(layout.getContext(), renamed(layout.getRegisters(), rename, /*keepCopies=*/false),
                    renamed(layout.getLanes(), rename, true), renamed(layout.getWarps(), rename, true));
}

LayoutAttr tegula::sm::collapsed(LayoutAttr layout, unsigned dim) {
  return renamed(layout, [=](int32_t d) { return d == static_cast<int32_t>(dim) ? Digit::replicas : d; });
}

LayoutAttr tegula::sm::without(LayoutAttr layout, unsigned dim) {
  auto removed = static_cast<int32_t>(dim);
  return renamed(layout, [=](int32_t d) { return d == removed ? Digit::replicas : d > removed ? d - 1 : d; });
}

LayoutAttr tegula::sm::reducedWithinThreads(LayoutAttr layout, unsigned dim) {
  auto along = [=](const Digit &digit) { return digit.dim == static_cast<int32_t>(dim); };
  Digits registers, lanes(layout.getLanes()), warps(layout.getWarps());
  llvm::copy_if(layout.getRegisters(), std::back_inserter(registers), std::not_fn(along));
  int64_t stride = 1;
  for (Digit &digit : llvm::concat<Digit>(lanes, warps))
    if (along(digit)) {
      digit.stride = stride;
      stride *= digit.size;
    }
  return makeLayout(layout.getContext(), registers, lanes, warps);
}

LayoutAttr tegula::sm::ofPairs(LayoutAttr layout, unsigned columns) {
  Digits registers(layout.getRegisters().drop_front()), lanes(layout.getLanes()), warps(layout.getWarps());
  for (Digit &digit : llvm::concat<Digit>(registers, lanes, warps))
    if (digit.dim == static_cast<int32_t>(columns))
      digit.stride /= 2;
  return makeLayout(layout.getContext(), registers, lanes, warps);
}

int64_t tegula::sm::threadsAlong(LayoutAttr layout, unsigned dim) {
  return countAlong(layout.getLanes(), dim) * countAlong(layout.getWarps(), dim);
}

bool tegula::sm::isSplitAmongWarps(RankedTensorType tile, unsigned dim) {
  return !digitsAlong(layoutOf(tile).getWarps(), dim).empty();
}

int64_t tegula::sm::extentOfWarp(RankedTensorType tile, unsigned dim) {
  LayoutAttr layout = layoutOf(tile);
  if (!layout || tile.getRank() != 2 || layout.getWarps().size() != 1)
    return 0;
  const Digit &warps = layout.getWarps().front();
  bool isAll = warps.dim == static_cast<int32_t>(dim) && warps.size * warps.stride == tile.getDimSize(dim);
  return isAll ? warps.stride : 0;
}

LayoutAttr tegula::sm::withUnitDim(LayoutAttr layout, unsigned dim) {
  return renamed(layout, [=](int32_t d) { return d >= static_cast<int32_t>(dim) ? d + 1 : d; });
}

LayoutAttr tegula::sm::permuted(LayoutAttr layout, ArrayRef<int64_t> permutation) {
  return renamed(layout,
                 [=](int32_t d) { return static_cast<int32_t>(llvm::find(permutation, d) - permutation.begin()); });
}

//===-- Columns ---------------------------------------------------------------------------------------------------===//

namespace {
/// A layout in the course of a change of its columns.
struct Columns {
  explicit Columns(LayoutAttr layout, unsigned dim)
      : registers(layout.getRegisters()), lanes(layout.getLanes()), warps(layout.getWarps()),
        dim(static_cast<int32_t>(dim)) {}

  /// Returns pointers to all digits along the columns.
  SmallVector<Digit *> digits() {
    SmallVector<Digit *> result;
    for (Digit &digit : llvm::concat<Digit>(registers, lanes, warps))
      if (digit.dim == dim)
        result.push_back(&digit);
    return result;
  }

  /// Returns the number of columns that the digits other than `without` reach.
  int64_t extent(const Digit *without = nullptr) {
    int64_t last = 0;
    for (const Digit *digit : digits())
      last += digit == without ? 0 : (digit->size - 1) * digit->stride;
    return last + 1;
  }

  /// Returns the digit of the registers with the largest stride of all, if the other digits stay below this stride;
  /// otherwise null.
  Digit *topOfRegisters() {
    Digit *top = nullptr;
    for (Digit &digit : registers)
      if (digit.dim == dim && (!top || digit.stride > top->stride))
        top = &digit;
    return top && extent(top) <= top->stride ? top : nullptr;
  }

  LayoutAttr layout(MLIRContext *context) const { return makeLayout(context, registers, lanes, warps); }

  Digits registers, lanes, warps;
  int32_t dim;
};
} // namespace

/// Returns the range of what each `step`-th column, from the residue of `first` on, is one column of.
static tegula::tile::ColumnRange withoutStep(const tegula::tile::ColumnRange &range) {
  return {range.first / range.step, 1, range.count, static_cast<int64_t>(llvm::divideCeil(range.size, range.step))};
}

LayoutAttr tegula::sm::columnsOf(LayoutAttr all, unsigned dim, const tile::ColumnRange &range) {
  Columns columns(all, dim);
  if (range.step > 1) {
    bool hasNeighbours = false;
    for (Digit *digit : columns.digits())
      if (digit->stride % range.step == 0) {
        digit->stride /= range.step;
      } else if (digit->stride == 1 && digit->size % range.step == 0 && !hasNeighbours) {
        digit->size /= range.step;
        hasNeighbours = true;
      } else {
        return {};
      }
    // Only a register may hold the columns between.
    auto isNarrowed = [&](const Digit &digit) { return digit.dim == columns.dim && digit.stride == 1; };
    if (!hasNeighbours || (llvm::none_of(all.getRegisters(), isNarrowed)))
      return {};
  }
  const tile::ColumnRange rest = withoutStep(range);
  if (rest.first == 0 && rest.count == rest.size)
    return columns.layout(all.getContext());
  if (Digit *top = columns.topOfRegisters(); top && rest.first % top->stride == 0 && rest.count % top->stride == 0) {
    top->size = rest.count / top->stride;
    return columns.layout(all.getContext());
  }
  // Columns after the range become padding.
  return rest.first == 0 ? columns.layout(all.getContext()) : LayoutAttr();
}

LayoutAttr tegula::sm::aroundColumns(LayoutAttr part, unsigned dim, const tile::ColumnRange &range) {
  Columns columns(part, dim);
  const tile::ColumnRange rest = withoutStep(range);
  auto widen = [&]() -> bool {
    if (rest.first == 0 && (rest.count == rest.size || columns.extent() >= rest.size))
      return true;
    auto divides = [&](int64_t stride) { return rest.first % stride == 0 && rest.size % stride == 0; };
    if (Digit *top = columns.topOfRegisters(); top && top->size * top->stride == rest.count && divides(top->stride)) {
      top->size = rest.size / top->stride;
      return true;
    }
    if (columns.extent() > rest.count || !divides(rest.count))
      return false;
    columns.registers.push_back({columns.dim, rest.size / rest.count, rest.count});
    return true;
  };
  if (!widen())
    return {};
  if (range.step > 1) {
    for (Digit *digit : columns.digits())
      digit->stride *= range.step;
    columns.registers.insert(columns.registers.begin(), {columns.dim, range.step, 1});
  }
  return columns.layout(part.getContext());
}

bool tegula::sm::areColumnsOf(LayoutAttr part, LayoutAttr all, unsigned dim, const tile::ColumnRange &range) {
  return columnsOf(all, dim, range) == part || aroundColumns(part, dim, range) == all;
}

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

int64_t tegula::sm::panelFor(int64_t columns, unsigned elementBytes) {
  for (int64_t panel : {128, 64, 32, 16})
    if (columns * elementBytes % panel == 0)
      return panel;
  return 0;
}

int64_t tegula::sm::panelOffset(ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel, int64_t row,
                                int64_t column) {
  if (panel == 0)
    return (row * shape[1] + column) * elementBytes;
  int64_t byte = column * elementBytes, chunks = panel / 16;
  int64_t chunk = byte % panel / 16 ^ row * chunks / 8 % chunks;
  return byte / panel * shape[0] * panel + row * panel + chunk * 16 + byte % 16;
}
