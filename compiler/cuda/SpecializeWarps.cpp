// SPDX-License-Identifier: MIT
#include "compiler/cuda/FedTiles.h"
#include "compiler/cuda/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;
using Loop = LoopLikeOpInterface;

constexpr int64_t warpsOfGroup = 4;

//===-- Rings ----------------------------------------------------------------------------------------------------===//

/// Of a loop whose iterations have one number, the first of the block's arguments.
static Block *bodyOf(Loop loop) { return &loop.getLoopRegions().back()->front(); }
static ValueRange carriedIn(Loop loop) { return ValueRange(bodyOf(loop)->getArguments()).drop_front(); }

/// Of a ring that is filled in `loop`, if not null. An outer loop's next tile comes while the inner one still works on
/// this.
static int64_t slotsIn(Loop loop, int64_t stages) {
  bool isInnermost = loop && bodyOf(loop)->getOps<scf::ForOp>().empty();
  return isInnermost ? stages : loop ? 2 : 1;
}

/// Of the ring of an sm.fetch or a tile.load.
static int64_t ringBytes(Operation *op, sm::SharedType tile, int64_t stages) {
  return slotsIn(dyn_cast<Loop>(op->getParentOp()), stages) * tile.bytes();
}

/// Of what must lie beside the rings: results that are written while a loop around goes on with the next block.
static int64_t bytesBesideRings(func::FuncOp function) {
  int64_t bytes = 0;
  function.walk([&](sm::StageOp stage) {
    if (stage->getParentOfType<Loop>())
      bytes += stage.getType().bytes();
  });
  return bytes;
}

//===-- Roles ----------------------------------------------------------------------------------------------------===//

namespace {
/// A ring and what says which of its slots is next. Numbers of iterations lie beside the mbarriers, in no ring.
struct Channel {
  Value ring, mbarriers;
};

/// The place in a ring at some time.
struct Turn {
  Value slot, phase;
};

class Specialization {
public:
  Specialization(func::FuncOp function, SmallVector<sm::FetchOp> fetches, int64_t stages, int64_t warps,
                 int64_t instances)
      : function_(function), fetches_(std::move(fetches)), stages_(stages), warps_(warps), instances_(instances),
        b_(function.getLoc(), function.getContext()) {}

  void run() {
    makeRoles();
    for (sm::FetchOp fetch : fetches_)
      makeChannel(fetch);
    for (sm::FetchOp fetch : fetches_)
      findCompanion(fetch);
    findClaims();
    b_.setInsertionPointToStart(&roles_.getProducer().emplaceBlock());
    feedBlock(roles_.getConsumer().front(), {i32(0), i32(0)});
    sm::EndOp::create(b_);
    for (sm::FetchOp fetch : fetches_)
      addTurn(fetch);
    for (tile::ClaimOp claim : claims_)
      addTurn(claim);
    for (sm::FetchOp fetch : fetches_)
      receive(fetch);
    for (tile::ClaimOp claim : claims_)
      receive(claim);
  }

private:
  /// Multiples of 8. A producer needs 32, and with blocks in turns 40, which costs two warpgroups of consumers nothing.
  void shareRegisters() {
    constexpr int64_t mostOfConsumer = 240, leastOfProducer = 32, mostOfProducer = 40, unit = 8;
    const int64_t all = sm::registersOfBlock(warps_ + warpsOfGroup, instances_);
    consumerRegisters_ = std::min(mostOfConsumer, (all - warpsOfGroup * leastOfProducer) / warps_ / unit * unit);
    producerRegisters_ = std::min(mostOfProducer, (all - warps_ * consumerRegisters_) / warpsOfGroup / unit * unit);
  }

  /// All of the program becomes the consumers'.
  void makeRoles() {
    Block &body = function_.getBody().front();
    b_.setInsertionPoint(body.getTerminator());
    shareRegisters();
    roles_ = sm::RolesOp::create(b_, producerRegisters_, consumerRegisters_);
    Block &consumer = roles_.getConsumer().emplaceBlock();
    consumer.getOperations().splice(consumer.end(), body.getOperations(), body.begin(), roles_->getIterator());
    b_.setInsertionPointToEnd(&consumer);
    sm::EndOp::create(b_);
  }

  /// Of a fetch or a claim.
  static Loop loopOf(Operation *op) { return dyn_cast<Loop>(op->getParentOp()); }

  bool isFed(Operation *op) const { return channels_.contains(op); }

  /// Whether the loop has fetches or a claim of its own, so that it needs to know which slot is next.
  bool hasRing(Loop loop) const {
    return llvm::any_of(loop.getLoopRegions(), [&](Region *region) {
      return llvm::any_of(region->front(), [&](Operation &op) { return isFed(&op); });
    });
  }

  /// The loops with rings from `loop` inwards: it counts the turns of all of them.
  SmallVector<Loop> ringsIn(Loop loop) const {
    SmallVector<Loop> rings;
    loop->walk<WalkOrder::PreOrder>([&](Loop inner) {
      if (hasRing(inner))
        rings.push_back(inner);
    });
    return rings;
  }

  Value makeMbarriers(Operation *op) {
    b_.setInsertionPoint(roles_);
    b_.setLoc(op->getLoc());
    int64_t slots = slotsIn(loopOf(op), stages_);
    return sm::MbarriersOp::create(b_, sm::MbarriersType::get(b_.getContext(), slots));
  }

  void makeChannel(sm::FetchOp fetch) {
    b_.setInsertionPoint(roles_);
    b_.setLoc(fetch.getLoc());
    sm::SharedType tile = fetch.getType();
    SmallVector<int64_t> shape{slotsIn(loopOf(fetch), stages_)};
    llvm::append_range(shape, tile.getShape());
    auto type = sm::SharedType::get(b_.getContext(), shape, tile.getElementType(), tile.getPanel());
    Value ring = sm::AllocOp::create(b_, type, IntegerAttr());
    channels_[fetch] = {ring, makeMbarriers(fetch)};
  }

  /// A tile that goes to registers comes back with one of the same loop that each warp gives back later.
  void findCompanion(sm::FetchOp fetch) {
    if (isReadByProducts(fetch) || fetch->use_empty())
      return;
    auto isLater = [&](sm::FetchOp other) {
      return other->getBlock() == fetch->getBlock() && isReadByProducts(other) && isReadByLanes(other) &&
             userIn(fetch, /*last=*/true)->isBeforeInBlock(userIn(other, /*last=*/true));
    };
    if (auto found = llvm::find_if(fetches_, isLater); found != fetches_.end())
      companions_[fetch] = *found;
  }

  /// Of the loops in which the producer feeds something.
  void findClaims() {
    for (sm::FetchOp fetch : fetches_)
      if (auto loop = fetch->getParentOfType<scf::WhileOp>(); loop && claims_.insert(claimOf(loop)))
        channels_[claimOf(loop)] = {Value(), makeMbarriers(claimOf(loop))};
  }

  Value i32(int64_t value) { return arith::ConstantIntOp::create(b_, b_.getI32Type(), value); }

  //===-- Producer -----------------------------------------------------------------------------------------------===//

  /// The producer's part of a block, in which `turn` is that of the block's own fetches.
  void feedBlock(Block &block, Turn turn) {
    SmallVector<sm::FetchOp> due;
    for (Operation &op : block) {
      if (auto fetch = dyn_cast<sm::FetchOp>(op); fetch && isFed(fetch)) {
        due.push_back(fetch);
      } else if (auto loop = dyn_cast<Loop>(op); loop && !ringsIn(loop).empty()) {
        feed(due, turn);
        b_.setLoc(op.getLoc());
        repeat(loop);
      }
    }
    feed(due, turn);
    b_.setLoc(block.back().getLoc());
  }

  /// In the order in which slots come back: none waits for that of a tile which is needed longer, and what does not
  /// wait itself comes behind its companion.
  void feed(SmallVector<sm::FetchOp> &due, Turn turn) {
    auto last = [&](sm::FetchOp fetch) {
      sm::FetchOp companion = companions_.lookup(fetch);
      return userIn(companion ? companion : fetch, /*last=*/true);
    };
    llvm::stable_sort(due, [&](sm::FetchOp one, sm::FetchOp other) {
      Operation *end = last(one), *otherEnd = last(other);
      if (end == otherEnd)
        return !companions_.contains(one) && companions_.contains(other);
      return end && otherEnd && end->isBeforeInBlock(otherEnd);
    });
    for (sm::FetchOp fetch : due) {
      b_.setLoc(fetch.getLoc());
      feed(fetch, turn);
    }
    due.clear();
  }

  /// Clones what `values` are computed from inside `block`, unless that is there already.
  void repeat(ValueRange values, Block *block) {
    for (Operation *op : sliceOf(values))
      if (op->getBlock() == block && !map_.contains(op->getResult(0)))
        b_.clone(*op, map_);
  }

  void repeat(Loop loop) {
    loop->walk([&](Operation *op) {
      if (auto inner = dyn_cast<scf::ForOp>(op))
        repeat(boundsOf(inner), loop->getBlock());
      else if (isFed(op))
        repeat(op->getOperands(), loop->getBlock());
    });
    SmallVector<Loop> rings = ringsIn(loop);
    for (Loop ring : rings)
      turns_.try_emplace(ring, Turn{i32(0), i32(0)});
    if (auto claimed = dyn_cast<scf::WhileOp>(*loop))
      repeat(claimed, rings);
    else
      repeat(cast<scf::ForOp>(*loop), rings);
  }

  void repeat(scf::ForOp loop, ArrayRef<Loop> rings) {
    Value lower = map_.lookupOrDefault(loop.getLowerBound()), upper = map_.lookupOrDefault(loop.getUpperBound());
    auto copy = scf::ForOp::create(b_, lower, upper, map_.lookupOrDefault(loop.getStep()), turnsOf(rings));
    OpBuilder::InsertionGuard guard(b_);
    repeatIteration(loop, rings, copy);
  }

  void repeat(scf::WhileOp loop, ArrayRef<Loop> rings) {
    tile::ClaimOp claim = claimOf(loop);
    Value condition = loop.getConditionOp().getCondition();
    repeat(condition, loop->getBlock());
    SmallVector<Value> inits = turnsOf(rings);
    SmallVector<Type> types(loop.getResultTypes());
    llvm::append_range(types, ValueRange(inits).getTypes());
    auto copy = scf::WhileOp::create(b_, types, inits, nullptr, nullptr);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(copy.getBeforeBody());
    setTurns(rings, copy.getBeforeArguments());
    SmallVector<Value> passed{feed(claim, turns_.at(loop))};
    llvm::append_range(passed, copy.getBeforeArguments());
    map_.map(claim.getResult(), passed.front());
    repeat(condition, loop.getBeforeBody());
    scf::ConditionOp::create(b_, map_.lookupOrDefault(condition), passed);
    repeatIteration(loop, rings, copy);
  }

  /// In the body of `copy`, which counts the turns of `rings`.
  void repeatIteration(Loop loop, ArrayRef<Loop> rings, Loop copy) {
    map_.map(bodyOf(loop)->getArgument(0), bodyOf(copy)->getArgument(0));
    b_.setInsertionPointToStart(bodyOf(copy));
    setTurns(rings, carriedIn(copy));
    feedBlock(*bodyOf(loop), turns_.lookup(loop));
    if (hasRing(loop))
      turns_[loop] = after(b_, turns_[loop], slotsIn(loop, stages_));
    scf::YieldOp::create(b_, turnsOf(rings));
    setTurns(rings, copy->getResults().take_back(2 * rings.size()));
  }

  SmallVector<Value> turnsOf(ArrayRef<Loop> rings) {
    SmallVector<Value> turns;
    for (Loop ring : rings)
      turns.append({turns_[ring].slot, turns_[ring].phase});
    return turns;
  }

  void setTurns(ArrayRef<Loop> rings, ValueRange values) {
    for (auto [i, ring] : llvm::enumerate(rings))
      turns_[ring] = {values[2 * i], values[2 * i + 1]};
  }

  Value feed(tile::ClaimOp claim, Turn turn) {
    b_.setLoc(claim.getLoc());
    Value counter = map_.lookupOrDefault(claim.getCounter());
    return sm::ClaimOp::create(b_, b_.getI32Type(), counter, channels_.at(claim).mbarriers, turn.slot, turn.phase);
  }

  void feed(sm::FetchOp fetch, Turn turn) {
    repeat(fetch->getOperands(), fetch->getBlock());
    Channel channel = channels_.at(fetch);
    SmallVector<Value> position;
    for (Value index : fetch.getPosition())
      position.push_back(map_.lookupOrDefault(index));
    Value tile = sm::SlotOp::create(b_, fetch.getType(), channel.ring, turn.slot);
    sm::FeedOp::create(b_, map_.lookupOrDefault(fetch.getView()), position, fetch.getShape(), tile, channel.mbarriers,
                       turn.slot, turn.phase, /*box_only=*/!isReadByProducts(fetch));
  }

  /// The phase changes with each round.
  static Turn after(LocBuilder &b, Turn turn, int64_t slots) {
    auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); };
    Value closes = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, turn.slot, constant(slots - 1));
    Value next = arith::AddIOp::create(b, turn.slot, constant(1));
    Value other = arith::XOrIOp::create(b, turn.phase, constant(1));
    return {arith::SelectOp::create(b, closes, constant(0), next),
            arith::SelectOp::create(b, closes, other, turn.phase)};
  }

  //===-- Consumers ----------------------------------------------------------------------------------------------===//

  using NextTurn = function_ref<Turn(LocBuilder &, ValueRange)>;

  /// The last two of what a loop carries.
  static Turn turnOf(ValueRange values) { return {values.drop_back().back(), values.back()}; }

  /// Lets a loop of the consumers, in which `op` is, and those around it count its turns, unless they do.
  void addTurn(Operation *op) {
    Loop loop = loopOf(op);
    if (!loop || places_.contains(op))
      return;
    b_.setLoc(loop.getLoc());
    int64_t slots = slotsIn(loop, stages_);
    for (Region *region : loop.getLoopRegions())
      for (Operation &fed : region->front())
        if (isFed(&fed))
          places_[&fed] = loop.getInits().size();
    Loop inner =
        addCounters(loop, [&](LocBuilder &b, ValueRange arguments) { return after(b, turnOf(arguments), slots); });
    while (Loop outer = loopOf(inner)) {
      outer = addCounters(outer, [&](LocBuilder &, ValueRange) { return turnOf(inner->getResults()); });
      auto [slot, phase] = turnOf(carriedIn(outer));
      MutableArrayRef<OpOperand> inits = inner.getInitsMutable().take_back(2);
      inits.front().set(slot);
      inits.back().set(phase);
      inner = outer;
    }
  }

  Loop addCounters(Loop loop, NextTurn next) {
    if (auto claimed = dyn_cast<scf::WhileOp>(*loop))
      return addCounters(claimed, next);
    return addCounters(cast<scf::ForOp>(*loop), next);
  }

  Loop addCounters(scf::WhileOp loop, NextTurn next) {
    b_.setInsertionPoint(loop);
    SmallVector<Value> inits(loop.getInits());
    inits.append({i32(0), i32(0)});
    SmallVector<Type> types(loop.getResultTypes()), added(2, b_.getI32Type());
    llvm::append_range(types, added);
    auto counting = scf::WhileOp::create(b_, types, inits, nullptr, nullptr);
    counting->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    SmallVector<Location> locations(2, loop.getLoc());
    counting.getBefore().takeBody(loop.getBefore());
    counting.getAfter().takeBody(loop.getAfter());
    auto counters = counting.getBeforeBody()->addArguments(added, locations);
    counting.getConditionOp().getArgsMutable().append(SmallVector<Value>(counters.begin(), counters.end()));
    counting.getAfterBody()->addArguments(added, locations);
    scf::YieldOp yield = counting.getYieldOp();
    LocBuilder end(loop.getLoc(), yield);
    Turn turn = next(end, carriedIn(counting));
    yield.getResultsMutable().append({turn.slot, turn.phase});
    loop->replaceAllUsesWith(counting->getResults().drop_back(2));
    loop.erase();
    return counting;
  }

  Loop addCounters(scf::ForOp loop, NextTurn next) {
    IRRewriter rewriter(b_.getContext());
    rewriter.setInsertionPoint(loop);
    b_.setInsertionPoint(loop);
    auto yield = [&](OpBuilder &end, Location loc, ArrayRef<BlockArgument> added) -> SmallVector<Value> {
      LocBuilder b(loc, end);
      Turn turn = next(b, ValueRange(added));
      return {turn.slot, turn.phase};
    };
    SmallVector<Value> zeros{i32(0), i32(0)};
    auto replaced = loop.replaceWithAdditionalYields(rewriter, zeros, /*replaceInitOperandUsesInLoop=*/false, yield);
    return *replaced;
  }

  /// The first or last op of the fetch's block in which a user is.
  static Operation *userIn(sm::FetchOp fetch, bool last) {
    Operation *found = nullptr;
    for (Operation *user : fetch->getUsers()) {
      Operation *op = fetch->getBlock()->findAncestorOpInBlock(*user);
      if (!found || found->isBeforeInBlock(op) == last)
        found = op;
    }
    return found;
  }

  /// Behind the product before the one that needs the tile: what lies between products is then one stretch of code,
  /// which the assembler can interleave. Behind a fence, too, which would do the work of the producer's for this tile.
  void placeReceive(Operation *user) {
    for (Operation *op = user->getPrevNode(); op; op = op->getPrevNode())
      if (isa<sm::WgmmaWaitOp, sm::ProxyFenceOp>(op))
        return b_.setInsertionPointAfter(op);
    b_.setInsertionPoint(user);
  }

  void receive(sm::FetchOp fetch) {
    Channel channel = channels_.at(fetch);
    if (fetch->use_empty())
      return fetch.erase();
    placeReceive(userIn(fetch, /*last=*/false));
    b_.setLoc(fetch.getLoc());
    Loop loop = loopOf(fetch);
    Turn now = loop ? turnOf(carriedIn(loop).slice(places_.at(fetch), 2)) : Turn{i32(0), i32(0)};
    Value slot = sm::SlotOp::create(b_, fetch.getType(), channel.ring, now.slot);
    Value tile = sm::ReceiveOp::create(b_, fetch.getType(), slot, channel.mbarriers, now.slot, now.phase);
    if (loop && !companions_.contains(fetch))
      release(fetch, channel, now);
    fetch.replaceAllUsesWith(tile);
    fetch.erase();
  }

  void receive(tile::ClaimOp claim) {
    b_.setInsertionPoint(claim);
    b_.setLoc(claim.getLoc());
    Value mbarriers = channels_.at(claim).mbarriers;
    auto [slot, phase] = turnOf(ValueRange(claim->getBlock()->getArguments()).slice(places_.at(claim), 2));
    Value number = sm::ClaimedOp::create(b_, b_.getI32Type(), mbarriers, slot, phase);
    sm::ReleaseOp::create(b_, mbarriers, slot, /*each_warp=*/true);
    claim.replaceAllUsesWith(number);
    claim.erase();
  }

  /// After the wait for the last product, of which an inner loop may have none.
  void release(sm::FetchOp fetch, Channel channel, Turn turn) {
    Operation *last = userIn(fetch, /*last=*/true);
    auto product = dyn_cast<sm::WgmmaOp>(last);
    b_.setInsertionPointAfter(product ? *product->getUsers().begin() : last);
    const bool isFenced = !isReadByProducts(fetch) || llvm::is_contained(llvm::make_second_range(companions_), fetch);
    if (isFenced) // What follows in the slot is written by TMA.
      sm::ProxyFenceOp::create(b_);
    sm::ReleaseOp::create(b_, channel.mbarriers, turn.slot, /*each_warp=*/!product || isReadByLanes(fetch));
    for (Operation *reader : fetch->getUsers())
      if (isa<sm::MmaOp>(reader) && !isFenced && !isa<sm::ProxyFenceOp>(reader->getNextNode())) {
        b_.setInsertionPointAfter(reader);
        sm::ProxyFenceOp::create(b_);
      }
  }

  func::FuncOp function_;
  SmallVector<sm::FetchOp> fetches_;
  int64_t stages_, warps_, instances_, producerRegisters_ = 0, consumerRegisters_ = 0;
  LocBuilder b_;
  sm::RolesOp roles_;
  IRMapping map_; ///< From the program to the producer's part of it.
  SetVector<tile::ClaimOp> claims_;
  DenseMap<Operation *, Channel> channels_;       ///< Of fetches and claims.
  DenseMap<Operation *, sm::FetchOp> companions_; ///< Of fetches whose slots come back with those of others.
  DenseMap<Operation *, Turn> turns_;             ///< In the producer, of the next tiles of a loop's rings.
  DenseMap<Operation *, unsigned> places_;        ///< Of the turn among what its loop carries in the consumers.
};

struct SpecializeWarps : cuda::impl::SpecializeWarpsBase<SpecializeWarps> {
  void runOnOperation() override {
    if (integer("tile.num_roles", 1) == 2)
      for (auto function : getOperation().getOps<func::FuncOp>())
        specialize(function);
  }

  int64_t integer(StringRef name, int64_t otherwise) {
    auto attribute = getOperation()->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  }

  int64_t stages() { return integer("tile.num_stages", 2); }

  /// As many as find room beside the other tiles. They come first: their fences are then where receives look for them.
  void addLoads(func::FuncOp function, SmallVector<sm::FetchOp> &fetches) {
    constexpr int64_t ofMbarriers = 1 << 10;
    int64_t room = integer("tile.shared_limit", std::numeric_limits<int32_t>::max()) - ofMbarriers;
    room -= bytesBesideRings(function);
    for (sm::FetchOp fetch : fetches)
      room -= ringBytes(fetch, fetch.getType(), stages());
    SmallVector<tile::LoadOp> loads;
    function.walk([&](tile::LoadOp load) {
      int64_t bytes = canBeFed(load) ? ringBytes(load, boxType(load.getResult().getType()), stages()) : room + 1;
      if (bytes > room)
        return;
      room -= bytes;
      loads.push_back(load);
    });
    for (tile::LoadOp load : llvm::reverse(loads))
      fetches.insert(fetches.begin(), fetchBox(load));
  }

  void specialize(func::FuncOp function) {
    SmallVector<sm::FetchOp> fetches;
    function.walk([&](sm::FetchOp fetch) {
      if (canBeFed(fetch))
        fetches.push_back(fetch);
    });
    if (llvm::none_of(fetches, isInLoop)) {
      function.emitRemark("has no loop that a producer could feed; all warps copy");
      return;
    }
    addLoads(function, fetches);
    Specialization(function, std::move(fetches), stages(), integer("tile.num_warps", 4),
                   integer("tile.instances_per_sm", 1))
        .run();
    getOperation()->setAttr("tile.producer_warps", Builder(&getContext()).getI64IntegerAttr(warpsOfGroup));
  }
};
} // namespace
