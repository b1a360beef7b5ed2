// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/ProducerTiles.h"

#include "compiler/sm/Multiples.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

SetVector<Operation *> cuda::sliceOf(ValueRange values) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  SetVector<Operation *> slice;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      (void)getBackwardSlice(op, &slice, options);
  return slice;
}

SmallVector<Value> cuda::boundsOf(scf::ForOp loop) {
  return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
}

/// Returns true if an scf.for carries `value`.
static bool isCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument != loop.getInductionVar();
}

/// Returns true if a producer can repeat `op`: it computes or reads scalars and needs no value that a loop carries.
static bool isRepeatable(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) && llvm::none_of(op->getOperands(), isCarried) &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType, sm::SharedType>);
}

static bool areRepeatable(ValueRange values) { return llvm::all_of(sliceOf(values), isRepeatable); }

/// Returns true if TMA can copy the tile as one box of the tensor of the view, and nothing next to it must become 0. A
/// tile at column 0 is as wide as its tensor for TMA. Next to any other tile, MMAs must read no more columns than it
/// has.
static bool isBox(sm::LoadSharedOp fetch) {
  constexpr int64_t maxRows = 256, elements = 8, depthOfStep = 16;
  sm::SharedType type = fetch.getType();
  Value column = fetch.getPosition().back();
  const bool hasOwnColumns = matchPattern(column, m_Zero()) || fetch.getShape()[1] % depthOfStep == 0;
  return type.getPanel() == 128 && type.elementBytes() == 2 && type.getShape()[0] == fetch.getShape()[0] &&
         type.getShape()[0] <= maxRows && hasOwnColumns && sm::isMultipleOf(column, elements);
}

bool cuda::isReadByMmas(sm::LoadSharedOp fetch) {
  return llvm::all_of(fetch->getUsers(), llvm::IsaPred<sm::WgmmaOp, sm::MmaOp>) &&
         llvm::any_of(fetch->getUsers(), llvm::IsaPred<sm::WgmmaOp>);
}

bool cuda::isReadByLanes(sm::LoadSharedOp fetch) {
  return !llvm::all_of(fetch->getUsers(), llvm::IsaPred<sm::WgmmaOp>);
}

bool cuda::isInLoop(Operation *op) { return isa<LoopLikeOpInterface>(op->getParentOp()); }

tile::NextWorkOp cuda::nextWorkOf(scf::WhileOp loop) {
  auto works = loop.getBeforeBody()->getOps<tile::NextWorkOp>();
  return works.empty() ? tile::NextWorkOp() : *works.begin();
}

/// Returns true if a producer can draw the work indices of the loop and the consumers need nothing but the work index.
static bool isDynamic(scf::WhileOp loop) {
  tile::NextWorkOp work = nextWorkOf(loop);
  scf::ConditionOp end = loop.getConditionOp();
  return work && loop.getInits().empty() && llvm::equal(end.getArgs(), work->getResults()) &&
         llvm::all_of(sliceOf(end.getCondition()), [&](Operation *op) { return op == work || isRepeatable(op); });
}

/// Returns true if only loops that a producer can repeat are around `op`.
static bool isReachable(Operation *op) {
  Operation *parent = op->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return areRepeatable(boundsOf(loop)) && isReachable(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(parent))
    return isDynamic(loop) && isa<func::FuncOp>(loop->getParentOp());
  return isa<func::FuncOp>(parent);
}

/// Returns true if a producer can compute the position of the tile of an sm.load_shared or a tile.load.
template <class Op> static bool isKnown(Op op) {
  return isReachable(op) && tile::isReadOnly(op.getView()) && areRepeatable(op->getOperands()) &&
         llvm::none_of(op->getOperands(), isCarried);
}

bool cuda::canProducerLoad(sm::LoadSharedOp fetch) { return isKnown(fetch) && isBox(fetch) && isReadByMmas(fetch); }

sm::SharedType cuda::boxType(RankedTensorType tile) {
  constexpr int64_t panelBytes = 128, panelElements = 64;
  const auto columns = static_cast<int64_t>(llvm::alignTo(tile.getDimSize(1), panelElements));
  return sm::SharedType::get(tile.getContext(), {tile.getDimSize(0), columns}, tile.getElementType(), panelBytes);
}

bool cuda::canProducerLoad(tile::LoadOp load) {
  constexpr int64_t maxRows = 256, minElements = 1024;
  RankedTensorType type = load.getResult().getType();
  bool isMatrix = type.getRank() == 2 && type.getElementTypeBitWidth() == 16 && type.getDimSize(0) <= maxRows;
  return isMatrix && type.getNumElements() >= minElements && !load.getFill() && isInLoop(load) && isKnown(load) &&
         sm::extentOfWarp(type, /*dim=*/0) != 0;
}

/// Returns the operand of the `sm.opaque` that `index` comes from, or `index`.
static Value withoutOpaque(Value index) {
  auto outer = index.getDefiningOp<arith::IndexCastOp>();
  auto pin = outer ? outer.getIn().getDefiningOp<sm::OpaqueOp>() : sm::OpaqueOp();
  auto inner = pin ? pin.getSource().getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
  return inner ? inner.getIn() : index;
}

/// Returns the loads of the same tile in later branches, such as the recompute path of the optimistic softmax.
static SmallVector<tile::LoadOp> repeatsOf(tile::LoadOp load) {
  SmallVector<tile::LoadOp> repeats;
  for (Operation *user : load.getView().getUsers()) {
    auto other = dyn_cast<tile::LoadOp>(user);
    Operation *branch = load->getBlock()->findAncestorOpInBlock(*user);
    if (other && isa_and_nonnull<scf::IfOp>(branch) && load->isBeforeInBlock(branch) && !other.getFill() &&
        other.getType() == load.getType() &&
        llvm::equal(llvm::map_range(other.getPosition(), withoutOpaque), load.getPosition()))
      repeats.push_back(other);
  }
  return repeats;
}

sm::LoadSharedOp cuda::loadThroughShared(tile::LoadOp load) {
  SmallVector<tile::LoadOp> reads = repeatsOf(load);
  reads.push_back(load);
  LocBuilder b(load.getLoc(), load);
  RankedTensorType type = load.getResult().getType();
  ArrayRef<int64_t> shape = type.getShape();
  auto fetch = sm::LoadSharedOp::create(b, boxType(type), load.getView(), load.getPosition(), shape);
  sm::FallbackCopyOp::create(b, fetch, load.getView(), load.getPosition(), shape, sm::extentOfWarp(type, /*dim=*/0));
  for (tile::LoadOp read : reads) {
    b.setInsertionPoint(read);
    read.replaceAllUsesWith(Value(sm::ReadOp::create(b, type, fetch, /*reshaped=*/false)));
    read.erase();
  }
  return fetch;
}
