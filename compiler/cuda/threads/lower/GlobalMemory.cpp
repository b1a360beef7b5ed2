// SPDX-License-Identifier: MIT
// Loads, stores and atomic additions of tiles in registers from and to global memory, element by element.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/tile/Tile.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

//===-- Window ---------------------------------------------------------------------------------------------------===//

static bool isNotNegative(Value x) {
  APInt value;
  return matchPattern(x, m_ConstantInt(&value)) && value.isNonNegative();
}

namespace {

/// The part of a view that a tile covers, as one thread addresses it: one 64-bit address and, per dimension, the range
/// of register offsets that are inside both the view and the tile.
class Window {
public:
  /// The window of an op that accesses a tile of a view, for a thread in this place.
  template <class Op>
  Window(Threads &t, Op op, RankedTensorType tile, const ThreadCoordinates &place)
      : Window(t, t.view(op.getView()), t.scalars(op.getPosition()), tile, place.origin) {}

  Value address(unsigned reg) {
    Value inRow = addressInRow(reg);
    if (!view_.pages)
      return inRow;
    const tile::IndexPlace &place = placeInPages(registerOffset(tile_, reg)[0]);
    return t_.s.add(inRow, bytes(t_.s.add(place.toPage, place.distance)));
  }

  /// Returns an i1: true if the register holds an element of the tile that is inside the view. With `isWhole`, all
  /// elements of the tile are known to be inside the view. Null if the result is true in all threads.
  Value inside(unsigned reg, bool isWhole = false) {
    if (isWhole)
      return t_.inside(tile_, reg);
    Value inside;
    for (auto [dim, offset] : llvm::enumerate(registerOffset(tile_, reg)))
      inside = t_.s.both(inside, insideAlong(dim, offset));
    return inside;
  }

  /// Returns an i1: true if all of the tile is inside the view. All threads have the same result.
  Value isWhole() const {
    if (view_.pages)
      return t_.s.i1(false);
    Value isWhole;
    for (auto [dim, at] : llvm::enumerate(position_))
      isWhole = t_.s.both(isWhole, t_.s.covers(view_.sizes[dim], at, tile_.getDimSize(dim)));
    return isWhole;
  }

  /// Returns an i1: true if each `count` elements of the tile along its last dimension, from a multiple of `count` on,
  /// are contiguous in memory and aligned to their total size. All threads have the same result.
  Value isContiguous(int64_t count) const {
    Scalars &s = t_.s;
    if (view_.isInPages(position_.size() - 1))
      return s.i1(false);
    Value inBytes = view_.base;
    for (Value stride : ArrayRef(strideBytes_).drop_back())
      inBytes = s.bitOr(inBytes, stride);
    if (view_.pages)
      inBytes = s.bitOr(inBytes, s.bitOr(bytes(view_.strides[0]), bytes(view_.pages->stride)));
    Value aligned = s.compare(Compare::eq, s.rem(inBytes, count * view_.elementBytes()), 0);
    Value startsAtMultiple = s.compare(Compare::eq, s.rem(s.toI64(position_.back()), count), 0);
    return s.both(s.compare(Compare::eq, view_.strides.back(), 1), s.both(aligned, startsAtMultiple));
  }

  /// Returns an i1: true if isContiguous is, and each of these `count` elements are either all inside the view or all
  /// outside. All threads have the same result.
  Value isDivisible(int64_t count) const {
    Scalars &s = t_.s;
    Value endsAtMultiple = s.compare(Compare::eq, s.rem(s.toI64(view_.sizes.back()), count), 0);
    return s.both(isContiguous(count), endsAtMultiple);
  }

  /// Returns the window for a branch in which isContiguous is true.
  Window contiguous() const {
    Window window = *this;
    window.strideBytes_.back() = t_.s.i64(view_.elementBytes());
    return window;
  }

private:
  Window(Threads &t, const View &view, ValueRange position, RankedTensorType tile, ArrayRef<Value> origin)
      : t_(t), view_(view), position_(position), tile_(tile), base_(view.base), origin_(origin) {
    Scalars &s = t.s;
    low_.resize(position_.size());
    high_.resize(position_.size());
    for (auto [dim, at] : llvm::enumerate(position_)) {
      strideBytes_.push_back(view.isInPages(dim) ? s.i64(0) : bytes(view.strides[dim]));
      base_ = s.add(base_, s.mul(s.add(s.toI64(at), s.toI64(origin_[dim])), strideBytes_[dim]));
    }
  }

  Value bytes(Value elements) const { return t_.s.mul(t_.s.toI64(elements), view_.elementBytes()); }

  /// Adds one digit's stride to the address of an earlier register, so that few multiples of strides are alive.
  Value addressInRow(unsigned reg) {
    if (Value known = addresses_.lookup(reg))
      return known;
    const sm::Digit *last = nullptr;
    unsigned weight = 1, step = 0;
    for (const sm::Digit &digit : sm::layoutOf(tile_).getRegisters()) {
      if (reg / weight % digit.size != 0) {
        last = &digit;
        step = weight;
      }
      weight *= digit.size;
    }
    Value address = last ? t_.s.add(addressInRow(reg - step), t_.s.mul(strideBytes_[last->dim], last->stride)) : base_;
    return addresses_[reg] = address;
  }

  void bound(unsigned dim) {
    Scalars &s = t_.s;
    Value at = position_[dim], origin = origin_[dim];
    auto distance = [&](Value x) { return s.sub(s.toI32(s.clamp(s.sub(x, at), tile_.getDimSize(dim))), origin); };
    low_[dim] = isNotNegative(at) ? nullptr : distance(s.index(0));
    high_[dim] = distance(view_.sizes[dim]);
  }

  Value insideAlong(unsigned dim, int64_t offset) {
    if (!high_[dim])
      bound(dim);
    Value &inside = insideAlong_[{dim, offset}];
    if (!inside) {
      inside = t_.s.compare(Compare::sgt, high_[dim], offset);
      if (low_[dim])
        inside = t_.s.both(inside, t_.s.compare(Compare::sle, low_[dim], offset));
      if (view_.isInPages(dim))
        inside = t_.s.both(inside, placeInPages(offset).isInside);
    }
    return inside;
  }

  /// Returns the place of the thread's row with this register offset.
  const tile::IndexPlace &placeInPages(int64_t offset) {
    tile::IndexPlace &place = placesInPages_[offset];
    ThreadProgram program(t_);
    if (!place.isInside)
      place = view_.placeOf(t_.s, 0, t_.s.add(t_.s.add(position_[0], t_.s.toIndex(origin_[0])), offset), program);
    return place;
  }

  Threads &t_;
  View view_;
  SmallVector<Value> position_;
  RankedTensorType tile_;
  Value base_;
  SmallVector<Value> origin_; ///< The coordinates of the thread's first element.
  SmallVector<Value, 5> strideBytes_;
  /// Null until `bound` computes them. low_ stays null if the position is not negative.
  SmallVector<Value, 5> low_, high_;
  llvm::DenseMap<unsigned, Value> addresses_; ///< Without what rows in pages add to them.
  llvm::DenseMap<int64_t, tile::IndexPlace> placesInPages_;
  llvm::DenseMap<std::pair<unsigned, int64_t>, Value> insideAlong_;
};

} // namespace

/// Returns how many consecutive registers of each thread hold consecutive elements of the last dimension, from a
/// multiple of this number on: a power of two, at most `most`. The number divides the last dimension, so that such
/// registers hold elements of the tile either all or none.
static int64_t contiguousRegisters(RankedTensorType tile, int64_t most) {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  int32_t last = tile.getRank() - 1;
  ArrayRef<sm::Digit> registers = layout.getRegisters();
  if (registers.empty() || registers.front().dim != last || registers.front().stride != 1)
    return 1;
  auto fits = [&](int64_t count) {
    auto startsAtMultiple = [&](const sm::Digit &digit) { return digit.dim != last || digit.stride % count == 0; };
    return tile.getShape().back() % count == 0 && registers.front().size % count == 0 &&
           llvm::all_of(registers.drop_front(), startsAtMultiple) &&
           llvm::all_of(layout.getLanes(), startsAtMultiple) && llvm::all_of(layout.getWarps(), startsAtMultiple);
  };
  int64_t count = most;
  while (count > 1 && !fits(count))
    count /= 2;
  return count;
}

/// Returns how many elements of a thread one access reaches, in 8 or 16 bytes; 1 if they are not neighbours.
static int64_t vectorRegisters(RankedTensorType tile) {
  const unsigned bits = tile.getElementTypeBitWidth();
  if (bits < 8)
    return 1;
  const int64_t count = contiguousRegisters(tile, 128 / bits);
  return count * bits >= 64 ? count : 1;
}

//===-- Load and store -------------------------------------------------------------------------------------------===//

/// Loads the tile, `count` elements at a time. If the tile is whole, most accesses need no predicate.
static SmallVector<Value> loadTile(Threads &t, tile::LoadOp op, Window window, int64_t count, bool isWhole) {
  auto tile = cast<RankedTensorType>(op.getType());
  Type element = tile.getElementType();
  TypedAttr fill = op.getFillAttr();
  Value otherwise = arith::ConstantOp::create(t.b, fill ? fill : t.b.getZeroAttr(element));
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < registerCount(tile); reg += count) {
    Value address = window.address(reg), inside = window.inside(reg, isWhole);
    llvm::append_range(registers, t.gpu.load(element, count, address, inside, otherwise));
  }
  return registers;
}

/// Loads a whole tile whose registers hold pairs of neighbours in memory, two elements at a time.
static SmallVector<Value> loadPairs(Threads &t, tile::LoadOp op, Window window) {
  auto tile = cast<RankedTensorType>(op.getType());
  SmallVector<Value> words;
  for (unsigned reg = 0; reg < registerCount(tile); reg += 2) {
    Value address = window.address(reg), inside = window.inside(reg, /*isWhole=*/true);
    words.push_back(t.gpu.load(t.b.getI32Type(), address, inside, t.s.i32(0)));
  }
  return words;
}

/// Loads the tile element by element, with coordinates that take no register anywhere else.
static void loadRarely(Threads &t, tile::LoadOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  t.define(op, loadTile(t, op, Window(t, op, tile, t.recomputePlace(tile)), 1, /*isWhole=*/false));
}

static void loadInParts(Threads &t, tile::LoadOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  Window window(t, op, tile, t.place(tile));
  auto [word, words] = Threads::packedType(tile.getElementType(), registerCount(tile));
  const int64_t count = vectorRegisters(tile);
  bool hasPairs = count == 1 && words < registerCount(tile) && contiguousRegisters(tile, 2) > 1;
  Value isFast = count > 1  ? window.isDivisible(count)
                 : hasPairs ? t.s.both(window.isWhole(), window.isContiguous(2))
                            : window.isWhole();
  auto fast = [&] {
    if (count > 1)
      return t.packed(loadTile(t, op, window.contiguous(), count, /*isWhole=*/false));
    return hasPairs ? loadPairs(t, op, window.contiguous()) : t.packed(loadTile(t, op, window, 1, /*isWhole=*/true));
  };
  auto slow = [&] { return t.packed(loadTile(t, op, window, 1, /*isWhole=*/false)); };
  SmallVector<Type> types(words, word);
  t.define(op, t.unpacked(tile.getElementType(), registerCount(tile), t.either(isFast, types, fast, slow)));
}

static void lower(Threads &t, tile::LoadOp op) { op->hasAttr(tile::rare) ? loadRarely(t, op) : loadInParts(t, op); }

/// Returns true if each `count` registers from a multiple of this number on hold one condition.
static bool holdForAll(ArrayRef<Value> conditions, int64_t count) {
  for (size_t reg = 0; reg < conditions.size(); reg += count)
    if (!llvm::all_equal(conditions.slice(reg, count)))
      return false;
  return true;
}

static void lower(Threads &t, tile::StoreOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  // Compute the coordinates here in a program with roles: consumers need them for nothing else.
  ThreadCoordinates place = tile::wantsRoles(op) ? t.recomputePlace(tile) : t.place(tile);
  Window window(t, op, tile, place);
  ArrayRef<Value> elements = t.registers(op.getTile());
  ArrayRef<Value> conditions = op.getCondition() ? t.registers(op.getCondition()) : ArrayRef<Value>();
  auto store = [&](Window window, size_t count) {
    for (size_t reg = 0; reg < elements.size(); reg += count) {
      Value counts = t.s.both(window.inside(reg), place.writes);
      t.gpu.store(elements.slice(reg, count), window.address(reg),
                  conditions.empty() ? counts : t.s.both(counts, conditions[reg]));
    }
  };
  if (const int64_t count = vectorRegisters(tile); count > 1 && holdForAll(conditions, count))
    t.either(window.isDivisible(count), [&] { store(window.contiguous(), count); }, [&] { store(window, 1); });
  else
    store(window, 1);
}

//===-- Atomic addition ------------------------------------------------------------------------------------------===//

/// Adds the tile to memory, `count` elements at a time.
static void addTile(Threads &t, Value tile, Window window, size_t count, bool isWhole) {
  ArrayRef<Value> elements = t.registers(tile);
  Value writes = t.place(cast<RankedTensorType>(tile.getType())).writes;
  for (size_t reg = 0; reg < elements.size(); reg += count)
    t.gpu.atomicAdd(elements.slice(reg, count), window.address(reg), t.s.both(window.inside(reg, isWhole), writes));
}

/// Adds in few instructions. The coordinates are computed here: a program in which TMA adds needs them for nothing
/// else.
static void addRarely(Threads &t, tile::AtomicAddOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  addTile(t, op.getTile(), Window(t, op, type, t.recomputePlace(type)), 1, /*isWhole=*/false);
}

/// ptxas makes a branch of each predicated addition. A tile that lies completely inside the view therefore uses no
/// predicates.
static void addInParts(Threads &t, tile::AtomicAddOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  Window window(t, op, type, t.place(type));
  bool hasVectors = t.arch() >= 90 && type.getElementType().isF32();
  int64_t count = hasVectors ? contiguousRegisters(type, 4) : 1;
  Value isWhole = window.isWhole();
  if (count > 1)
    isWhole = t.s.both(isWhole, window.isContiguous(count));
  t.either(
      isWhole, [&] { addTile(t, op.getTile(), count > 1 ? window.contiguous() : window, count, /*isWhole=*/true); },
      [&] { addTile(t, op.getTile(), window, 1, /*isWhole=*/false); });
}

static LogicalResult lower(Threads &t, tile::AtomicAddOp op) {
  if (op.getTurn())
    return op.emitOpError("has a turn; expand-meetings makes a wait of it");
  op->hasAttr(tile::rare) ? addRarely(t, op) : addInParts(t, op);
  return success();
}

//===-- Single elements ------------------------------------------------------------------------------------------===//

namespace {
/// The address of the element that index tiles select, and an i1: true if it is inside the view.
struct Target {
  Value address, inside;
};
} // namespace

/// Returns an i1: true if 0 <= index < size. Compares a 32-bit index in 32 bits.
static Value isWithin(Scalars &s, Value index, Value size) {
  if (!index.getType().isInteger(32))
    return s.compare(Compare::ult, s.toIndex(index), size);
  return s.compare(Compare::ult, index, s.toI32(s.clamp(size, int64_t{1} << 31)));
}

static Target targetOf(Threads &t, const View &view, ArrayRef<Value> indices) {
  Scalars &s = t.s;
  auto bytes = [&](Value elements) { return s.mul(s.toI64(elements), view.elementBytes()); };
  Target target{view.base, nullptr};
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (view.isInPages(dim)) {
      ThreadProgram program(t);
      const tile::IndexPlace place = view.placeOf(s, dim, s.toIndex(index), program);
      target = {s.add(target.address, bytes(s.add(place.toPage, place.distance))), place.isInside};
      continue;
    }
    target.inside = s.both(target.inside, isWithin(s, index, view.sizes[dim]));
    target.address = s.add(target.address, s.mul(s.toI64(index), bytes(view.strides[dim])));
  }
  return target;
}

static Target targetOf(Threads &t, const View &view, ValueRange indices, unsigned reg) {
  return targetOf(t, view, llvm::map_to_vector(indices, [&](Value tile) { return t.registers(tile)[reg]; }));
}

Value ThreadProgram::entry(Value view, Value at) {
  const Target target = targetOf(t_, t_.view(view), at);
  return t_.s.toIndex(t_.gpu.load(t_.b.getI32Type(), target.address, target.inside, t_.s.i32(0)));
}

static void lower(Threads &t, tile::GatherOp op) {
  View view = t.view(op.getView());
  Type type = getElementTypeOrSelf(op.getType());
  Value otherwise = t.zero(type);
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < t.registers(op.getIndices().front()).size(); ++reg) {
    Target target = targetOf(t, view, op.getIndices(), reg);
    registers.push_back(t.gpu.load(type, target.address, target.inside, otherwise));
  }
  t.define(op, registers);
}

/// Calls `put` with each element of the tile, its address, and an i1: true if this thread writes the element.
static void atTargets(Threads &t, Value source, Value ofView, ValueRange indices,
                      function_ref<void(Value, Value, Value)> put) {
  auto tile = cast<RankedTensorType>(source.getType());
  View view = t.view(ofView);
  Value writes = t.place(tile).writes;
  for (auto [reg, element] : llvm::enumerate(t.registers(source))) {
    Target target = targetOf(t, view, indices, reg);
    Value holds = t.s.both(t.inside(tile, reg), writes);
    put(element, target.address, t.s.both(target.inside, holds));
  }
}

static void lower(Threads &t, tile::ScatterOp op) {
  atTargets(t, op.getTile(), op.getView(), op.getIndices(),
            [&](Value element, Value address, Value writes) { t.gpu.store(element, address, writes); });
}

static void lower(Threads &t, tile::ScatterAddOp op) {
  atTargets(t, op.getTile(), op.getView(), op.getIndices(),
            [&](Value element, Value address, Value writes) { t.gpu.atomicAdd(element, address, writes); });
}

void cuda::addGlobalMemoryLowerings(Lowerings &known) {
  known.add<tile::LoadOp, tile::StoreOp, tile::AtomicAddOp, tile::GatherOp, tile::ScatterOp, tile::ScatterAddOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
