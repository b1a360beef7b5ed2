// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/ProducerTiles.h"

#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Elements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

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
static bool isRepeatable(Operation *op) { return sm::isPureScalar(op) && llvm::none_of(op->getOperands(), isCarried); }

static bool areRepeatable(ValueRange values) { return llvm::all_of(sliceOf(values), isRepeatable); }

/// Returns true if `user` is an MMA whose depth runs along the columns of the tile, and its last step is not whole.
/// Such an MMA multiplies the columns next to the tile, too, so they must be 0.
static bool readsPastTile(Operation *user, Value tile) {
  auto reads = [&](auto mma) {
    const bool alongColumns =
        (mma.getLhs() == tile && !mma.getTransposeLhs()) || (mma.getRhs() == tile && mma.getTransposeRhs());
    auto element = sm::mmaElement(cast<sm::SharedType>(tile.getType()).getElementType());
    return alongColumns && (!element || static_cast<int64_t>(mma.getDepth()) % element->depth != 0);
  };
  if (auto wgmma = dyn_cast<sm::AsyncProduct>(user))
    return reads(wgmma);
  auto mma = dyn_cast<sm::MmaOp>(user);
  return mma && reads(mma);
}

/// Returns why TMA cannot copy the tile to its place in shared memory, or nothing if it can.
static std::string whyNoBox(sm::LoadSharedOp fetch) {
  sm::SharedType type = fetch.getType();
  if (type.getPanel() != sm::kPanelBytes || !sm::isCopiedByTma(type.getElementType()))
    return "its elements do not lie in panels of 128 bytes";
  if (type.getShape()[0] != fetch.getShape()[0])
    return "its " + std::to_string(fetch.getShape()[0]) + " rows are padded to " + std::to_string(type.getShape()[0]);
  const int64_t rows = fetch.getShape()[0];
  if (std::string why = sm::whyNotLoaded(fetch.getView(), rows); !why.empty())
    return why;
  if (std::string why = sm::whyNoBoxAt(fetch.getView(), fetch.getPosition(), rows); !why.empty())
    return why;
  if (sm::boxRows(rows) == 0)
    return "its " + std::to_string(rows) + " rows are more than a box has, and are not a multiple of 8";
  Value column = fetch.getPosition().back();
  if (matchPattern(column, m_Zero()))
    return "";
  if (llvm::any_of(fetch->getUsers(), [&](Operation *user) { return readsPastTile(user, fetch); }))
    return "zeros must follow its columns, because their number is not a multiple of the depth of an MMA; make it one, "
           "or start at column 0";
  if (!sm::startsAtBox(column, type.getElementType()))
    return "its first column is not provably a multiple of " + std::to_string(sm::boxUnit(type.getElementType())) +
           " (16 bytes); compute it as a product with such a constant";
  return "";
}

bool cuda::feedsWgmma(Operation *tile) {
  return llvm::all_of(tile->getUsers(), llvm::IsaPred<sm::AsyncProduct, sm::MmaOp, sm::ReadOp>) &&
         llvm::any_of(tile->getUsers(), llvm::IsaPred<sm::AsyncProduct>);
}

bool cuda::isReadByMmas(Operation *tile) {
  return feedsWgmma(tile) && llvm::none_of(tile->getUsers(), llvm::IsaPred<sm::ReadOp>);
}

bool cuda::isReadByLanes(Operation *tile) { return !llvm::all_of(tile->getUsers(), llvm::IsaPred<sm::AsyncProduct>); }

sm::TransposeOp cuda::transposeOf(sm::LoadSharedOp fetch) {
  auto transpose = fetch->hasOneUse() ? dyn_cast<sm::TransposeOp>(*fetch->user_begin()) : sm::TransposeOp();
  return transpose && transpose->getBlock() == fetch->getBlock() && isReadByMmas(transpose) ? transpose
                                                                                            : sm::TransposeOp();
}

Operation *cuda::readTileOf(sm::LoadSharedOp fetch) {
  sm::TransposeOp transpose = transposeOf(fetch);
  return transpose ? transpose.getOperation() : fetch.getOperation();
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

std::string cuda::whyNotProducerLoaded(sm::LoadSharedOp fetch) {
  if (!tile::isReadOnly(fetch.getView()))
    return "the kernel writes its tensor";
  if (!isKnown(fetch))
    return "its position depends on values that only the consumers have, such as values that a loop carries";
  return whyNoBox(fetch);
}

sm::SharedType cuda::boxType(RankedTensorType tile) {
  if (tile.getRank() == 1)
    return sm::SharedType::get(tile.getContext(), tile.getShape(), tile.getElementType(), /*panel=*/0);
  const int64_t columns = sm::wholePanels(tile.getDimSize(1), tile.getElementType());
  return sm::SharedType::get(tile.getContext(), {tile.getDimSize(0), columns}, tile.getElementType(), sm::kPanelBytes);
}

/// Returns true for a matrix that is worth a ring, and of which each warp owns whole rows.
static bool isMatrix(tile::LoadOp load) {
  constexpr int64_t minElements = 1024;
  RankedTensorType type = load.getResult().getType();
  return type.getRank() == 2 && type.getDimSize(0) <= sm::kMaxBox && type.getNumElements() >= minElements &&
         !load.getFill() && sm::extentOfWarp(type, /*dim=*/0) != 0;
}

/// Returns true for a vector of whole 128 bytes, the alignment of a box in shared memory. Its position is provably a
/// multiple of 16 bytes.
static bool isVector(tile::LoadOp load) {
  constexpr int64_t alignment = 128;
  RankedTensorType type = load.getResult().getType();
  const int64_t bytes = type.getElementTypeBitWidth() / 8;
  return type.getRank() == 1 && !sm::hasPages(load.getView()) && type.getDimSize(0) <= sm::kMaxBox &&
         type.getDimSize(0) * bytes % alignment == 0 &&
         sm::startsAtBox(load.getPosition().front(), type.getElementType());
}

bool cuda::canProducerLoad(tile::LoadOp load) {
  RankedTensorType type = load.getResult().getType();
  return sm::isCopiedByTma(type.getElementType()) && (isMatrix(load) || isVector(load)) &&
         sm::whyNotLoaded(load.getView(), type.getDimSize(0)).empty() &&
         sm::whyNoBoxAt(load.getView(), load.getPosition(), type.getDimSize(0)).empty() && isInLoop(load) &&
         isKnown(load);
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
    if (other && isa_and_nonnull<scf::IfOp>(branch) && load->isBeforeInBlock(branch) &&
        other.getFillAttr() == load.getFillAttr() && other.getType() == load.getType() &&
        llvm::equal(llvm::map_range(other.getPosition(), withoutOpaque), load.getPosition()))
      repeats.push_back(other);
  }
  return repeats;
}

/// Returns true if elements outside the view are 0, as TMA fills them.
static bool isZeroFilled(tile::LoadOp load) {
  TypedAttr fill = load.getFillAttr();
  return !fill || fill == Builder(fill.getContext()).getZeroAttr(fill.getType());
}

/// Lets warps copy the tile of `fetch` where TMA does not load it.
static void copyUnlessLoaded(LocBuilder &b, sm::LoadSharedOp fetch, int64_t rowsOfWarp) {
  Value isLoaded = sm::IsLoadedOp::create(b, fetch, fetch.getView(), fetch.getPosition(), /*inside=*/false);
  auto branch = scf::IfOp::create(b, isLoaded, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  sm::FallbackCopyOp::create(b, fetch, fetch.getView(), fetch.getPosition(), fetch.getShape(),
                             b.getI64IntegerAttr(rowsOfWarp));
}

/// Lets lanes read the tile of `fetch` where TMA loads all of it. Otherwise they load it.
static void readIfLoaded(LocBuilder &b, sm::LoadSharedOp fetch, tile::LoadOp load) {
  Value isLoaded = sm::IsLoadedOp::create(b, fetch, load.getView(), load.getPosition(), /*inside=*/true);
  auto branch = scf::IfOp::create(b, load.getType(), isLoaded, /*withElseRegion=*/true);
  load.replaceAllUsesWith(branch.getResult(0));
  load->moveBefore(branch.elseBlock(), branch.elseBlock()->end());
  load->setAttr(tile::rare, b.getUnitAttr());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, load.getResult());
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, sm::ReadOp::create(b, load.getType(), fetch).getResult());
}

sm::LoadSharedOp cuda::loadThroughShared(tile::LoadOp load) {
  SmallVector<tile::LoadOp> reads = repeatsOf(load);
  reads.push_back(load);
  LocBuilder b(load.getLoc(), load);
  RankedTensorType type = load.getResult().getType();
  auto fetch = sm::LoadSharedOp::create(b, boxType(type), load.getView(), load.getPosition(), type.getShape());
  tile::inheritAttributes(fetch, load);
  const bool isMatrix = type.getRank() == 2;
  if (isMatrix)
    copyUnlessLoaded(b, fetch, sm::extentOfWarp(type, /*dim=*/0));
  for (tile::LoadOp read : reads) {
    b.setInsertionPoint(read);
    if (isMatrix || isZeroFilled(read)) {
      auto ofLanes = sm::ReadOp::create(b, type, fetch);
      tile::inheritAttributes(ofLanes, read, {kRole});
      read.replaceAllUsesWith(ofLanes.getResult());
      read.erase();
    } else {
      readIfLoaded(b, fetch, read);
    }
  }
  return fetch;
}
