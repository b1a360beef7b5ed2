// SPDX-License-Identifier: MIT
// Lowering of sm.copy_in and sm.copy_out: tiles between a view and shared memory. If the view allows it, threads copy
// chunks of 16 bytes, and consecutive threads copy along the row of a panel. Otherwise they copy single elements.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/cuda/threads/lower/SharedTile.h"

#include <numeric>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

using Compare = Scalars::Compare;

constexpr int64_t kChunkBytes = 16;
/// The largest number of chunks that a thread moves without a loop.
constexpr int64_t kUnrolled = 16;
/// The number of elements that a thread of a consumer has in flight. This many registers are free next to the
/// consumer's tiles.
constexpr int64_t kElementsInFlight = 8;

/// The coordinates of a tile along one dimension that lie inside the view: the first one, and their number (i32).
struct Inside {
  Value first, count;
};

/// The address of an element in global memory, and an i1: true if its page has its row. Null without pages.
struct GlobalPlace {
  Value address, exists;
};

/// The distribution of pieces, which are chunks or single elements, over threads. Threads follow each other `perRow`
/// along the row of a strip of columns, then along `rows` rows, then over strips. Each thread repeats this for further
/// rows and strips.
struct Deal {
  int64_t pieceElements;
  int64_t perRow, rows, strips; ///< Threads.
  int64_t rowRepeats, stripRepeats;

  int64_t stripElements() const { return perRow * pieceElements; }
  bool isOfChunks() const { return pieceElements > 1; }
};

/// The warps that copy: `count` warps, of which this is number `warp`. If `rowsOfEach` is not 0, each warp copies that
/// many rows of its own.
struct Warps {
  Value warp;
  int64_t count, rowsOfEach = 0;
};

class Copy {
public:
  Copy(Threads &t, SharedPlace shared, const View &view, ValueRange position, ArrayRef<int64_t> shape, bool out,
       Warps warps)
      : t(t), s(t.s), shared(shared), type(shared.type), view(view), shape(shape), out(out),
        rows(warps.rowsOfEach != 0 ? warps.rowsOfEach : type.getShape()[0]),
        threads(warps.rowsOfEach != 0 ? sm::kWarpSize : warps.count * sm::kWarpSize) {
    for (Value coordinate : position)
      this->position.push_back(s.toI64(coordinate));
    for (unsigned dim = 0; dim < 2; ++dim)
      inside[dim] = insideOf(dim);
    rowBytes = s.mul(s.toI64(view.strides[0]), elementBytes());
    if (warps.rowsOfEach != 0)
      firstRow = s.mul(warps.warp, rows);
    thread = firstRow ? t.lane() : s.add(s.mul(warps.warp, sm::kWarpSize), t.lane());
  }

  void emit() {
    // With or without panels, each 16-byte chunk of a row is contiguous in shared memory.
    int64_t panel = sm::panelFor(type.getShape()[1], elementBytes());
    if (panel == 0)
      return elements();
    t.either(isFriendly(), [&] { pieces(dealOut(chunkElements(), panel / kChunkBytes)); }, [&] { elements(); });
  }

  /// Copies element after element, in the fewest registers.
  void elements() {
    int64_t columns = type.getShape()[1];
    t.repeat(thread, s.i32(rows * columns), threads, [&](Value element) {
      Value row = fromFirstRow(s.div(element, columns)), column = s.rem(element, columns);
      constexpr int64_t anyBits = ~int64_t(0);
      Origin origin{{row, column}, {{anyBits, type.getShape()[0] - 1}, {anyBits, columns - 1}}};
      Value place = SharedTile(t, shared, origin).at({0, 0});
      Value isIn = s.both(isInside(inside[0], row, 0), isInside(inside[1], column, 0));
      const GlobalPlace global = globalPlace(row, column, s.mul(s.toI64(view.strides[1]), elementBytes()));
      moveElement(place, global.address, s.both(isIn, global.exists));
    });
  }

  /// Copies several elements at a time. For code that runs rarely: the addresses are computed here from an opaque
  /// thread number. Otherwise ptxas would compute them earlier and keep them in registers.
  void elementsInFlight() {
    thread = t.opaque(thread);
    pieces(dealOut(1, std::gcd(type.getShape()[1], threads)));
  }

private:
  int64_t elementBytes() const { return type.elementBytes(); }
  int64_t chunkElements() const { return kChunkBytes / elementBytes(); }
  Value fromFirstRow(Value row) { return firstRow ? s.add(row, firstRow) : row; }

  Inside insideOf(unsigned dim) {
    Value before = s.sub(s.i64(0), position[dim]), end = s.sub(s.toI64(view.sizes[dim]), position[dim]);
    Value first = s.toI32(s.clamp(before, shape[dim]));
    return {first, s.sub(s.toI32(s.clamp(end, shape[dim])), first)};
  }

  /// Returns an i1: true if all chunks are aligned and lie completely inside or completely outside the view.
  Value isFriendly() {
    Value column = s.mul(position[1], elementBytes());
    Value bits = s.bitOr(s.bitOr(view.base, rowBytes), column);
    bits = s.bitOr(bits, s.mul(s.toI64(inside[1].count), elementBytes()));
    if (view.pages)
      bits = s.bitOr(bits, s.mul(s.toI64(view.pages->stride), elementBytes()));
    Value isContiguous = s.compare(Compare::eq, view.strides[1], 1);
    return s.both(isContiguous, s.compare(Compare::eq, s.rem(bits, kChunkBytes), 0));
  }

  Value isInside(const Inside &inside, Value coordinate, int64_t distance) {
    return s.compare(Compare::ult, s.add(s.sub(coordinate, inside.first), distance), inside.count);
  }

  GlobalPlace globalPlace(Value row, Value column, Value columnBytes) {
    Value ofView = s.add(position[0], s.toI64(row)), rows, exists;
    if (view.pages) {
      ThreadProgram program(t);
      const tile::IndexPlace place = view.placeOf(s, 0, s.toIndex(ofView), program);
      rows = s.mul(s.toI64(s.add(place.toPage, place.distance)), elementBytes());
      exists = place.isInside;
    } else {
      rows = s.mul(ofView, rowBytes);
    }
    Value columns = s.mul(s.add(position[1], s.toI64(column)), columnBytes);
    return {s.add(s.add(view.base, rows), columns), exists};
  }

  //===-- Pieces --------------------------------------------------------------------------------------------------===//

  Deal dealOut(int64_t pieceElements, int64_t perRow) const {
    Deal deal{.pieceElements = pieceElements, .perRow = perRow};
    deal.rows = std::gcd(rows, threads / perRow);
    deal.strips = threads / perRow / deal.rows;
    deal.rowRepeats = rows / deal.rows;
    deal.stripRepeats = llvm::divideCeil(type.getShape()[1], deal.stripElements() * deal.strips);
    return deal;
  }

  Origin originOf(const Deal &deal) {
    Value piece = s.rem(thread, deal.perRow), rest = s.div(thread, deal.perRow);
    Value row = s.rem(rest, deal.rows), strip = s.div(rest, deal.rows);
    Value column = s.add(s.mul(strip, deal.stripElements()), s.mul(piece, deal.pieceElements));
    Origin origin{{fromFirstRow(row), column}, SmallVector<sm::Spread>(2)};
    for (int64_t first = 0; first < type.getShape()[0]; first += rows)
      for (int64_t i = 0; i < deal.rows; ++i)
        origin.spread[0].bits |= first + i;
    origin.spread[0].last = type.getShape()[0] - rows + deal.rows - 1;
    for (int64_t i = 0; i < deal.strips * deal.perRow; ++i)
      origin.spread[1].bits |= i * deal.pieceElements;
    origin.spread[1].last = (deal.strips * deal.perRow - 1) * deal.pieceElements;
    return origin;
  }

  void pieces(const Deal &deal) {
    Origin origin = originOf(deal);
    int64_t unrolled = deal.rowRepeats, most = deal.isOfChunks() ? kUnrolled : kElementsInFlight;
    while (unrolled > 1 && (unrolled * deal.stripRepeats > most || deal.rowRepeats % unrolled != 0))
      --unrolled;
    if (unrolled == deal.rowRepeats)
      return somePieces(deal, origin, unrolled);
    for (int64_t row = 0; row < rows; row += unrolled * deal.rows)
      origin.spread[0].bits |= row;
    origin.spread[0].last += rows - unrolled * deal.rows;
    t.repeat(s.i32(0), s.i32(rows), unrolled * deal.rows, [&](Value row) {
      origin.coordinates[0] = s.add(origin.coordinates[0], row);
      somePieces(deal, origin, unrolled);
    });
  }

  /// Returns the rows that are inside the view in this column, so that each piece needs only one comparison.
  Inside rowsOf(Value column, int64_t distance) {
    return {inside[0].first, s.select(isInside(inside[1], column, distance), inside[0].count, s.i32(0))};
  }

  /// Moves the thread's pieces of `repeats` rows.
  void somePieces(const Deal &deal, const Origin &origin, int64_t repeats) {
    SharedTile tile(t, shared, origin);
    Value columnBytes = s.mul(deal.isOfChunks() ? s.i64(1) : s.toI64(view.strides[1]), elementBytes());
    GlobalPlace row = globalPlace(origin.coordinates[0], origin.coordinates[1], columnBytes);
    Value rowStep = s.mul(rowBytes, deal.rows);
    const int64_t columnStep = deal.strips * deal.stripElements();
    SmallVector<Inside> rows;
    for (int64_t j = 0; j < deal.stripRepeats; ++j)
      rows.push_back(rowsOf(origin.coordinates[1], j * columnStep));
    for (int64_t i = 0; i < repeats; ++i) {
      if (i > 0 && view.pages)
        row = globalPlace(s.add(origin.coordinates[0], i * deal.rows), origin.coordinates[1], columnBytes);
      else if (i > 0)
        row.address = s.add(row.address, rowStep);
      for (int64_t j = 0; j < deal.stripRepeats; ++j) {
        int64_t distance[] = {i * deal.rows, j * columnStep};
        Value global = s.add(row.address, s.mul(columnBytes, distance[1]));
        Value isIn = isInside(rows[j], origin.coordinates[0], distance[0]);
        move(deal, tile, distance, global, s.both(isIn, row.exists));
      }
    }
  }

  /// Moves a piece unless it is beyond the buffer; such pieces are outside the view, too.
  void move(const Deal &deal, SharedTile &tile, ArrayRef<int64_t> distance, Value global, Value isIn) {
    Value exists = tile.contains(distance), place = tile.at(distance);
    t.onlyIf(exists, [&] { deal.isOfChunks() ? moveChunk(place, global, isIn) : moveElement(place, global, isIn); });
  }

  void moveChunk(Value place, Value global, Value isIn) {
    if (out)
      t.gpu.store(t.gpu.loadShared(t.b.getI32Type(), 4, place), global, isIn);
    else
      t.gpu.copyAsync(place, global, s.select(isIn, s.i32(kChunkBytes), s.i32(0)));
  }

  void moveElement(Value place, Value global, Value isIn) {
    Type element = storedType(type.getElementType());
    if (out)
      t.gpu.store(t.gpu.loadShared(element, 1, place).front(), global, isIn);
    else
      t.gpu.storeShared(t.gpu.load(element, global, isIn, t.zero(element)), place);
  }

  Threads &t;
  Scalars &s;
  SharedPlace shared;
  sm::SharedType type;
  View view;
  SmallVector<Value, 2> position;
  ArrayRef<int64_t> shape;
  bool out;
  int64_t rows, threads;
  Inside inside[2];
  Value rowBytes, firstRow, thread;
};

} // namespace

/// Returns the copy between a view and the tile `shared` that `op` describes.
template <class Op> static Copy copyOf(Threads &t, Op op, Value shared, Warps warps) {
  return Copy(t, t.sharedPlace(shared), t.view(op.getView()), t.scalars(op.getPosition()), op.getShape(),
              /*out=*/std::is_same_v<Op, sm::CopyOutOp>, warps);
}

static LogicalResult lower(Threads &t, sm::CopyInOp op) {
  if (op.getPosition().size() != 2)
    return op.emitOpError("copies only matrices");
  copyOf(t, op, op.getShared(), {t.warp(), t.warps()}).emit();
  return success();
}

template <class Op> static LogicalResult checkRowsOfWarp(Threads &t, Op op, int64_t rowsOfWarp, sm::SharedType tile) {
  int64_t rows = tile.getShape()[0];
  if (rowsOfWarp * t.warps() == rows)
    return success();
  return op.emitOpError("has rows_of_warp ")
         << rowsOfWarp << ", but " << t.warps() << " warps share " << rows << " rows";
}

static LogicalResult lower(Threads &t, sm::CopyOutOp op) {
  if (op.getPosition().size() != 2)
    return op.emitOpError("copies only matrices");
  auto rowsOfWarp = static_cast<int64_t>(op.getRowsOfWarp().value_or(0));
  if (rowsOfWarp != 0 && failed(checkRowsOfWarp(t, op, rowsOfWarp, op.getShared().getType())))
    return failure();
  copyOf(t, op, op.getShared(), {t.warp(), t.warps(), rowsOfWarp}).emit();
  return success();
}

/// Copies a vector to its slot, several elements of a lane at a time. Elements outside the view are 0.
static void copyVector(Threads &t, sm::FallbackCopyOp op) {
  const View view = t.view(op.getView());
  const int64_t lanes = t.lanes(), bytes = view.elementBytes(), count = op.getTile().getType().getShape()[0] / lanes,
                atOnce = std::gcd(count, int64_t{4});
  Value first = lanes == 1 ? t.s.i32(0) : t.lane(), position = t.scalar(op.getPosition().front());
  Value zero = t.zero(view.element);
  // Not a constant for LLVM, which would unroll the loop: the producer has no registers for that.
  Value end = t.s.select(t.s.compare(Compare::ne, view.base, 0), t.s.i32(count), t.s.i32(0));
  t.repeat(t.s.i32(0), end, atOnce, [&](Value done) {
    SmallVector<std::pair<Value, Value>> elements;
    for (int64_t i = 0; i < atOnce; ++i) {
      Value number = t.s.add(first, t.s.mul(t.s.add(done, i), lanes));
      Value at = t.s.add(position, t.s.toIndex(number));
      Value isInside = t.s.both(t.s.compare(Compare::sge, at, 0), t.s.compare(Compare::slt, at, view.sizes.front()));
      Value distance = t.s.mul(t.s.toI64(at), t.s.mul(t.s.toI64(view.strides.front()), bytes));
      elements.emplace_back(number, t.gpu.load(view.element, t.s.add(view.base, distance), isInside, zero));
    }
    for (auto [number, element] : elements)
      t.gpu.storeShared(element, t.s.add(t.sharedAddress(op.getTile()), t.s.mul(number, bytes)));
  });
}

/// Copies the whole tile by the lanes of one warp.
static LogicalResult copyByWarp(Threads &t, sm::FallbackCopyOp op) {
  if (op.getPosition().size() == 1) {
    copyVector(t, op);
    return success();
  }
  if (t.lanes() == 1)
    return op.emitOpError("copies a matrix by all lanes of a warp, of which an 'sm.elect' has one");
  copyOf(t, op, op.getTile(), {t.s.i32(0), 1}).elements();
  return success();
}

static LogicalResult lower(Threads &t, sm::FallbackCopyOp op) {
  if (!op.getRowsOfWarp())
    return copyByWarp(t, op);
  if (op.getPosition().size() != 2)
    return op.emitOpError("fills only matrices");
  auto rowsOfWarp = static_cast<int64_t>(*op.getRowsOfWarp());
  if (failed(checkRowsOfWarp(t, op, rowsOfWarp, op.getTile().getType())))
    return failure();
  copyOf(t, op, op.getTile(), {t.warp(), t.warps(), rowsOfWarp}).elementsInFlight();
  return success();
}

void cuda::addCopyLowerings(Lowerings &known) {
  known.add<sm::CopyInOp, sm::CopyOutOp, sm::FallbackCopyOp>([](Threads &t, auto op) { return lower(t, op); });
}
