// SPDX-License-Identifier: MIT
// Roles of warps, and the rings through which a producer feeds consumers.
#include "compiler/cuda/Threads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

constexpr int64_t kWarpsOfGroup = 4, kMbarrierBytes = 8;
/// Of what TMA copies.
constexpr int64_t kElementBytes = 2;

//===-- Roles ----------------------------------------------------------------------------------------------------===//

LogicalResult Threads::lowerRole(Block &role, unsigned registers, bool more) {
  gpu.setRegisters(registers, more);
  return lowerBlock(role);
}

LogicalResult Threads::lowerRoles(sm::RolesOp roles) {
  gpu.publishMbarriers();
  gpu.barrier();
  hasRoles_ = true;
  Value isProducer = s.compare(Compare::sge, warp_, warps_);
  auto branch = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (failed(lowerRole(roles.getConsumer().front(), roles.getConsumerRegisters(), /*more=*/true)))
    return failure();
  b.setInsertionPointToStart(branch.thenBlock());
  gpu.setRegisters(roles.getProducerRegisters(), /*more=*/false);
  // One warp is enough: the hardware copies.
  b.setInsertionPointToStart(scf::IfOp::create(b, s.compare(Compare::eq, warp_, warps_)).thenBlock());
  return lowerBlock(roles.getProducer().front());
}

//===-- Tensor maps ----------------------------------------------------------------------------------------------===//

/// Only of tiles that are as wide as the tensor can what lies beside them have to become 0.
static int64_t columnsOf(ValueRange position, ArrayRef<int64_t> shape) {
  return matchPattern(position.back(), m_Zero()) ? shape.back() : TensorMap::kAllColumns;
}

TensorMap::TensorMap(Value view, int64_t rows, int64_t columns)
    : parameter(cast<BlockArgument>(tile::tensorOf(view)).getArgNumber()), rows(rows), columns(columns) {}

static TensorMap mapOf(sm::FeedOp feed) {
  ArrayRef<int64_t> shape = feed.getShape();
  return {feed.getView(), shape.front(),
          feed.getBoxOnly() ? TensorMap::kAllColumns : columnsOf(feed.getPosition(), shape)};
}

/// That of the feeds with box_only: the first tile's, too, which begins where the tensor does.
static TensorMap mapOf(sm::IsBoxOp op) { return {op.getView(), op.getShape().front(), TensorMap::kAllColumns}; }

void Threads::findTensorMaps() {
  source_.walk([&](sm::FeedOp feed) {
    if (!llvm::is_contained(tensorMaps_, mapOf(feed)))
      tensorMaps_.push_back(mapOf(feed));
  });
}

static int64_t numberOf(ArrayRef<TensorMap> maps, const TensorMap &map) { return llvm::find(maps, map) - maps.begin(); }

Value Threads::parameterOf(const TensorMap &map) {
  return target_.getArgument(static_cast<unsigned>(numberOf(tensorMaps_, map)));
}

Value Threads::exists(const TensorMap &map) {
  Value flags = target_.getArguments().back();
  Value bit = arith::AndIOp::create(b, flags, s.i64(int64_t{1} << numberOf(tensorMaps_, map)));
  return s.compare(Compare::ne, bit, 0);
}

//===-- Rings ----------------------------------------------------------------------------------------------------===//

/// Whether slots are filled more than once.
static bool isRefilled(Value mbarriers) { return llvm::any_of(mbarriers.getUsers(), llvm::IsaPred<sm::ReleaseOp>); }

/// How often a slot is released before it is empty.
static int64_t releases(Threads &t, sm::MbarriersOp op) {
  bool eachWarp = llvm::any_of(op->getUsers(), [](Operation *user) {
    auto release = dyn_cast<sm::ReleaseOp>(user);
    return release && release.getEachWarp();
  });
  return eachWarp ? t.warps() : t.warps() / kWarpsOfGroup;
}

LogicalResult cuda::lower(Threads &t, sm::MbarriersOp op) {
  int64_t slots = op.getType().getSlots();
  Value first = t.reserve(2 * slots * kMbarrierBytes);
  t.define(op.getResult(), first);
  Value isFirst = t.s.both(t.s.compare(Compare::eq, t.warp(), 0), t.s.compare(Compare::eq, t.lane(), 0));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
  for (int64_t slot = 0; slot < slots; ++slot) {
    t.gpu.initMbarrier(t.s.add(first, slot * kMbarrierBytes), 1);
    if (isRefilled(op))
      t.gpu.initMbarrier(t.s.add(first, (slots + slot) * kMbarrierBytes), releases(t, op));
  }
  return success();
}

static Value fullMbarrier(Threads &t, Value mbarriers, Value slot) {
  return t.s.add(t.scalar(mbarriers), t.s.mul(t.scalar(slot), kMbarrierBytes));
}

static Value emptyMbarrier(Threads &t, Value mbarriers, Value slot) {
  int64_t slots = cast<sm::MbarriersType>(mbarriers.getType()).getSlots();
  return t.s.add(fullMbarrier(t, mbarriers, slot), slots * kMbarrierBytes);
}

/// Positions beyond 32 bits are outside of any tensor that TMA can address, as are the limits.
static Value toCoordinate(Threads &t, Value index) {
  constexpr int64_t first = -(int64_t{1} << 30), last = std::numeric_limits<int32_t>::max();
  Value wide = t.s.toI64(index);
  wide = t.b.createOrFold<arith::MaxSIOp>(wide, t.s.i64(first));
  return t.s.toI32(t.b.createOrFold<arith::MinSIOp>(wide, t.s.i64(last)));
}

/// Where the tile begins in the tensor behind the view, innermost dimension first.
static SmallVector<Value> coordinatesOf(Threads &t, sm::FeedOp feed) {
  SmallVector<Value> coordinates;
  auto add = [&](ValueRange indices) {
    for (Value index : llvm::reverse(indices))
      coordinates.push_back(toCoordinate(t, t.scalar(index)));
  };
  add(feed.getPosition());
  for (auto slice = feed.getView().getDefiningOp<tile::SliceOp>(); slice;
       slice = slice.getView().getDefiningOp<tile::SliceOp>())
    add(slice.getIndices());
  return coordinates;
}

/// A box is one panel.
static void copyBoxes(Threads &t, sm::FeedOp feed, Value full) {
  sm::SharedType type = feed.getTile().getType();
  int64_t rows = type.getShape()[0], columns = type.getShape()[1], panel = type.getPanel() / type.elementBytes();
  SmallVector<Value> coordinates = coordinatesOf(t, feed);
  Value firstColumn = coordinates.front();
  t.gpu.arriveExpecting(full, rows * columns * type.elementBytes());
  for (int64_t column = 0; column < columns; column += panel) {
    coordinates.front() = t.s.add(firstColumn, column);
    Value place = t.s.add(t.sharedAddress(feed.getTile()), column * rows * type.elementBytes());
    t.gpu.copyBox(place, t.parameterOf(mapOf(feed)), full, coordinates);
  }
}

/// A GPU takes a box that begins elsewhere for an illegal instruction.
static Value beginsAtMultipleOf16Bytes(Threads &t, ValueRange position) {
  constexpr int64_t chunkBytes = 16;
  Value bytes = t.s.mul(t.s.toI32(t.scalar(position.back())), kElementBytes);
  return t.s.compare(Compare::eq, t.s.rem(bytes, chunkBytes), 0);
}

template <class Op> static Value isBox(Threads &t, Op op) {
  Value exists = t.exists(mapOf(op));
  return t.s.both(exists, beginsAtMultipleOf16Bytes(t, op.getPosition()));
}

LogicalResult cuda::lower(Threads &t, sm::IsBoxOp op) {
  t.define(op.getResult(), isBox(t, op));
  return success();
}

/// The phase before the first one counts as over. A lane that came a round too late would see the parity of another
/// phase, which may never end; so none goes on alone.
static void waitForSlot(Threads &t, sm::FeedOp op) {
  if (!isRefilled(op.getMbarriers()))
    return;
  t.gpu.waitMbarrier(emptyMbarrier(t, op.getMbarriers(), op.getSlot()),
                     t.s.bitXor(t.scalar(op.getPhase()), t.s.i32(1)));
  t.gpu.syncWarp();
}

LogicalResult cuda::lower(Threads &t, sm::FeedOp op) {
  Value full = fullMbarrier(t, op.getMbarriers(), op.getSlot());
  waitForSlot(t, op);
  Value isFirst = t.s.compare(Compare::eq, t.lane(), 0);
  auto branch = scf::IfOp::create(t.b, isBox(t, op), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(branch.thenBlock());
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
  copyBoxes(t, op, full);
  t.b.setInsertionPointToStart(branch.elseBlock());
  if (!op.getBoxOnly()) {
    copyByWarp(t, op);
    t.gpu.fenceAsync();
    t.gpu.syncWarp();
  }
  t.gpu.arrive(full, isFirst);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::ReceiveOp op) {
  t.gpu.waitMbarrier(fullMbarrier(t, op.getMbarriers(), op.getSlot()), t.scalar(op.getPhase()));
  t.define(op.getResult(), t.sharedAddress(op.getTile()));
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::ReleaseOp op) {
  Value speaks = t.s.compare(Compare::eq, t.lane(), 0);
  if (op.getEachWarp())
    t.gpu.syncWarp();
  else
    speaks = t.s.both(t.s.compare(Compare::eq, t.s.rem(t.warp(), kWarpsOfGroup), 0), speaks);
  t.gpu.arrive(emptyMbarrier(t, op.getMbarriers(), op.getSlot()), speaks);
  return success();
}

//===-- Turns ----------------------------------------------------------------------------------------------------===//

/// Barriers 0 and 1 are those of the block and of the consumers.
constexpr int64_t kFirstTurn = 2, kThreadsOfTurn = 2 * kWarpsOfGroup * sm::warpSize;

static Value warpgroup(Threads &t) { return t.s.div(t.warp(), kWarpsOfGroup); }
static int64_t lastWarpgroup(Threads &t) { return t.warps() / kWarpsOfGroup - 1; }

LogicalResult cuda::lower(Threads &t, sm::TurnsOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isLast).thenBlock());
  t.gpu.passTurn(t.s.i32(kFirstTurn), kThreadsOfTurn);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::TakeTurnOp) {
  t.gpu.takeTurn(t.s.add(warpgroup(t), kFirstTurn), kThreadsOfTurn);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::PassTurnOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  Value next = t.s.select(isLast, t.s.i32(kFirstTurn), t.s.add(warpgroup(t), kFirstTurn + 1));
  t.gpu.passTurn(next, kThreadsOfTurn);
  return success();
}
