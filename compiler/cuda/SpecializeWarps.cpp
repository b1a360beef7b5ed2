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

/// Whether `op` is arithmetic on scalars.
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

static bool canBeFed(sm::FetchOp fetch) {
  Operation *parent = fetch->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  bool isReachable =
      isa<func::FuncOp>(parent) || (loop && isa<func::FuncOp>(loop->getParentOp()) && areRepeatable(boundsOf(loop)));
  return isReachable && isBox(fetch) && isReadByWarpgroupsOnly(fetch) && tile::isReadOnly(fetch.getView()) &&
         areRepeatable(fetch->getOperands()) && llvm::none_of(fetch->getOperands(), isCarried);
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
  Specialization(func::FuncOp function, SmallVector<sm::FetchOp> fetches, int64_t stages, int64_t warps)
      : function_(function), fetches_(std::move(fetches)), stages_(stages), warps_(warps),
        b_(function.getLoc(), function.getContext()) {}

  void run() {
    makeRoles();
    for (sm::FetchOp fetch : fetches_)
      makeChannel(fetch);
    b_.setInsertionPointToStart(&roles_.getProducer().emplaceBlock());
    buildProducer();
    sm::EndOp::create(b_);
    for (scf::ForOp loop : loops())
      addTurn(loop);
    for (sm::FetchOp fetch : fetches_)
      receive(fetch);
  }

private:
  static constexpr int64_t kProducerRegisters = 32;

  /// What the producer leaves of the multiprocessor, in multiples of 8.
  int64_t consumerRegisters() const {
    constexpr int64_t most = 240, unit = 8;
    int64_t left = sm::registersOfBlock(warps_ + warpsOfGroup) - warpsOfGroup * kProducerRegisters;
    return std::min(most, left / warps_ / unit * unit);
  }

  /// All of the program becomes the consumers'.
  void makeRoles() {
    Block &body = function_.getBody().front();
    b_.setInsertionPoint(body.getTerminator());
    roles_ = sm::RolesOp::create(b_, kProducerRegisters, consumerRegisters());
    Block &consumer = roles_.getConsumer().emplaceBlock();
    consumer.getOperations().splice(consumer.end(), body.getOperations(), body.begin(), roles_->getIterator());
    b_.setInsertionPointToEnd(&consumer);
    sm::EndOp::create(b_);
  }

  static scf::ForOp loopOf(sm::FetchOp fetch) { return dyn_cast<scf::ForOp>(fetch->getParentOp()); }

  /// Those that feed, in the order of the program.
  SetVector<scf::ForOp> loops() const {
    SetVector<scf::ForOp> loops;
    for (sm::FetchOp fetch : fetches_)
      if (scf::ForOp loop = loopOf(fetch))
        loops.insert(loop);
    return loops;
  }

  void makeChannel(sm::FetchOp fetch) {
    b_.setInsertionPoint(roles_);
    b_.setLoc(fetch.getLoc());
    sm::SharedType tile = fetch.getType();
    int64_t slots = loopOf(fetch) ? stages_ : 1;
    SmallVector<int64_t> shape{slots};
    llvm::append_range(shape, tile.getShape());
    auto ring = sm::SharedType::get(b_.getContext(), shape, tile.getElementType(), tile.getPanel());
    channels_[fetch] = {sm::AllocOp::create(b_, ring, IntegerAttr()),
                        sm::MbarriersOp::create(b_, sm::MbarriersType::get(b_.getContext(), slots))};
  }

  Value i32(int64_t value) { return arith::ConstantIntOp::create(b_, b_.getI32Type(), value); }

  //===-- Producer -----------------------------------------------------------------------------------------------===//

  void buildProducer() {
    for (Operation &op : roles_.getConsumer().front()) {
      b_.setLoc(op.getLoc());
      if (auto fetch = dyn_cast<sm::FetchOp>(op); fetch && channels_.contains(fetch))
        feed(fetch, {i32(0), i32(0)});
      else if (auto loop = dyn_cast<scf::ForOp>(op); loop && loops().contains(loop))
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
    repeat(boundsOf(loop), loop->getBlock());
    for (auto fetch : loop.getBody()->getOps<sm::FetchOp>())
      if (channels_.contains(fetch))
        repeat(fetch->getOperands(), loop->getBlock());
    Value lower = map_.lookupOrDefault(loop.getLowerBound()), upper = map_.lookupOrDefault(loop.getUpperBound());
    auto copy = scf::ForOp::create(b_, lower, upper, map_.lookupOrDefault(loop.getStep()), ValueRange{i32(0), i32(0)});
    map_.map(loop.getInductionVar(), copy.getInductionVar());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(copy.getBody());
    Turn turn{copy.getRegionIterArg(0), copy.getRegionIterArg(1)};
    for (auto fetch : loop.getBody()->getOps<sm::FetchOp>())
      if (channels_.contains(fetch))
        feed(fetch, turn);
    Turn next = after(b_, turn);
    scf::YieldOp::create(b_, ValueRange{next.slot, next.phase});
  }

  void feed(sm::FetchOp fetch, Turn turn) {
    repeat(fetch->getOperands(), fetch->getBlock());
    Channel channel = channels_.at(fetch);
    SmallVector<Value> position;
    for (Value index : fetch.getPosition())
      position.push_back(map_.lookupOrDefault(index));
    Value tile = sm::SlotOp::create(b_, fetch.getType(), channel.ring, turn.slot);
    sm::FeedOp::create(b_, map_.lookupOrDefault(fetch.getView()), position, fetch.getShape(), tile, channel.mbarriers,
                       turn.slot, turn.phase);
  }

  /// The phase changes with each round.
  Turn after(LocBuilder &b, Turn turn) {
    auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); };
    Value closes = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, turn.slot, constant(stages_ - 1));
    Value next = arith::AddIOp::create(b, turn.slot, constant(1));
    Value other = arith::XOrIOp::create(b, turn.phase, constant(1));
    return {arith::SelectOp::create(b, closes, constant(0), next),
            arith::SelectOp::create(b, closes, other, turn.phase)};
  }

  //===-- Consumers ----------------------------------------------------------------------------------------------===//

  /// Lets a loop of the consumers count its turns.
  void addTurn(scf::ForOp loop) {
    b_.setInsertionPoint(loop);
    b_.setLoc(loop.getLoc());
    SmallVector<sm::FetchOp> inside = llvm::to_vector(loop.getBody()->getOps<sm::FetchOp>());
    Turn turn;
    auto yield = [&](OpBuilder &end, Location loc, ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      LocBuilder b(loc, end);
      turn = {args[0], args[1]};
      Turn next = after(b, turn);
      return {next.slot, next.phase};
    };
    IRRewriter rewriter(b_.getContext());
    rewriter.setInsertionPoint(loop);
    (void)loop.replaceWithAdditionalYields(rewriter, {i32(0), i32(0)}, false, yield);
    for (sm::FetchOp fetch : inside)
      turns_[fetch] = turn;
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

  void receive(sm::FetchOp fetch) {
    Channel channel = channels_.at(fetch);
    if (fetch->use_empty())
      return fetch.erase();
    b_.setInsertionPoint(userIn(fetch, /*last=*/false));
    b_.setLoc(fetch.getLoc());
    auto turn = turns_.find(fetch);
    bool isInLoop = turn != turns_.end();
    Turn now = isInLoop ? turn->second : Turn{i32(0), i32(0)};
    Value slot = sm::SlotOp::create(b_, fetch.getType(), channel.ring, now.slot);
    Value tile = sm::ReceiveOp::create(b_, fetch.getType(), slot, channel.mbarriers, now.slot, now.phase);
    if (isInLoop)
      release(fetch, channel, now);
    fetch.replaceAllUsesWith(tile);
    fetch.erase();
  }

  /// After the wait for the last product.
  void release(sm::FetchOp fetch, Channel channel, Turn turn) {
    Operation *last = userIn(fetch, /*last=*/true);
    if (auto product = dyn_cast<sm::WgmmaOp>(last))
      last = *product->getUsers().begin();
    b_.setInsertionPointAfter(last);
    sm::ReleaseOp::create(b_, channel.mbarriers, turn.slot);
  }

  func::FuncOp function_;
  SmallVector<sm::FetchOp> fetches_;
  int64_t stages_, warps_;
  LocBuilder b_;
  sm::RolesOp roles_;
  IRMapping map_; ///< From the program to the producer's part of it.
  DenseMap<sm::FetchOp, Channel> channels_;
  DenseMap<sm::FetchOp, Turn> turns_;
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

  void specialize(func::FuncOp function) {
    SmallVector<sm::FetchOp> fetches;
    function.walk([&](sm::FetchOp fetch) {
      if (canBeFed(fetch))
        fetches.push_back(fetch);
    });
    if (llvm::none_of(fetches, [](sm::FetchOp fetch) { return isa<scf::ForOp>(fetch->getParentOp()); })) {
      function.emitRemark("has no loop that a producer could feed; all warps copy");
      return;
    }
    Specialization(function, std::move(fetches), integer("tile.num_stages", 2), integer("tile.num_warps", 4)).run();
    getOperation()->setAttr("tile.producer_warps", Builder(&getContext()).getI64IntegerAttr(warpsOfGroup));
  }
};
} // namespace
