// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/lower/Turns.h"

#include "compiler/cuda/threads/lower/Boxes.h"
#include "compiler/cuda/threads/lower/Lower.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

//===-- Turns ----------------------------------------------------------------------------------------------------===//

/// Returns the address of the counter at these coordinates of a tensor, the innermost dimension first; 0 outside it.
static Value counterAt(Threads &t, const View &tensor, ArrayRef<Value> coordinates) {
  Value inside, address = tensor.base;
  for (auto [at, size, stride] : llvm::zip_equal(llvm::reverse(coordinates), tensor.sizes, tensor.strides)) {
    Value index = t.s.toIndex(at);
    inside = t.s.both(inside, t.s.compare(Compare::ult, index, size));
    address = t.s.add(address, t.s.mul(t.s.toI64(index), t.s.mul(t.s.toI64(stride), tensor.elementBytes())));
  }
  return t.s.select(inside, address, t.s.i64(0));
}

/// Computes the address from coordinates, which have 32 bits: the address of a slice would take more registers
/// throughout a loop.
template <class Op> static Value counterOf(Threads &t, Op op) {
  return counterAt(t, t.view(tile::rootOf(op.getTurns())), coordinatesOf(t, op.getTurns(), op.getPlace()));
}

/// Emits what one thread does with a counter that exists.
static void withCounter(Threads &t, Value counter, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.s.compare(Compare::ne, counter, 0)).thenBlock());
  emit();
}

static void wait(Threads &t, Value counter, Value number, Value known = {}) {
  withCounter(t, counter, [&] { t.gpu.waitForTurn(counter, number, known); });
}

static void pass(Threads &t, Value counter, Value next) {
  withCounter(t, counter, [&] { t.gpu.passTurn(counter, next); });
}

/// Emits what the first lane of a warp does.
static void byFirstLane(Threads &t, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.isFirstLane()).thenBlock());
  emit();
}

/// Emits what the first thread does.
static void byFirstThread(Threads &t, function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(t.b);
  Value isFirstWarp = t.s.compare(Compare::eq, t.warp(), 0);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirstWarp).thenBlock());
  byFirstLane(t, emit);
}

static LogicalResult lower(Threads &t, sm::WaitMemoryTurnOp op) {
  byFirstThread(t, [&] { wait(t, counterOf(t, op), t.scalar(op.getNumber())); });
  return success();
}

static LogicalResult lower(Threads &t, sm::PassMemoryTurnOp op) {
  byFirstThread(t, [&] { pass(t, counterOf(t, op), t.scalar(op.getNumber())); });
  return success();
}

void cuda::addTurnLowerings(Lowerings &known) {
  known.add<sm::WaitMemoryTurnOp, sm::PassMemoryTurnOp>([](Threads &t, auto op) { return lower(t, op); });
}

//===-- Adder ----------------------------------------------------------------------------------------------------===//

/// The barriers at which consumers hand a tile to the adder, and from which on each of up to four warpgroups may write
/// the next one. They are the last ones of a block; the consumers' own barriers are the first ones.
constexpr int64_t kHanded = 15, kFirstFree = 11;

constexpr int64_t kThreadsOfWarpgroup = sm::kWarpsPerWarpgroup * sm::kWarpSize;

static int64_t handingThreads(Threads &t) { return (t.warps() + 1) * sm::kWarpSize; }
static int64_t warpgroups(Threads &t) { return t.warps() / sm::kWarpsPerWarpgroup; }

// The words of the mailbox. After them come the coordinates of the tile, then those of the counter: the adder computes
// the address, so that consumers need no registers for it.
constexpr int64_t kWordBytes = 4;
enum Word : int64_t { follows, number, next, firstCoordinate };

static Value addressOf(Threads &t, int64_t word) { return t.s.add(t.mailbox(), word * kWordBytes); }
static Value read(Threads &t, int64_t word) {
  return t.gpu.loadShared(t.b.getI32Type(), 1, addressOf(t, word)).front();
}
static void write(Threads &t, int64_t word, Value value) { t.gpu.storeShared(value, addressOf(t, word)); }

static SmallVector<Value> readCoordinates(Threads &t, int64_t first, int64_t count) {
  SmallVector<Value> coordinates;
  for (int64_t dim = 0; dim < count; ++dim)
    coordinates.push_back(read(t, first + dim));
  return coordinates;
}

sm::AddOutOp cuda::additionOfAdder(sm::RolesOp roles) {
  sm::AddOutOp found;
  roles.walk([&](sm::AddOutOp add) {
    if (add.isByAdder())
      found = add;
  });
  return found;
}

int64_t cuda::mailboxBytes(sm::AddOutOp add) {
  const int64_t ofCounter = add.getTurn() ? coordinateCount(add.getTurns()) : 0;
  return (firstCoordinate + coordinateCount(add.getView()) + ofCounter) * kWordBytes;
}

void cuda::waitForAdder(Threads &t) {
  Value warpgroup = t.s.div(t.warp(), sm::kWarpsPerWarpgroup);
  t.gpu.barrier(t.s.add(warpgroup, kFirstFree), kThreadsOfWarpgroup + sm::kWarpSize);
}

void cuda::handToAdder(Threads &t, sm::AddOutOp add) {
  byFirstThread(t, [&] {
    write(t, follows, t.s.i32(1));
    SmallVector<Value> coordinates = coordinatesOf(t, add.getView(), add.getPosition());
    if (add.getTurn()) {
      write(t, number, t.scalar(add.getTurn()));
      write(t, next, t.scalar(add.getNext()));
      llvm::append_range(coordinates, coordinatesOf(t, add.getTurns(), add.getPlace()));
    }
    for (auto [word, coordinate] : llvm::enumerate(coordinates))
      write(t, firstCoordinate + static_cast<int64_t>(word), coordinate);
  });
  t.gpu.syncWarp();
  t.gpu.arriveAtBarrier(t.s.i32(kHanded), handingThreads(t));
}

void cuda::dismissAdder(Threads &t) {
  waitForAdder(t);
  byFirstThread(t, [&] { write(t, follows, t.s.i32(0)); });
  t.gpu.syncWarp();
  t.gpu.arriveAtBarrier(t.s.i32(kHanded), handingThreads(t));
}

static void freeBuffer(Threads &t) {
  for (int64_t warpgroup = 0; warpgroup < warpgroups(t); ++warpgroup)
    t.gpu.arriveAtBarrier(t.s.i32(kFirstFree + warpgroup), kThreadsOfWarpgroup + sm::kWarpSize);
}

namespace {
/// The counter that the adder expects to need next, which it reads while it waits for TMA anyway.
struct Guess {
  Value row;     ///< i32: the innermost coordinate of the last counter.
  Value counter; ///< The address, an i64; 0 for none.
  Value now;     ///< i32: what it was.
};
} // namespace

/// Expects the next counter to be as far from the last one as that was from the one before.
static Guess guessAfter(Threads &t, const Guess &last, const View &turns, SmallVector<Value> place) {
  Value row = place.front();
  place.front() = t.s.sub(t.s.add(row, row), last.row);
  Value counter = counterAt(t, turns, place), exists = t.s.compare(Compare::ne, counter, 0);
  auto read = scf::IfOp::create(t.b, t.b.getI32Type(), exists, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(read.thenBlock());
  scf::YieldOp::create(t.b, t.gpu.readTurn(counter));
  t.b.setInsertionPointToStart(read.elseBlock());
  scf::YieldOp::create(t.b, t.s.i32(0));
  return {row, counter, read.getResult(0)};
}

/// Each lane adds what one consumer warp has written. All additions have the tensor of `add`, but places of their own.
/// Then consumers may write the next tile.
static void addOneTile(Threads &t, sm::AddOutOp add, ArrayRef<Value> coordinates) {
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.s.compare(Compare::slt, t.lane(), t.warps())).thenBlock());
    if (add.getTurn())
      t.gpu.fenceAsyncTensors(); // The additions come after those of earlier turns.
    addBoxes(t, boxesToAdd(t, add, t.lane(), coordinates), /*predicate=*/nullptr);
  }
  t.gpu.waitBoxes();
  t.gpu.syncWarp();
  freeBuffer(t);
}

static SmallVector<Value> readPlace(Threads &t, sm::AddOutOp add) {
  return readCoordinates(t, firstCoordinate, coordinateCount(add.getView()));
}

/// Adds a tile in its turn. Returns the next guess.
static Guess addTileInTurn(Threads &t, sm::AddOutOp add, const Guess &guess) {
  SmallVector<Value> coordinates = readPlace(t, add);
  SmallVector<Value> place =
      readCoordinates(t, firstCoordinate + coordinateCount(add.getView()), coordinateCount(add.getTurns()));
  const View &turns = t.view(tile::rootOf(add.getTurns()));
  Value counter = counterAt(t, turns, place), turn = read(t, number), nextTurn = read(t, next);
  Value isExpected = t.s.compare(Compare::eq, counter, guess.counter);
  Value known = t.s.select(isExpected, guess.now, t.s.i32(std::numeric_limits<int32_t>::min()));
  byFirstLane(t, [&] { wait(t, counter, turn, known); });
  t.gpu.syncWarp();
  addOneTile(t, add, coordinates);
  const Guess nextGuess = guessAfter(t, guess, turns, place);
  t.gpu.waitBoxesWritten();
  t.gpu.syncWarp();
  byFirstLane(t, [&] { pass(t, counter, nextTurn); });
  return nextGuess;
}

void cuda::lowerAdder(Threads &t, sm::AddOutOp add) {
  freeBuffer(t);
  SmallVector<Value> guess;
  if (add.getTurn())
    guess = {t.s.i32(0), t.s.i64(0), t.s.i32(0)};
  const SmallVector<Type> types(ValueRange(guess).getTypes());
  const SmallVector<Location> places(guess.size(), t.b.getLoc());
  auto loop = scf::WhileOp::create(t.b, types, guess);
  OpBuilder::InsertionGuard guard(t.b);
  Block *test = t.b.createBlock(&loop.getBefore(), {}, types, places);
  t.gpu.barrier(t.s.i32(kHanded), handingThreads(t));
  scf::ConditionOp::create(t.b, t.s.compare(Compare::ne, read(t, follows), 0), test->getArguments());
  Block *body = t.b.createBlock(&loop.getAfter(), {}, types, places);
  if (add.getTurn()) {
    auto [row, counter, now] =
        addTileInTurn(t, add, {body->getArgument(0), body->getArgument(1), body->getArgument(2)});
    guess = {row, counter, now};
  } else {
    addOneTile(t, add, readPlace(t, add));
  }
  scf::YieldOp::create(t.b, guess);
}
