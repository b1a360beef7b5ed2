// SPDX-License-Identifier: MIT
#include "compiler/cuda/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "compiler/cuda/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

constexpr int64_t warpsOfGroup = 4;

//===-- Which fetches --------------------------------------------------------------------------------------------===//

/// What the values are computed from, operands first.
static SetVector<Operation *> sliceOf(ValueRange values) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  SetVector<Operation *> slice;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      (void)getBackwardSlice(op, &slice, options);
  return slice;
}

/// All that a loop needs but what it carries.
static SmallVector<Value> boundsOf(scf::ForOp loop) {
  return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
}

/// Whether a loop carries it.
static bool isCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument != loop.getInductionVar();
}

/// Whether `op` is arithmetic on scalars, or reads one.
static bool isRepeatable(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) && llvm::none_of(op->getOperands(), isCarried) &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType, sm::SharedType>);
}

static bool areRepeatable(ValueRange values) { return llvm::all_of(sliceOf(values), isRepeatable); }

/// Whether a box of the tensor behind the view is the tile: nothing beside it has to become 0.
static bool isBox(sm::FetchOp fetch) {
  constexpr int64_t mostRows = 256;
  sm::SharedType type = fetch.getType();
  return type.getPanel() == 128 && type.elementBytes() == 2 && type.getShape()[0] == fetch.getShape()[0] &&
         type.getShape()[0] <= mostRows && matchPattern(fetch.getPosition().back(), m_Zero());
}

static bool isReadByWarpgroupsOnly(sm::FetchOp fetch) {
  return llvm::all_of(fetch->getUsers(), llvm::IsaPred<sm::WgmmaOp>);
}

static bool isInLoop(Operation *op) { return isa<scf::ForOp>(op->getParentOp()); }

/// Whether a producer can get there: through loops alone, which it can repeat.
static bool isReachable(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  return isa<func::FuncOp>(op->getParentOp()) || (loop && areRepeatable(boundsOf(loop)) && isReachable(loop));
}

/// Whether a producer knows where the tile is, of an sm.fetch or a tile.load.
template <class Op> static bool isKnown(Op op) {
  return isReachable(op) && tile::isReadOnly(op.getView()) && areRepeatable(op->getOperands()) &&
         llvm::none_of(op->getOperands(), isCarried);
}

static bool canBeFed(sm::FetchOp fetch) { return isKnown(fetch) && isBox(fetch) && isReadByWarpgroupsOnly(fetch); }

/// What a tile that goes to registers needs in shared memory.
static sm::SharedType boxType(RankedTensorType tile) {
  constexpr int64_t panelBytes = 128, panelElements = 64;
  const auto columns = static_cast<int64_t>(llvm::alignTo(tile.getDimSize(1), panelElements));
  return sm::SharedType::get(tile.getContext(), {tile.getDimSize(0), columns}, tile.getElementType(), panelBytes);
}

/// Of a tile that goes to registers, beside which nothing has to become 0. Smaller ones are not worth a ring.
static bool canBeFed(tile::LoadOp load) {
  constexpr int64_t mostRows = 256, leastElements = 1024;
  RankedTensorType type = load.getResult().getType();
  bool isMatrix = type.getRank() == 2 && type.getElementTypeBitWidth() == 16 && type.getDimSize(0) <= mostRows;
  return isMatrix && type.getNumElements() >= leastElements && !load.getFill() && isInLoop(load) && isKnown(load);
}

/// The tile comes from shared memory if TMA can copy it there. Else each thread loads its own elements, as one warp
/// could not move them fast enough.
static sm::FetchOp fetchBox(tile::LoadOp load) {
  LocBuilder b(load.getLoc(), load);
  RankedTensorType type = load.getResult().getType();
  ArrayRef<int64_t> shape = type.getShape();
  auto fetch = sm::FetchOp::create(b, boxType(type), load.getView(), load.getPosition(), shape);
  Value isBox = sm::IsBoxOp::create(b, b.getI1Type(), load.getView(), load.getPosition(), shape);
  auto branch = scf::IfOp::create(b, type, isBox, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, Value(sm::ReadOp::create(b, type, fetch, /*reshaped=*/false)));
  load.replaceAllUsesWith(branch.getResult(0));
  b.setInsertionPointToStart(branch.elseBlock());
  auto yield = scf::YieldOp::create(b, load.getResult());
  load->moveBefore(yield);
  return fetch;
}

//===-- Rings ----------------------------------------------------------------------------------------------------===//

/// Of a ring that is filled in `loop`, if not null. An outer loop's next tile comes while the inner one still works on
/// this.
static int64_t slotsIn(scf::ForOp loop, int64_t stages) {
  bool isInnermost = loop && loop.getBody()->getOps<scf::ForOp>().empty();
  return isInnermost ? stages : loop ? 2 : 1;
}

/// Of the ring of an sm.fetch or a tile.load.
static int64_t ringBytes(Operation *op, sm::SharedType tile, int64_t stages) {
  return slotsIn(dyn_cast<scf::ForOp>(op->getParentOp()), stages) * tile.bytes();
}

/// Of what must lie beside the rings: results that are written while a loop around goes on with the next block.
static int64_t bytesBesideRings(func::FuncOp function) {
  int64_t bytes = 0;
  function.walk([&](sm::StageOp stage) {
    if (stage->getParentOfType<scf::ForOp>())
      bytes += stage.getType().bytes();
  });
  return bytes;
}

//===-- Roles ----------------------------------------------------------------------------------------------------===//

namespace {
/// A ring and what says which of its slots is next.
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
    b_.setInsertionPointToStart(&roles_.getProducer().emplaceBlock());
    feedBlock(roles_.getConsumer().front(), {i32(0), i32(0)});
    sm::EndOp::create(b_);
    for (size_t i = 0; i < fetches_.size(); ++i)
      if (scf::ForOp loop = loopOf(fetches_[i]); loop && !places_.contains(fetches_[i]))
        addTurn(loop);
    for (sm::FetchOp fetch : fetches_)
      receive(fetch);
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

  static scf::ForOp loopOf(sm::FetchOp fetch) { return dyn_cast<scf::ForOp>(fetch->getParentOp()); }

  bool isFed(sm::FetchOp fetch) const { return channels_.contains(fetch); }

  /// Whether the loop has fetches of its own, so that it needs to know which slot is next.
  bool hasRing(scf::ForOp loop) const {
    return llvm::any_of(loop.getBody()->getOps<sm::FetchOp>(), [&](sm::FetchOp fetch) { return isFed(fetch); });
  }

  /// The loops with rings from `loop` inwards: it counts the turns of all of them.
  SmallVector<scf::ForOp> ringsIn(scf::ForOp loop) const {
    SmallVector<scf::ForOp> rings;
    loop.walk<WalkOrder::PreOrder>([&](scf::ForOp inner) {
      if (hasRing(inner))
        rings.push_back(inner);
    });
    return rings;
  }

  void makeChannel(sm::FetchOp fetch) {
    b_.setInsertionPoint(roles_);
    b_.setLoc(fetch.getLoc());
    sm::SharedType tile = fetch.getType();
    int64_t slots = slotsIn(loopOf(fetch), stages_);
    SmallVector<int64_t> shape{slots};
    llvm::append_range(shape, tile.getShape());
    auto ring = sm::SharedType::get(b_.getContext(), shape, tile.getElementType(), tile.getPanel());
    channels_[fetch] = {sm::AllocOp::create(b_, ring, IntegerAttr()),
                        sm::MbarriersOp::create(b_, sm::MbarriersType::get(b_.getContext(), slots))};
  }

  Value i32(int64_t value) { return arith::ConstantIntOp::create(b_, b_.getI32Type(), value); }

  //===-- Producer -----------------------------------------------------------------------------------------------===//

  /// The producer's part of a block, in which `turn` is that of the block's own fetches.
  void feedBlock(Block &block, Turn turn) {
    for (Operation &op : block) {
      b_.setLoc(op.getLoc());
      if (auto fetch = dyn_cast<sm::FetchOp>(op); fetch && isFed(fetch))
        feed(fetch, turn);
      else if (auto loop = dyn_cast<scf::ForOp>(op); loop && !ringsIn(loop).empty())
        repeat(loop);
    }
  }

  /// Clones what `values` are computed from inside `block`, unless that is there already.
  void repeat(ValueRange values, Block *block) {
    for (Operation *op : sliceOf(values))
      if (op->getBlock() == block && !map_.contains(op->getResult(0)))
        b_.clone(*op, map_);
  }

  void repeat(scf::ForOp loop) {
    loop.walk([&](Operation *op) {
      if (auto inner = dyn_cast<scf::ForOp>(op))
        repeat(boundsOf(inner), loop->getBlock());
      else if (auto fetch = dyn_cast<sm::FetchOp>(op); fetch && isFed(fetch))
        repeat(fetch->getOperands(), loop->getBlock());
    });
    SmallVector<scf::ForOp> rings = ringsIn(loop);
    SmallVector<Value> inits;
    for (scf::ForOp ring : rings) {
      Turn &turn = turns_.try_emplace(ring, Turn{i32(0), i32(0)}).first->second;
      inits.append({turn.slot, turn.phase});
    }
    Value lower = map_.lookupOrDefault(loop.getLowerBound()), upper = map_.lookupOrDefault(loop.getUpperBound());
    auto copy = scf::ForOp::create(b_, lower, upper, map_.lookupOrDefault(loop.getStep()), inits);
    map_.map(loop.getInductionVar(), copy.getInductionVar());
    auto setTurns = [&](ValueRange values) {
      for (auto [i, ring] : llvm::enumerate(rings))
        turns_[ring] = {values[2 * i], values[2 * i + 1]};
    };
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(copy.getBody());
    setTurns(copy.getRegionIterArgs());
    feedBlock(*loop.getBody(), turns_.lookup(loop));
    if (hasRing(loop))
      turns_[loop] = after(b_, turns_[loop], slotsIn(loop, stages_));
    SmallVector<Value> next;
    for (scf::ForOp ring : rings)
      next.append({turns_[ring].slot, turns_[ring].phase});
    scf::YieldOp::create(b_, next);
    setTurns(copy.getResults());
  }

  void feed(sm::FetchOp fetch, Turn turn) {
    repeat(fetch->getOperands(), fetch->getBlock());
    Channel channel = channels_.at(fetch);
    SmallVector<Value> position;
    for (Value index : fetch.getPosition())
      position.push_back(map_.lookupOrDefault(index));
    Value tile = sm::SlotOp::create(b_, fetch.getType(), channel.ring, turn.slot);
    sm::FeedOp::create(b_, map_.lookupOrDefault(fetch.getView()), position, fetch.getShape(), tile, channel.mbarriers,
                       turn.slot, turn.phase, /*box_only=*/!isReadByWarpgroupsOnly(fetch));
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

  /// The last two of what a loop carries.
  static Turn turnOf(ValueRange values) { return {values.drop_back().back(), values.back()}; }

  /// Lets a loop of the consumers and those around it count its turns.
  void addTurn(scf::ForOp loop) {
    b_.setLoc(loop.getLoc());
    int64_t slots = slotsIn(loop, stages_);
    for (auto fetch : loop.getBody()->getOps<sm::FetchOp>())
      places_[fetch] = loop.getNumRegionIterArgs();
    scf::ForOp inner =
        addCounters(loop, [&](LocBuilder &b, ValueRange arguments) { return after(b, turnOf(arguments), slots); });
    while (auto outer = dyn_cast<scf::ForOp>(inner->getParentOp())) {
      outer = addCounters(outer, [&](LocBuilder &, ValueRange) { return turnOf(inner.getResults()); });
      auto [slot, phase] = turnOf(outer.getRegionIterArgs());
      unsigned last = inner.getInitArgs().size() - 1;
      inner.getInitArgsMutable()[last - 1].assign(slot);
      inner.getInitArgsMutable()[last].assign(phase);
      inner = outer;
    }
  }

  scf::ForOp addCounters(scf::ForOp loop, function_ref<Turn(LocBuilder &, ValueRange)> next) {
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
    return cast<scf::ForOp>(replaced->getOperation());
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
    scf::ForOp loop = loopOf(fetch);
    Turn now = loop ? turnOf(loop.getRegionIterArgs().slice(places_.at(fetch), 2)) : Turn{i32(0), i32(0)};
    Value slot = sm::SlotOp::create(b_, fetch.getType(), channel.ring, now.slot);
    Value tile = sm::ReceiveOp::create(b_, fetch.getType(), slot, channel.mbarriers, now.slot, now.phase);
    if (loop)
      release(fetch, channel, now);
    fetch.replaceAllUsesWith(tile);
    fetch.erase();
  }

  /// After the wait for the last product, of which an inner loop may have none.
  void release(sm::FetchOp fetch, Channel channel, Turn turn) {
    Operation *last = userIn(fetch, /*last=*/true);
    auto product = dyn_cast<sm::WgmmaOp>(last);
    b_.setInsertionPointAfter(product ? *product->getUsers().begin() : last);
    if (!isReadByWarpgroupsOnly(fetch)) // What follows in the slot is written by TMA.
      sm::ProxyFenceOp::create(b_);
    sm::ReleaseOp::create(b_, channel.mbarriers, turn.slot, /*each_warp=*/!product);
  }

  func::FuncOp function_;
  SmallVector<sm::FetchOp> fetches_;
  int64_t stages_, warps_, instances_, producerRegisters_ = 0, consumerRegisters_ = 0;
  LocBuilder b_;
  sm::RolesOp roles_;
  IRMapping map_; ///< From the program to the producer's part of it.
  DenseMap<sm::FetchOp, Channel> channels_;
  DenseMap<scf::ForOp, Turn> turns_;       ///< In the producer, of the next tiles of a loop's rings.
  DenseMap<sm::FetchOp, unsigned> places_; ///< Of the turn among what the fetch's loop carries in the consumers.
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
