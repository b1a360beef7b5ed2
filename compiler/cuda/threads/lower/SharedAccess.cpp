// SPDX-License-Identifier: MIT
// Lowering of sm.read and sm.write: tiles between registers and shared memory.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/cuda/threads/lower/SharedTile.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

//===-- Runs ------------------------------------------------------------------------------------------------------===//

namespace {
/// Runs of registers that hold neighbours of a row: `length` registers in each run, with numbers that are `stride`
/// apart.
struct Runs {
  int64_t length = 1, stride = 1;

  bool begins(unsigned reg) const { return reg / stride % length == 0; }
};
} // namespace

/// Returns true if the runs of this length begin at multiples of the length in all threads, both in the tile and in
/// memory.
static bool isAligned(sm::LayoutAttr layout, const SharedTile &tile, int64_t length) {
  int32_t last = tile.shape().size() - 1;
  auto inStep = [&](const sm::Digit &digit) { return digit.dim != last || digit.stride % length == 0; };
  return tile.spread().back().bits % length == 0 && tile.shape().back() % length == 0 &&
         llvm::all_of(layout.getRegisters(), [&](const sm::Digit &d) { return d.stride == 1 || inStep(d); });
}

/// Returns the longest runs that one access can move.
static Runs runsOf(sm::LayoutAttr layout, const SharedTile &tile) {
  Runs runs;
  for (const sm::Digit &digit : layout.getRegisters()) {
    bool isRow = digit.dim + 1 == static_cast<int32_t>(tile.shape().size()) && digit.stride == 1;
    while (isRow && digit.size % (2 * runs.length) == 0 && 2 * runs.length * tile.type().elementBytes() <= 16 &&
           isAligned(layout, tile, 2 * runs.length))
      runs.length *= 2;
    if (isRow)
      return runs;
    runs.stride *= digit.size;
  }
  return {};
}

//===-- Blocks of 16 x 16 -----------------------------------------------------------------------------------------===//

/// Calls `access` for each block of a tile in a layout of accumulators or operands, with the distance of the block and
/// the register that holds its first element.
static void forEachBlock(const sm::Fragments &grid, function_ref<void(ArrayRef<int64_t>, int64_t)> access) {
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t column = 0; column < grid.columns; ++column)
      access({grid.rowStride * row, 16 * column}, 8 * (row * grid.columns + column));
}

static std::optional<sm::Fragments> fragmentsOf(sm::LayoutAttr layout) {
  if (std::optional<sm::Fragments> grid = sm::accumulatorFragments(layout))
    return grid;
  std::optional<sm::Fragments> grid = sm::warpgroupFragments(layout);
  return grid ? grid : sm::operandFragments(layout);
}

/// Returns the tile as ldmatrix and stmatrix address it, or none if they cannot move it.
static std::optional<SharedTile> matricesOf(Threads &t, RankedTensorType tile, SharedPlace shared) {
  sm::LayoutAttr layout = sm::layoutOf(tile);
  if (shared.type.getPanel() == 0 || shared.type.elementBytes() != 2 || !fragmentsOf(layout))
    return std::nullopt;
  return SharedTile(t, shared, originOf(t, sm::blockMatrices(layout), 2));
}

//===-- sm.read ---------------------------------------------------------------------------------------------------===//

static void readMatrices(Threads &t, sm::ReadOp op, SharedTile &matrices) {
  RankedTensorType tile = op.getResult().getType();
  SmallVector<Value> registers(registerCount(tile));
  forEachBlock(*fragmentsOf(sm::layoutOf(tile)), [&](ArrayRef<int64_t> block, int64_t first) {
    for (auto [i, word] : llvm::enumerate(t.gpu.loadMatrices(4, false, matrices.atOrInside(block, 8))))
      std::tie(registers[first + 2 * i], registers[first + 2 * i + 1]) = t.gpu.unpack(tile.getElementType(), word);
  });
  t.define(op.getResult(), registers);
}

/// Converts an element from its form in memory to its form in registers.
static Value toElement(Threads &t, Type type, Value stored) {
  return type.isInteger(1) ? Value(arith::TruncIOp::create(t.b, type, stored)) : stored;
}

static SmallVector<Value> readRuns(Threads &t, RankedTensorType tile, SharedTile shared) {
  Type type = tile.getElementType();
  Runs runs = runsOf(sm::layoutOf(tile), shared);
  SmallVector<Value> registers(registerCount(tile));
  for (unsigned reg = 0; reg < registers.size(); ++reg) {
    if (!runs.begins(reg))
      continue;
    Value address = shared.atOrInside(registerOffset(tile, reg), runs.length);
    for (auto [i, stored] : llvm::enumerate(t.gpu.loadShared(storedType(type), runs.length, address)))
      registers[reg + i * runs.stride] = toElement(t, type, stored);
  }
  return registers;
}

/// Reads columns that are `step` apart, element by element.
static SmallVector<Value> readColumns(Threads &t, sm::ReadOp op, Origin origin) {
  RankedTensorType tile = op.getResult().getType();
  const auto first = static_cast<int64_t>(*op.getFirst()), step = static_cast<int64_t>(*op.getStep());
  Value &column = origin.coordinates.back();
  column = t.s.add(t.s.mul(column, step), first);
  sm::Spread &spread = origin.spread.back();
  // A negative first column may be outside, like one at the end.
  const int64_t last = first < 0 ? op.getShared().getType().getShape().back() : first + step * spread.last;
  spread = {~int64_t(0), last};
  SharedTile shared(t, t.sharedPlace(op.getShared()), origin);
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < registerCount(tile); ++reg) {
    sm::Coordinates distance = registerOffset(tile, reg);
    distance.back() *= step;
    Value stored = t.gpu.loadShared(storedType(tile.getElementType()), 1, shared.atOrInside(distance, 1)).front();
    registers.push_back(toElement(t, tile.getElementType(), stored));
  }
  return registers;
}

static LogicalResult lower(Threads &t, sm::ReadOp op) {
  RankedTensorType tile = op.getResult().getType();
  Origin origin = originOf(t, sm::layoutOf(tile), tile.getRank());
  if (op.getFirst()) {
    t.define(op.getResult(), readColumns(t, op, origin));
  } else if (op.getReshaped()) {
    if (op.getShared().getType().getPanel())
      return op.emitOpError("reshapes a tile that is stored in panels");
    t.define(op.getResult(), readRuns(t, tile, SharedTile(t, t.sharedPlace(op.getShared()), origin, tile.getShape())));
  } else if (auto matrices = matricesOf(t, tile, t.sharedPlace(op.getShared()))) {
    readMatrices(t, op, *matrices);
  } else {
    t.define(op.getResult(), readRuns(t, tile, SharedTile(t, t.sharedPlace(op.getShared()), origin)));
  }
  return success();
}

//===-- sm.write --------------------------------------------------------------------------------------------------===//

/// Returns how many coordinates along `dim`, from 0 on and without a gap, the layout reaches; at most `size`.
static int64_t covered(sm::LayoutAttr layout, unsigned dim, int64_t size) {
  llvm::BitVector reached(size);
  reached.set(0);
  for (ArrayRef<sm::Digit> digits : {layout.getRegisters(), layout.getLanes(), layout.getWarps()})
    for (const sm::DigitAlong &digit : sm::digitsAlong(digits, dim))
      for (int64_t place = reached.find_last(); place >= 0; place = reached.find_prev(place))
        for (int64_t i = 1; i < digit.size && place + i * digit.stride < size; ++i)
          reached.set(place + i * digit.stride);
  int firstMissing = reached.find_first_unset();
  return firstMissing < 0 ? size : firstMissing;
}

/// Writes zeros to a rectangle of the tile, given by its first coordinates and sizes.
static void clearBox(Threads &t, SharedPlace shared, ArrayRef<int64_t> first, ArrayRef<int64_t> sizes) {
  Scalars &s = t.s;
  int64_t count = ShapedType::getNumElements(sizes), threads = t.warps() * sm::kWarpSize;
  Value thread = s.add(s.mul(t.warp(), sm::kWarpSize), t.lane());
  Value zero = t.zero(storedType(shared.type.getElementType()));
  t.repeat(thread, s.i32(count), threads, [&](Value index) {
    Origin origin;
    origin.coordinates.resize(first.size());
    for (int64_t dim = first.size() - 1; dim >= 0; --dim) {
      origin.coordinates[dim] = s.add(s.rem(index, sizes[dim]), first[dim]);
      index = s.div(index, sizes[dim]);
    }
    for (auto [start, size] : llvm::zip_equal(first, sizes))
      origin.spread.push_back({~int64_t(0), start + size - 1});
    t.gpu.storeShared(zero, SharedTile(t, shared, origin).at(SmallVector<int64_t>(first.size(), 0)));
  });
}

/// Writes zeros to the part of the buffer that the layout does not cover.
static void clearRest(Threads &t, sm::LayoutAttr layout, SharedPlace shared) {
  auto shape = llvm::to_vector(shared.type.getShape());
  SmallVector<int64_t> first(shape.size(), 0), sizes(shape);
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t reach = covered(layout, dim, shape[dim]);
    first[dim] = reach;
    sizes[dim] = shape[dim] - reach;
    if (sizes[dim])
      clearBox(t, shared, first, sizes);
    first[dim] = 0;
    sizes[dim] = reach;
  }
}

/// Converts an element to its form in memory. The result is 0 if the register is padding.
static Value toStored(Threads &t, RankedTensorType tile, unsigned reg, Value element) {
  Type type = storedType(element.getType());
  Value stored = element.getType() == type ? element : Value(arith::ExtUIOp::create(t.b, type, element));
  Value inside = t.inside(tile, reg);
  return inside ? t.s.select(inside, stored, t.zero(type)) : stored;
}

static void writeRuns(Threads &t, Value held, SharedPlace place) {
  auto tile = cast<RankedTensorType>(held.getType());
  sm::LayoutAttr layout = sm::layoutOf(tile);
  SharedTile shared(t, place, originOf(t, layout, tile.getRank()));
  ArrayRef<Value> registers = t.registers(held);
  Runs runs = runsOf(layout, shared);
  Value writes = t.place(tile).writes;
  for (unsigned reg = 0; reg < registers.size(); ++reg) {
    if (!runs.begins(reg))
      continue;
    SmallVector<Value> elements;
    for (int64_t i = 0; i < runs.length; ++i)
      elements.push_back(toStored(t, tile, reg + i * runs.stride, registers[reg + i * runs.stride]));
    sm::Coordinates distance = registerOffset(tile, reg);
    t.gpu.storeShared(elements, shared.at(distance), t.s.both(writes, shared.contains(distance)));
  }
}

/// Returns true if every register of every thread holds an element, no two hold the same one, and the buffer has no
/// more elements.
static bool isExact(sm::LayoutAttr layout, RankedTensorType tile, sm::SharedType shared) {
  int64_t places = sm::countOf(layout.getRegisters()) * sm::kWarpSize * sm::countOf(layout.getWarps());
  return places == tile.getNumElements() && tile.getShape() == shared.getShape();
}

static void writeMatrices(Threads &t, Value tile, SharedTile &matrices) {
  ArrayRef<Value> registers = t.registers(tile);
  forEachBlock(*fragmentsOf(sm::layoutOf(tile)), [&](ArrayRef<int64_t> block, int64_t first) {
    SmallVector<Value> words;
    for (int64_t i = 0; i < 4; ++i)
      words.push_back(t.gpu.pack(registers[first + 2 * i], registers[first + 2 * i + 1]));
    t.gpu.storeMatrices(words, false, matrices.at(block));
  });
}

void cuda::writeTile(Threads &t, Value tile, SharedPlace shared) {
  auto type = cast<RankedTensorType>(tile.getType());
  sm::LayoutAttr layout = sm::layoutOf(type);
  auto matrices = matricesOf(t, type, shared);
  if (matrices && t.arch() >= 90 && isExact(layout, type, shared.type)) {
    writeMatrices(t, tile, *matrices);
  } else {
    writeRuns(t, tile, shared);
    clearRest(t, layout, shared);
  }
}

void cuda::writeStaggered(Threads &t, Value held, SharedPlace place) {
  auto tile = cast<RankedTensorType>(held.getType());
  ArrayRef<Value> registers = t.registers(held);
  Value isOdd = t.s.compare(Scalars::Compare::eq, t.s.rem(t.s.div(t.lane(), 4), 2), 1);
  Origin origin = originOf(t, sm::layoutOf(tile), 2);
  // No distance below carries into this bit, so `at` flips it: odd rows begin at the other block.
  origin.coordinates[1] = t.s.bitXor(origin.coordinates[1], t.s.select(isOdd, t.s.i32(16), t.s.i32(0)));
  SharedTile shared(t, place, origin);
  const sm::Fragments grid = *sm::warpgroupFragments(sm::layoutOf(tile));
  sm::Fragments whole = grid; // Of blocks in pairs, of which the last one may be padding.
  whole.columns += grid.columns % 2;
  Value zero = t.zero(tile.getElementType());
  forEachBlock(whole, [&](ArrayRef<int64_t> block, int64_t) {
    const int64_t row = block[0] / grid.rowStride, column = block[1] / 16;
    auto held = [&](int64_t column, int64_t reg) {
      return column < grid.columns ? registers[8 * (row * grid.columns + column) + reg] : zero;
    };
    for (int64_t reg = 0; reg < 8; reg += 2) {
      auto element = [&](int64_t i) { return t.s.select(isOdd, held(column ^ 1, reg + i), held(column, reg + i)); };
      sm::Coordinates distance = registerOffset(tile, reg);
      distance[0] += block[0];
      distance[1] += block[1];
      t.gpu.storeShared({element(0), element(1)}, shared.at(distance));
    }
  });
}

static void lower(Threads &t, sm::WriteOp op) {
  const SharedPlace place = t.sharedPlace(op.getShared());
  op.getStaggered() ? writeStaggered(t, op.getTile(), place) : writeTile(t, op.getTile(), place);
}

void cuda::addSharedAccessLowerings(Lowerings &known) {
  known.add<sm::ReadOp, sm::WriteOp>([](Threads &t, auto op) { return lower(t, op); });
}
