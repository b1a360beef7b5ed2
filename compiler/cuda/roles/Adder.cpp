// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Adder.h"

#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

static Value i32(LocBuilder &b, int64_t number) { return arith::ConstantIntOp::create(b, b.getI32Type(), number); }

namespace {
/// The words of a slot: the coordinates of its tile, and with turns the coordinates of the counter, the number to wait
/// for and the number to pass on.
struct Words {
  ValueRange coordinates, place;
  Value number, next;

  /// Divides the words for a tile that has as many coordinates as that of `add`.
  Words(tile::AtomicAddOp add, ValueRange words)
      : coordinates(words.take_front(sm::coordinateCount(add.getView()))),
        place(words.drop_front(coordinates.size()).drop_back(add.getTurn() ? 2 : 0)) {
    if (add.getTurn()) {
      number = words.drop_back().back();
      next = words.back();
    }
  }

  static int64_t count(tile::AtomicAddOp add) {
    return sm::coordinateCount(add.getView()) + (add.getTurn() ? sm::coordinateCount(add.getTurns()) + 2 : 0);
  }

  static SmallVector<Value> make(LocBuilder &b, tile::AtomicAddOp add) {
    SmallVector<Value> words(sm::CoordinatesOp::create(b, add.getView(), add.getPosition()).getCoordinates());
    if (add.getTurn()) {
      llvm::append_range(words, sm::CoordinatesOp::create(b, add.getTurns(), add.getPlace()).getCoordinates());
      words.append({add.getTurn(), add.getNext()});
    }
    return words;
  }
};

/// The turn that the role expects next, in the values that its loop carries. It reads that counter while it waits for
/// TMA anyway.
struct Guess {
  SmallVector<Value> place; ///< i32, the innermost coordinate first.
  Value row, now;           ///< The row of the counter before, and what the expected counter was.

  explicit Guess(ArrayRef<Value> carried)
      : place(carried.drop_back(2)), row(carried[carried.size() - 2]), now(carried.back()) {}
};

/// Builds the program of the role that adds what other warps have computed. Additions all have the form of `add`.
class Adder {
public:
  Adder(LocBuilder &b, tile::AtomicAddOp add, sm::ChannelOp channel)
      : b_(b), add_(add), channel_(channel), tensor_(cast<TensorView>(tile::rootOf(add.getView()))) {
    if (add.getTurn())
      counters_ = cast<TensorView>(tile::rootOf(add.getTurns()));
  }

  void build() {
    zero_ = i32(b_, 0);
    release();
    SmallVector<Value> first;
    if (counters_) {
      first.assign(counters_.getType().getRank() + 1, zero_);
      first.push_back(i32(b_, kUnknown));
    }
    const SmallVector<Type> types(first.size(), b_.getI32Type());
    const SmallVector<Location> places(first.size(), b_.getLoc());
    auto loop = scf::WhileOp::create(b_, types, first);
    OpBuilder::InsertionGuard guard(b_);
    Block *test = b_.createBlock(&loop.getBefore(), {}, types, places);
    Value open = sm::NextOp::create(b_, channel_);
    scf::ConditionOp::create(b_, open, test->getArguments());
    Block *body = b_.createBlock(&loop.getAfter(), {}, types, places);
    scf::YieldOp::create(b_, addTile(SmallVector<Value>(body->getArguments())));
  }

private:
  using TensorView = TypedValue<tile::ViewType>;
  /// A number that no turn waits for.
  static constexpr int64_t kUnknown = std::numeric_limits<int32_t>::min();

  /// Adds the tile of the slot. Returns the values for the next one.
  SmallVector<Value> addTile(SmallVector<Value> carried) {
    Value tile = sm::ConsumerWaitOp::create(b_, channel_, zero_, zero_, /*already_full=*/true).getTiles().front();
    const SmallVector<Type> types(static_cast<size_t>(*channel_.getWords()), b_.getI32Type());
    const Words words(add_, sm::WordsOp::create(b_, types, channel_).getWords());
    if (!counters_) {
      start(tile, words);
      return carried;
    }
    const Guess guess(carried);
    Value known = knownOf(guess, words.place);
    const SmallVector<Value> place = indicesOf(words.place);
    sm::WaitMemoryTurnOp::create(b_, counters_, place, words.number, known);
    sm::BarrierOp::create(b_, /*warp=*/true);
    sm::ProxyFenceOp::create(b_, /*tensors=*/true); // The additions come after those of earlier turns.
    start(tile, words);
    const SmallVector<Value> next = guessAfter(guess, words.place);
    sm::TmaStoreWaitOp::create(b_, Value(), IntegerAttr(), /*written=*/true);
    sm::BarrierOp::create(b_, /*warp=*/true);
    sm::PassMemoryTurnOp::create(b_, counters_, place, words.next);
    return next;
  }

  /// Starts the additions, and releases the slot when TMA has read it.
  void start(Value tile, const Words &words) {
    RankedTensorType type = add_.getTile().getType();
    sm::TmaAddOp::create(b_, tile, sm::layoutOf(type), sm::limitOfColumns(type), tensor_, words.coordinates);
    sm::TmaStoreWaitOp::create(b_, tile);
    sm::BarrierOp::create(b_, /*warp=*/true);
    release();
  }

  void release() { sm::ReleaseOp::create(b_, channel_, zero_, /*per_warp=*/true); }

  /// Returns indices of the counters at these coordinates.
  SmallVector<Value> indicesOf(ValueRange place) {
    return llvm::map_to_vector(llvm::reverse(place), [&](Value coordinate) -> Value {
      return arith::IndexCastOp::create(b_, b_.getIndexType(), coordinate);
    });
  }

  /// Returns what is known about the counter at `place`: something only if it is the expected one.
  Value knownOf(const Guess &guess, ValueRange place) {
    Value isExpected;
    for (auto [expected, is] : llvm::zip_equal(guess.place, place)) {
      Value isEqual = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, expected, is);
      isExpected = isExpected ? arith::AndIOp::create(b_, isExpected, isEqual).getResult() : isEqual;
    }
    return arith::SelectOp::create(b_, isExpected, guess.now, i32(b_, kUnknown));
  }

  /// Expects the next counter to be as far from the last one as that was from the one before.
  SmallVector<Value> guessAfter(const Guess &last, ValueRange place) {
    SmallVector<Value> next(place);
    Value row = place.front(), twice = arith::AddIOp::create(b_, row, row);
    next.front() = arith::SubIOp::create(b_, twice, last.row);
    Value now = sm::ReadMemoryTurnOp::create(b_, counters_, indicesOf(next));
    next.append({row, now});
    return next;
  }

  LocBuilder &b_;
  tile::AtomicAddOp add_;
  sm::ChannelOp channel_;
  TensorView tensor_, counters_; ///< Counters are null without turns.
  Value zero_;
};
} // namespace

/// Adds a role of one warp at the end. It shares the warpgroup of the last role.
static sm::RoleRef addRole(sm::RolesOp roles) {
  LocBuilder b(roles.getLoc(), roles);
  SmallVector<Attribute> all;
  auto attribute = [&](StringRef name, int64_t warps, int64_t registers) {
    return sm::RoleAttr::get(b.getContext(), name, warps, registers);
  };
  for (const sm::RoleRef &role : sm::rolesOf(roles))
    all.push_back(attribute(role.name(), role.warps(), role.registers()));
  all.push_back(attribute(kAdd, 1, sm::rolesOf(roles).back().registers()));
  auto more = sm::RolesOp::create(b, b.getArrayAttr(all));
  for (const sm::RoleRef &role : sm::rolesOf(roles))
    more.getBodies()[role.number()].takeBody(role.body());
  roles.erase();
  return sm::rolesOf(more).back();
}

//===-- Channel --------------------------------------------------------------------------------------------------===//

sm::ChannelOp cuda::makeChannelToAdder(tile::AtomicAddOp add) {
  LocBuilder b(add.getLoc(), add->getParentOfType<sm::RolesOp>());
  auto type = sm::ChannelType::get(b.getContext(), /*slots=*/1, sm::additionBuffer(add.getTile().getType()));
  Value ring = sm::AllocOp::create(b, type.ring(/*part=*/0), IntegerAttr());
  return sm::ChannelOp::create(b, type, ring, sm::roleOf(add)->name(), b.getStrArrayAttr(kAdd),
                               /*per_warpgroup=*/false, /*by_barriers=*/true, b.getI64IntegerAttr(Words::count(add)),
                               /*first_barrier=*/IntegerAttr());
}

void cuda::handToAdder(LocBuilder &b, tile::AtomicAddOp add, sm::ChannelOp channel) {
  const SmallVector<Value> words = Words::make(b, add);
  Value zero = i32(b, 0);
  auto store = sm::ProducerStoreOp::create(b, add.getTile(), channel, zero, zero, words, /*staggered=*/true);
  tile::inheritAttributes(store, add);
}

void cuda::addAdder(tile::AtomicAddOp add, sm::ChannelOp channel) {
  LocBuilder b(add.getLoc(), sm::roleOf(add)->block().getTerminator());
  sm::CloseOp::create(b, channel);
  b.setInsertionPoint(addRole(add->getParentOfType<sm::RolesOp>()).block().getTerminator());
  Adder(b, add, channel).build();
}
