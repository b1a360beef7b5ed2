// SPDX-License-Identifier: MIT
// Strided views share memory if a sum has a value in a given interval: the sum of (stride * index), with every index in
// its range. If strides are nested, at most a few indices fit at each level. A depth-first search from the largest
// stride then finds the answer in about ten steps.
#include "tegula/tensor.h"

#include <algorithm>
#include <array>

namespace tegula {
namespace {

/// The largest extent that is searched. Larger views are in no machine's memory. Below it, no sum of extents overflows.
constexpr int64_t kMaxExtent = int64_t{1} << 60;

/// The values step * x with lowest <= x <= highest; step > 0.
struct Term {
  int64_t step;
  int64_t lowest;
  int64_t highest;
};

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t ceilDivide(int64_t a, int64_t b) { return -floorDivide(-a, b); }

/// Inserts `item` into the first `count` of `items`, which are in descending order of their steps.
template <class Item, size_t Size> void insertByStep(std::array<Item, Size> &items, size_t &count, const Item &item) {
  size_t place = count++;
  for (; place > 0 && items[place - 1].step < item.step; --place)
    items[place] = items[place - 1];
  items[place] = item;
}

/// A sum with one value of each of up to 2 * kMaxRank terms, in descending order of their steps.
class Sum {
public:
  void add(const Term &term) { insertByStep(terms_, count_, term); }

  /// Adds the offsets of a dimension. Its stride is scaled by `scale`, which is negative to subtract.
  void addDimension(int64_t size, int64_t stride, int64_t scale) {
    if (size < 2 || stride == 0)
      return;
    const int64_t step = stride * scale;
    const int64_t last = size - 1;
    const Term term = step > 0 ? Term{step, 0, last} : Term{-step, -last, 0};
    for (size_t i = 0; i < count_; ++i)
      if (terms_[i].step == term.step) {
        terms_[i].lowest += term.lowest;
        terms_[i].highest += term.highest;
        return;
      }
    add(term);
  }

  /// Returns true if the sum can have a value from `low` to `high`, and if the search takes too long.
  bool canReach(int64_t low, int64_t high) {
    lowestFrom_[count_] = highestFrom_[count_] = 0;
    for (size_t i = count_; i-- > 0;) {
      lowestFrom_[i] = lowestFrom_[i + 1] + terms_[i].step * terms_[i].lowest;
      highestFrom_[i] = highestFrom_[i + 1] + terms_[i].step * terms_[i].highest;
    }
    stepsLeft_ = 4096;
    return search(0, low, high);
  }

private:
  bool search(size_t from, int64_t low, int64_t high) {
    if (high < lowestFrom_[from] || low > highestFrom_[from])
      return false;
    if (from == count_ || --stepsLeft_ < 0)
      return true;
    const Term &term = terms_[from];
    const int64_t first = std::max(term.lowest, ceilDivide(low - highestFrom_[from + 1], term.step));
    const int64_t last = std::min(term.highest, floorDivide(high - lowestFrom_[from + 1], term.step));
    for (int64_t x = first; x <= last; ++x)
      if (search(from + 1, low - term.step * x, high - term.step * x))
        return true;
    return false;
  }

  std::array<Term, 2 * kMaxRank> terms_;
  std::array<int64_t, 2 * kMaxRank + 1> lowestFrom_;  ///< Lowest sum of the terms i, i + 1, ...
  std::array<int64_t, 2 * kMaxRank + 1> highestFrom_; ///< Highest sum of the terms i, i + 1, ...
  size_t count_ = 0;
  int stepsLeft_ = 0;
};

bool isEmpty(const ByteExtent &extent) { return extent.lowest == extent.highest; }

bool canSearch(const ByteExtent &extent) { return extent.lowest > -kMaxExtent && extent.highest < kMaxExtent; }

bool intervalsMeet(const TensorRef &a, const ByteExtent &extentA, const TensorRef &b, const ByteExtent &extentB) {
  const auto addressA = reinterpret_cast<uintptr_t>(a.data);
  const auto addressB = reinterpret_cast<uintptr_t>(b.data);
  return addressA + extentA.lowest < addressB + extentB.highest &&
         addressB + extentB.lowest < addressA + extentA.highest;
}

bool elementsMeet(const TensorRef &a, const TensorRef &b) {
  const auto bytesA = static_cast<int64_t>(sizeOf(a.dtype));
  const auto bytesB = static_cast<int64_t>(sizeOf(b.dtype));
  Sum difference;
  for (int i = 0; i < a.rank; ++i)
    difference.addDimension(a.shape[i], a.strides[i], bytesA);
  for (int i = 0; i < b.rank; ++i)
    difference.addDimension(b.shape[i], b.strides[i], -bytesB);
  const int64_t distance = static_cast<const char *>(b.data) - static_cast<const char *>(a.data);
  return difference.canReach(distance - bytesA + 1, distance + bytesB - 1);
}

struct Dimension {
  int64_t size;
  int64_t step;
};

/// Returns true if each dimension's step is larger than the offsets that the dimensions after it reach together, as in
/// most views. Then no two elements coincide.
bool areNested(std::span<const Dimension> dimensions) {
  int64_t reach = 0;
  for (size_t i = dimensions.size(); i-- > 0;) {
    if (dimensions[i].step <= reach)
      return false;
    reach += dimensions[i].step * (dimensions[i].size - 1);
  }
  return true;
}

/// Returns true if two elements coincide that agree in all dimensions before `leading` and differ in it.
bool coincideFrom(std::span<const Dimension> dimensions, size_t leading) {
  Sum difference;
  difference.add({dimensions[leading].step, 1, dimensions[leading].size - 1});
  for (const Dimension &dimension : dimensions.subspan(leading + 1))
    difference.add({dimension.step, 1 - dimension.size, dimension.size - 1});
  return difference.canReach(0, 0);
}

} // namespace

bool overlaps(const TensorRef &a, const TensorRef &b) noexcept try {
  const Expected<ByteExtent> extentA = byteExtent(a);
  const Expected<ByteExtent> extentB = byteExtent(b);
  if (!extentA || !extentB)
    return true;
  if (isEmpty(*extentA) || isEmpty(*extentB) || !intervalsMeet(a, *extentA, b, *extentB))
    return false;
  return !canSearch(*extentA) || !canSearch(*extentB) || elementsMeet(a, b);
} catch (...) { // No memory for byteExtent's message.
  return true;
}

bool overlapsItself(const TensorRef &tensor) noexcept try {
  const Expected<ByteExtent> extent = byteExtent(tensor);
  if (!extent || !canSearch(*extent))
    return true;
  if (isEmpty(*extent))
    return false;
  std::array<Dimension, kMaxRank> dimensions;
  size_t count = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    const int64_t stride = tensor.strides[i];
    if (tensor.shape[i] > 1 && stride == 0)
      return true;
    if (tensor.shape[i] > 1)
      insertByStep(dimensions, count, {tensor.shape[i], stride < 0 ? -stride : stride});
  }
  if (areNested({dimensions.data(), count}))
    return false;
  for (size_t leading = 0; leading < count; ++leading)
    if (coincideFrom({dimensions.data(), count}, leading))
      return true;
  return false;
} catch (...) { // No memory for byteExtent's message.
  return true;
}

} // namespace tegula
