// SPDX-License-Identifier: MIT
// TMA copies of tiles between tensors and shared memory. A matrix is copied in boxes, each as wide as a panel, and a
// vector in one box.
#include "compiler/cuda/threads/lower/Boxes.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Storage.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

bool cuda::startsAtBox(TypedValue<tile::ViewType> view, Value column) {
  return sm::startsAtBox(column, view.getType().getElementType());
}

//===-- Tensor maps ----------------------------------------------------------------------------------------------===//

/// Returns the number of columns that TMA sees. A tile that starts at column 0 is as wide as its tensor for this use,
/// and the padding next to it must be 0. Other tiles have no such limit.
static int64_t columnsFrom(Value column, ArrayRef<int64_t> shape) {
  return matchPattern(column, m_Zero()) ? shape.back() : TensorMap::kAllColumns;
}

static SmallVector<int64_t, 2> boxOf(sm::SharedType tile, int64_t rows) {
  if (tile.getShape().size() == 1)
    return {tile.getShape().front()};
  return {sm::panelColumns(tile.getElementType()), rows};
}

TensorMap::TensorMap(Value view, sm::SharedType tile, int64_t rows, int64_t columns)
    : parameter(cast<BlockArgument>(tile::rootOf(view)).getArgNumber()), box(boxOf(tile, rows)),
      swizzle(tile.getPanel()), columns(columns), endsInside(sm::hasEnd(view)), joined(sm::joinedDimension(view)) {}

static TensorMap mapOf(sm::ProducerLoadOp load) {
  ArrayRef<int64_t> shape = load.getShape();
  return {load.getView(), load.getTile(), sm::boxRows(load.getView(), shape.front()),
          load.getTested() ? TensorMap::kAllColumns : columnsFrom(load.getPosition().back(), shape)};
}

/// Returns the tensor map of the `sm.producer_load` with `tested` that this op asks about. The map has no column limit,
/// not even for a tile that starts at column 0.
static TensorMap mapOf(sm::IsLoadedOp op) {
  sm::SharedType tile = op.getTile().getType();
  return {op.getView(), tile, sm::boxRows(op.getView(), tile.getShape().front()), TensorMap::kAllColumns};
}

/// Returns the tensor map for stores. The rows of one warp are one box.
static TensorMap mapOf(sm::TmaStoreOp store) {
  sm::SharedType tile = store.getShared().getType();
  return {store.getView(), tile, static_cast<int64_t>(store.getRowsOfWarp()),
          columnsFrom(store.getPosition().back(), tile.getShape())};
}

TensorMap TensorMap::ofAdditions(Value tensor, sm::SharedType buffer, std::optional<int64_t> columns, bool endsInside) {
  TensorMap map(tensor, buffer, sm::kRowsPerWarp, columns.value_or(kAllColumns));
  map.endsInside = endsInside;
  return map;
}

static TensorMap mapOf(sm::TmaAddOp add) {
  return TensorMap::ofAdditions(add.getTensor(), add.getShared().getType(), add.getColumns(), add.endsInside());
}

static TensorMap mapOf(sm::FitsOp fits) {
  const auto tile = cast<sm::SharedType>(fits.getBuffer());
  if (!fits.getRowsOfWarp())
    return TensorMap::ofAdditions(fits.getTensor(), tile, fits.getColumns(), fits.getEndsInside());
  TensorMap map(fits.getTensor(), tile, static_cast<int64_t>(*fits.getRowsOfWarp()),
                columnsFrom(fits.getIndices().front(), tile.getShape()));
  map.endsInside = fits.getEndsInside();
  map.joined = map.endsInside ? sm::joinedWithEnd(fits.getTensor()) : 0;
  return map;
}

static int64_t numberOf(ArrayRef<TensorMap> maps, const TensorMap &map) { return llvm::find(maps, map) - maps.begin(); }

void Threads::findTensorMaps() {
  auto add = [&](const TensorMap &map) {
    if (!llvm::is_contained(tensorMaps_, map))
      tensorMaps_.push_back(map);
    return bitOf(map);
  };
  source_.walk([&](sm::ProducerLoadOp load) {
    const int64_t bit = add(mapOf(load));
    neededMaps_ |= load.getTested() ? 0 : bit;
  });
  source_.walk([&](sm::TmaStoreOp op) { add(mapOf(op)); });
  source_.walk([&](sm::TmaAddOp op) { add(mapOf(op)); });
}

Value Threads::parameterOf(const TensorMap &map) {
  return target_.getArgument(static_cast<unsigned>(numberOf(tensorMaps_, map)));
}

int64_t Threads::bitOf(const TensorMap &map) const { return int64_t{1} << numberOf(tensorMaps_, map); }

Value Threads::areKnown(int64_t bits) {
  Value flags = target_.getArguments().back();
  return s.compare(Compare::eq, arith::AndIOp::create(b, flags, s.i64(bits)), bits);
}

Value Threads::exists(const TensorMap &map) { return areKnown(bitOf(map)); }
Value Threads::canLoadByTma() { return areKnown(neededMaps_); }
Value Threads::canLoadByTma(const TensorMap &map) { return areKnown(neededMaps_ | bitOf(map)); }

//===-- Boxes ----------------------------------------------------------------------------------------------------===//

/// Coordinates from this one on are left to lanes. A tile that begins before it ends before 2^31.
constexpr int64_t kEndOfCoordinates = int64_t{1} << 30;

/// Converts an index to a 32-bit coordinate, clamped to a range. Positions outside the range are outside any tensor
/// that TMA can address, and so are the limits.
static Value clampToCoordinate(Threads &t, Value index) {
  if (auto cast = index.getDefiningOp<arith::IndexCastOp>(); cast && cast.getIn().getType().isInteger(32))
    return cast.getIn();
  constexpr int64_t first = -(int64_t{1} << 30), last = std::numeric_limits<int32_t>::max();
  Value wide = t.s.toI64(index);
  wide = t.b.createOrFold<arith::MaxSIOp>(wide, t.s.i64(first));
  return t.s.toI32(t.b.createOrFold<arith::MinSIOp>(wide, t.s.i64(last)));
}

/// Changes coordinates in a tensor to those of a map whose rows end inside it (docs/design/tma.md). The box begins at
/// `row` of the `count` rows (i32) that end at `end` (index). A negative row counts as one after the end.
static void addEnd(Threads &t, Value row, Value count, Value end, SmallVector<Value> &coordinates) {
  constexpr int64_t limit = int64_t{1} << 30;
  row = t.s.minUnsigned(row, count);
  coordinates[1] = t.s.add(t.s.sub(t.s.i32(limit), count), row);
  coordinates.insert(coordinates.begin() + 2, {t.s.toI32(end), t.s.i32(limit)});
}

/// Emits the number of rows between neighbours along another dimension before all loops: a division of strides.
static Value rowsBetween(Threads &t, Value stride, Value rowStride) {
  OpBuilder::InsertionGuard guard(t.b);
  for (Operation *parent = t.b.getInsertionBlock()->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      t.b.setInsertionPoint(parent);
  return t.s.div(stride, rowStride);
}

/// Adds the end of the view's rows to coordinates in its tensor, if it has one. An index outside a joined dimension has
/// no rows.
static void addEnd(Threads &t, Value view, SmallVector<Value> &coordinates) {
  if (!sm::hasEnd(view))
    return;
  const View tensor = t.view(tile::rootOf(view));
  const tile::TensorPosition place = *tile::positionInTensor(view, {});
  Value size = *std::prev(tensor.sizes.end(), 2);
  const tile::RowRange rows = tile::clipRows(t.s, t.scalar(place.begin), t.scalar(place.end), size);
  Value count = t.s.sub(rows.end, rows.first), end = rows.end;
  if (const int64_t joined = sm::joinedDimension(view)) {
    const int64_t dim = tensor.sizes.size() - 2 - joined;
    Value index = t.scalar(place.indices[1 + joined]), none = t.s.index(0);
    Value before = t.s.mul(index, rowsBetween(t, tensor.strides[dim], *std::prev(tensor.strides.end(), 2)));
    Value exists = t.s.compare(Compare::ult, index, tensor.sizes[dim]);
    count = t.s.select(exists, count, none);
    end = t.s.select(exists, t.s.add(before, end), none);
    coordinates.erase(coordinates.begin() + 1 + joined);
  }
  addEnd(t, coordinates[1], t.s.toI32(count), end, coordinates);
}

SmallVector<Value> cuda::coordinatesOf(Threads &t, Value view, ValueRange position, bool areTested, Value row) {
  const SmallVector<Value> indices = tile::positionInTensor(view, position)->indices;
  SmallVector<Value> coordinates = llvm::map_to_vector(indices, [&](Value index) {
    return areTested ? t.s.toI32(t.scalar(index)) : clampToCoordinate(t, t.scalar(index));
  });
  if (row)
    coordinates[1] = t.s.add(coordinates[1], row);
  addEnd(t, view, coordinates);
  return coordinates;
}

/// Returns the coordinates of boxes of `rows` rows of a tile of `tileRows` rows, of which the first box has these.
static SmallVector<SmallVector<Value>> boxesAfter(Threads &t, const SmallVector<Value> &first, int64_t tileRows,
                                                  int64_t rows) {
  SmallVector<SmallVector<Value>> boxes{first};
  for (int64_t row = rows; row < tileRows; row += rows) {
    boxes.push_back(first);
    boxes.back()[1] = t.s.add(first[1], row);
  }
  return boxes;
}

/// Calls `copy` for each box of a tile of matrices with the address of the box and its coordinates in the tensor.
/// `boxes` are the coordinates of the boxes of the first panel, which have `rows` rows each.
static void forEachBox(Threads &t, sm::SharedType type, Value place, ArrayRef<SmallVector<Value>> boxes, int64_t rows,
                       function_ref<void(Value, ValueRange)> copy) {
  const int64_t panelBytes = type.getShape()[0] * sm::kPanelBytes, columns = sm::panelColumns(type.getElementType());
  for (int64_t panel = 0; panel < type.getShape()[1] / columns; ++panel)
    for (auto [number, box] : llvm::enumerate(boxes)) {
      SmallVector<Value> at(box);
      at[0] = t.s.add(at[0], panel * columns);
      copy(t.s.add(place, panel * panelBytes + static_cast<int64_t>(number) * rows * sm::kPanelBytes), at);
    }
}

/// Returns the coordinates of box `number` (i32) of a tile, of whose boxes each has `rows` rows of one page. If the
/// page is absent, all rows of the box are after the end.
static BoxCoordinates boxInPages(Threads &t, sm::ProducerLoadOp load, int64_t rows, Value number) {
  const View view = t.view(load.getView());
  SmallVector<Value> indices = tile::positionInPages(load.getView(), load.getPosition())->indices;
  indices.erase(indices.begin() + 1 + sm::joinedDimension(load.getView()));
  BoxCoordinates box = llvm::map_to_vector(indices, [&](Value index) { return clampToCoordinate(t, t.scalar(index)); });
  Value toNext = rowsBetween(t, view.pages->stride, view.strides.front());
  Value ofView = t.s.add(t.scalar(load.getPosition().front()), t.s.mul(t.s.toIndex(number), rows));
  ThreadProgram program(t);
  const tile::RowInPages place = view.rowInPages(t.s, ofView, program);
  Value left = t.s.add(place.row, t.s.sub(view.sizes.front(), ofView)), none = t.s.index(0);
  Value count = t.s.select(place.exists, t.s.min(left, place.held), none);
  Value page = t.s.select(place.exists, t.s.mul(place.page, toNext), none);
  Value row = t.s.toI32(place.row), end = t.s.add(page, count);
  addEnd(t, row, t.s.toI32(count), end, box);
  return box;
}

/// Returns the number of boxes of a panel.
static int64_t boxCount(sm::ProducerLoadOp load) {
  const int64_t rows = load.getTile().getShape().front();
  return rows / sm::boxRows(load.getView(), rows);
}

SmallVector<BoxCoordinates> cuda::boxesOf(Threads &t, sm::ProducerLoadOp load) {
  const int64_t tileRows = load.getTile().getShape().front(), rows = sm::boxRows(load.getView(), tileRows);
  if (!sm::hasPages(load.getView()))
    return boxesAfter(t, coordinatesOf(t, load.getView(), load.getPosition()), tileRows, rows);
  const int64_t count = boxCount(load), lanes = t.lanes();
  SmallVector<BoxCoordinates> boxes;
  for (int64_t first = 0; first < count; first += lanes)
    boxes.push_back(boxInPages(t, load, rows, lanes == 1 ? t.s.i32(first) : t.s.add(t.lane(), first)));
  return boxes;
}

/// Copies the boxes that lanes divide among them, one after another. All lanes say where a box is, and one of them
/// copies it.
static void copyDividedBoxes(Threads &t, sm::ProducerLoadOp load, ArrayRef<BoxCoordinates> ofLanes, SharedPlace slot,
                             function_ref<void(Value, ValueRange)> copy) {
  const int64_t boxes = boxCount(load), rows = slot.type.getShape().front() / boxes;
  for (auto [group, ofLane] : llvm::enumerate(ofLanes)) {
    const int64_t first = static_cast<int64_t>(group) * sm::kWarpSize, count = std::min(boxes - first, sm::kWarpSize);
    t.repeat(t.s.i32(0), t.s.i32(count), 1, [&, box = ofLane](Value lane) mutable {
      // Its row, and the end of its rows.
      for (Value &coordinate : MutableArrayRef(box).slice(1, sm::kCoordinatesOfEnd))
        coordinate = t.gpu.ofLane(coordinate, lane);
      Value place = t.s.mul(t.s.add(lane, first), rows * sm::kPanelBytes);
      t.byOneLane([&] { forEachBox(t, slot.type, t.s.add(slot.address, place), {box}, rows, copy); });
    });
  }
}

/// Returns the bytes that all loads of a slot bring.
static int64_t loadedBytes(sm::ChannelType channel) {
  int64_t bytes = 0;
  for (sm::SharedType part : channel.getParts())
    bytes += ShapedType::getNumElements(part.getShape()) * part.elementBytes();
  return bytes;
}

void cuda::loadBoxes(Threads &t, sm::ProducerLoadOp load, ArrayRef<BoxCoordinates> boxes, SharedPlace slot,
                     Value full) {
  sm::SharedType type = slot.type;
  const int64_t rows = sm::boxRows(load.getView(), type.getShape().front());
  if (load.fillsFirstPart())
    t.byOneLane([&] { t.gpu.arriveExpecting(full, loadedBytes(load.getChannel().getType())); });
  auto copy = [&](Value place, ValueRange at) { t.gpu.loadBox(place, t.parameterOf(mapOf(load)), full, at); };
  if (t.lanes() != 1)
    copyDividedBoxes(t, load, boxes, slot, copy);
  else if (type.getShape().size() == 1)
    copy(slot.address, boxes.front());
  else
    forEachBox(t, type, slot.address, boxes, rows, copy);
}

/// Returns the first row of this warp, of which each has `rows`.
static Value rowOfWarp(Threads &t, uint64_t rows) { return t.s.mul(t.warp(), static_cast<int64_t>(rows)); }

/// Starts the TMA copies of this warp's rows to global memory.
static void lower(Threads &t, sm::TmaStoreOp op) {
  t.onlyIf(t.isFirstLane(), [&] {
    const uint64_t rows = op.getRowsOfWarp();
    Value row = rowOfWarp(t, rows), place = t.s.mul(row, sm::kPanelBytes);
    place = t.s.add(place, t.sharedAddress(op.getShared()));
    forEachBox(t, op.getShared().getType(), place,
               coordinatesOf(t, op.getView(), op.getPosition(), /*areTested=*/true, row), static_cast<int64_t>(rows),
               [&](Value place, ValueRange at) { t.gpu.storeBox(t.parameterOf(mapOf(op)), at, place); });
    t.gpu.commitBoxes();
  });
}

static void lower(Threads &t, sm::TmaCommitOp) { t.gpu.commitBoxes(); }

/// Returns the first row and column of a warp's fragments (i32).
static std::pair<Value, Value> startOfWarp(Threads &t, const sm::Fragments &grid, Value warp) {
  Value row = t.s.mul(t.s.rem(warp, grid.warpsM), sm::kRowsPerWarp);
  return {row, t.s.mul(t.s.div(warp, grid.warpsM), 16 * grid.columns)};
}

/// A box that TMA adds to a tensor: its coordinates there, and its address in shared memory.
using AddedBox = std::pair<SmallVector<Value>, Value>;

/// Returns the boxes of what `warp` holds of the tile.
static SmallVector<AddedBox> boxesOf(Threads &t, sm::TmaAddOp op, Value warp) {
  const sm::Fragments grid = *sm::warpgroupFragments(op.getLayout());
  sm::SharedType type = op.getShared().getType();
  const int64_t width = sm::panelColumns(type.getElementType()), panelBytes = type.getShape()[0] * sm::kPanelBytes;
  auto [row, column] = startOfWarp(t, grid, warp);
  Value place = t.s.add(t.s.mul(t.s.div(column, width), panelBytes), t.s.mul(row, sm::kPanelBytes));
  place = t.s.add(place, t.sharedAddress(op.getShared()));
  SmallVector<Value> first = t.scalars(op.getCoordinates());
  first[1] = t.s.add(first[1], row);
  first[0] = t.s.add(first[0], column);
  SmallVector<AddedBox> boxes;
  for (int64_t block = 0; block < grid.rows; ++block)
    for (int64_t panel = 0; panel < llvm::divideCeil(16 * grid.columns, width); ++panel) {
      SmallVector<Value> at(first);
      at[0] = t.s.add(first[0], panel * width);
      at[1] = t.s.add(first[1], block * grid.rowStride);
      boxes.emplace_back(at, t.s.add(place, panel * panelBytes + block * grid.rowStride * sm::kPanelBytes));
    }
  return boxes;
}

/// Returns the boxes of this warp. They are computed next to the coordinates: between the store of lanes and the
/// addition, the arithmetic would wait for the fence.
static SmallVector<AddedBox> boxesOfWarp(Threads &t, sm::TmaAddOp op) {
  OpBuilder::InsertionGuard guard(t.b);
  Operation *last = nullptr;
  for (Value coordinate : t.scalars(op.getCoordinates()))
    if (Operation *at = coordinate.getDefiningOp(); at && at->getBlock() == t.b.getInsertionBlock())
      last = last && at->isBeforeInBlock(last) ? last : at;
  if (last)
    t.b.setInsertionPointAfter(last);
  return boxesOf(t, op, t.warp());
}

static void addBoxes(Threads &t, sm::TmaAddOp op, ArrayRef<AddedBox> boxes, Value predicate) {
  for (const auto &[at, place] : boxes)
    t.gpu.addBox(t.parameterOf(mapOf(op)), at, place, predicate);
  t.gpu.commitBoxes();
}

static void lower(Threads &t, sm::CoordinatesOp op) {
  for (auto [result, coordinate] :
       llvm::zip_equal(op.getCoordinates(), coordinatesOf(t, op.getView(), op.getPosition(), op.getTested())))
    t.define(result, coordinate);
}

/// Each warp adds what it has written, or each lane of the only warp adds what one warp has written.
static void lower(Threads &t, sm::TmaAddOp op) {
  const int64_t warps = sm::countOf(op.getLayout().getWarps());
  if (t.warps() == warps) {
    addBoxes(t, op, boxesOfWarp(t, op), t.isFirstLane());
    return;
  }
  t.onlyIf(t.s.compare(Compare::slt, t.lane(), warps),
           [&] { addBoxes(t, op, boxesOf(t, op, t.lane()), /*predicate=*/nullptr); });
}

//===-- Run-time tests -------------------------------------------------------------------------------------------===//

static void lower(Threads &t, sm::CanLoadByTmaOp op) { t.define(op.getResult(), t.canLoadByTma()); }

/// Tests that the tensor maps exist, and that a box may begin at the first column.
static void lower(Threads &t, sm::IsLoadedOp op) {
  Value isLoaded = t.canLoadByTma(mapOf(op)), column = op.getPosition().back();
  if (!startsAtBox(op.getView(), column)) {
    Value rest = t.s.rem(t.s.toI32(t.scalar(column)), sm::boxUnit(op.getView().getType().getElementType()));
    isLoaded = t.s.both(isLoaded, t.s.compare(Compare::eq, rest, 0));
  }
  if (op.getInside()) {
    const View view = t.view(op.getView());
    for (auto [size, at, extent] :
         llvm::zip_equal(view.sizes, t.scalars(op.getPosition()), op.getTile().getType().getShape()))
      isLoaded = t.s.both(isLoaded, t.s.covers(size, at, extent));
  }
  t.define(op.getResult(), isLoaded);
}

/// Tests that a tensor map exists, and that all indices are coordinates. A GPU reports an illegal instruction for a box
/// that is stored before the first row, column or matrix.
static Value areBoxesAt(Threads &t, const TensorMap &map, ArrayRef<Value> indices) {
  Value areBoxes = t.exists(map);
  for (Value index : indices)
    if (!matchPattern(index, m_Zero()))
      areBoxes = t.s.both(areBoxes, t.s.compare(Compare::ult, t.s.toI64(index), kEndOfCoordinates));
  return areBoxes;
}

static void lower(Threads &t, sm::FitsOp op) {
  SmallVector<Value> indices = t.scalars(op.getIndices());
  if (std::optional<uint64_t> rows = op.getRowsOfWarp())
    indices[1] = t.s.add(indices[1], t.s.toIndex(rowOfWarp(t, *rows)));
  t.define(op.getResult(), areBoxesAt(t, mapOf(op), indices));
}

void cuda::addBoxLowerings(Lowerings &known) {
  known.add<sm::CoordinatesOp, sm::TmaAddOp, sm::TmaStoreOp, sm::TmaCommitOp, sm::FitsOp, sm::CanLoadByTmaOp,
            sm::IsLoadedOp>([](Threads &t, auto op) { return lower(t, op); });
}
