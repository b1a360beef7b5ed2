// SPDX-License-Identifier: MIT
// Buffers, and the loop nests that fill them.
#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

namespace {

/// Returns the length of a padded row of `size` elements: an odd number of cache lines that hold whole vectors. A cache
/// line is one vector of 16 f32, but half a vector of 16 i64.
int64_t paddedRow(int64_t size, int64_t elementBytes, int64_t lanes) {
  int64_t lines = llvm::divideCeil(llvm::alignTo(size, lanes) * elementBytes, kCacheLine);
  return (lines | 1) * kCacheLine / elementBytes;
}

Type storedType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return computeType(element);
}

int64_t bytesOf(Type stored) { return stored.isIndex() ? 8 : stored.getIntOrFloatBitWidth() / 8; }

} // namespace

Buffer Lowering::allocate(RankedTensorType type, Order order) {
  return allocate(type, order, storedType(type.getElementType()));
}

Buffer Lowering::allocate(RankedTensorType type, Order order, Type stored) {
  SmallVector<int64_t> shape(type.getShape());
  if (order == Order::Column)
    std::reverse(shape.begin(), shape.end());
  shape.back() = paddedRow(shape.back(), bytesOf(stored), lanes_);
  // A vector of narrow integers has as many elements as a vector of 32-bit elements. It may start in the last row's
  // padding.
  int64_t bytes = bytesOf(stored);
  for (int64_t size : shape)
    bytes *= size;
  bufferBytes_.push_back(llvm::alignTo(bytes, kCacheLine));
  auto memoryType = MemRefType::get(shape, stored);
  return {body_.getBody().addArgument(memoryType, loc()), order};
}

Buffer Lowering::bufferFor(Operation *op) {
  Value result = op->getResult(0);
  if (op->hasAttr(kInPlaceAttr)) {
    auto loop = cast<scf::ForOp>(op->getParentOp());
    ValueRange yielded = loop.getYieldedValues();
    return buffers_.lookup(loop.getRegionIterArg(llvm::find(yielded, result) - yielded.begin()));
  }
  return allocate(tileType(result), toOrder(op->getAttrOfType<StringAttr>(kBufferAttr).getValue()));
}

/// Opens one loop per dimension, with `vectorDim` innermost in steps of whole vectors. Dimensions in `skipped` get no
/// loop. The caller sets their positions.
Nest Lowering::openNest(ArrayRef<int64_t> shape, int vectorDim, ArrayRef<int64_t> skipped) {
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (dim != vectorDim && !llvm::is_contained(skipped, dim))
      order.push_back(dim);
  if (vectorDim != kScalar)
    order.push_back(vectorDim);

  Nest nest;
  nest.position.resize(shape.size());
  Block *block = builder_.getInsertionBlock();
  Block::iterator at = builder_.getInsertionPoint();
  for (int64_t dim : order) {
    builder_.setInsertionPoint(block, at);
    Value begin = index(0), end = index(shape[dim]), step = index(dim == vectorDim ? lanes_ : 1);
    auto loop = scf::ForOp::create(builder_, loc(), begin, end, step);
    nest.before.push_back(loop);
    nest.position[dim] = {loop.getInductionVar(), static_cast<int>(nest.before.size())};
    block = loop.getBody();
    at = block->getTerminator()->getIterator();
  }
  builder_.setInsertionPoint(block, at);
  if (order.empty()) {
    // A nest without loops also needs an op to insert before.
    nest.before.push_back(index(0).getDefiningOp());
  } else {
    nest.before.push_back(&*at);
  }
  return nest;
}

/// Returns a nest without loops at the builder's insertion point.
Nest Lowering::here(ArrayRef<Value> position) {
  Nest nest;
  nest.before.push_back(&*builder_.getInsertionPoint());
  for (Value index : position)
    nest.position.push_back({index, 0});
  return nest;
}

/// Computes every element of `tile` into `target`. The builder ends up after the loops.
void Lowering::materialize(Value tile, Buffer target) {
  auto type = tileType(tile);
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  int vectorDim = type.getRank() == 0 ? kScalar : static_cast<int>(target.contiguousDim(type.getRank()));
  Nest nest = openNest(type.getShape(), vectorDim);
  Value value = element(nest, tile, nest.position, vectorDim).value;
  builder_.setInsertionPoint(nest.before.back());
  SmallVector<Value, 4> at = llvm::map_to_vector<4>(nest.position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(at.begin(), at.end());
  Type stored = cast<MemRefType>(target.memory.getType()).getElementType();
  if (type.getElementType().isInteger(1))
    value = arith::ExtUIOp::create(builder_, loc(), VectorType::get({lanes_}, stored), value);
  vector::StoreOp::create(builder_, loc(), value, target.memory, at);
  builder_.restoreInsertionPoint(after);
}

/// Returns the dimension along which vectors of `tile` run best: the contiguous dimension of the buffers that it is
/// computed from.
int Lowering::naturalVectorDim(Value tile) {
  auto type = tileType(tile);
  if (auto it = buffers_.find(tile); it != buffers_.end())
    return static_cast<int>(it->second.contiguousDim(type.getRank()));
  Operation *op = tile.getDefiningOp();
  if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    int source = naturalVectorDim(transpose.getSource());
    return static_cast<int>(llvm::find(transpose.getPermutation(), source) - transpose.getPermutation().begin());
  }
  if (isElementwise(op))
    for (Value operand : op->getOperands())
      if (tileType(operand) && !operand.getDefiningOp<tile::BroadcastOp>() && type.getRank() == 2)
        if (int dim = naturalVectorDim(operand); dim != type.getRank() - 1)
          return dim;
  return static_cast<int>(type.getRank()) - 1;
}

//===-- Reductions -----------------------------------------------------------------------------------------------===//

namespace {

Value combine(OpBuilder &builder, Location loc, tile::Reduction kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  if (kind == tile::Reduction::Add)
    return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b)) : arith::AddIOp::create(builder, loc, a, b);
  bool max = kind == tile::Reduction::Max;
  // Compare and select are one instruction on x86. maxnum must look for NaN in both operands, which takes three.
  Value first =
      isFloat ? Value(arith::CmpFOp::create(builder, loc, max ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
                                            a, b))
              : arith::CmpIOp::create(builder, loc, max ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, a, b);
  return arith::SelectOp::create(builder, loc, first, a, b);
}

TypedAttr identity(OpBuilder &builder, tile::Reduction kind, Type type) {
  if (kind == tile::Reduction::Add)
    return builder.getZeroAttr(type);
  bool max = kind == tile::Reduction::Max;
  if (auto floating = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(type, APFloat::getInf(floating.getFloatSemantics(), /*Negative=*/max));
  unsigned width = type.getIntOrFloatBitWidth();
  return builder.getIntegerAttr(type, max ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
}

/// Returns the number of independent accumulators of a reduction. Several of them hide the latency of the combining
/// instruction.
int64_t accumulators(int64_t steps) {
  for (int64_t count : {4, 3, 2})
    if (steps % count == 0)
      return count;
  return 1;
}

} // namespace

Value Lowering::lanesInside(Value at, int64_t size) {
  Value left = arith::SubIOp::create(builder_, loc(), index(size), at);
  return vector::CreateMaskOp::create(builder_, loc(), VectorType::get({lanes_}, builder_.getI1Type()), left);
}

// Vectors run along the source's contiguous dimension. If this is the axis, each result ends in a reduction across
// lanes, and the lanes past the end are masked. Otherwise a vector of results is combined row by row.
void Lowering::lowerReduce(tile::ReduceOp op) {
  auto sourceType = tileType(op.getSource());
  int64_t axis = op.getAxis();
  int vectorDim = naturalVectorDim(op.getSource());
  bool across = vectorDim == axis;
  Type elementType = sourceType.getElementType();
  int64_t size = sourceType.getDimSize(axis);
  int64_t steps = across ? llvm::divideCeil(size, lanes_) : size;
  int64_t stride = across ? lanes_ : 1;
  int64_t unroll = accumulators(steps);
  Buffer target = bufferFor(op);
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();

  Nest nest = openNest(sourceType.getShape(), across ? kScalar : vectorDim, {axis});
  builder_.setInsertionPoint(nest.before.back());
  Value neutral = arith::ConstantOp::create(builder_, loc(), identity(builder_, op.getKind(), elementType));
  SmallVector<Value> start(unroll, splat(neutral));
  auto loop = scf::ForOp::create(builder_, loc(), index(0), index(steps * stride), index(unroll * stride), start);
  builder_.setInsertionPointToStart(loop.getBody());
  Operation *yield = scf::YieldOp::create(builder_, loc(), start);
  nest.before.back() = loop;
  nest.before.push_back(yield);

  SmallVector<Value> results;
  for (int64_t i = 0; i < unroll; ++i) {
    builder_.setInsertionPoint(yield);
    Value at = arith::AddIOp::create(builder_, loc(), loop.getInductionVar(), index(i * stride));
    nest.position[axis] = {at, nest.depth()};
    Value value = element(nest, op.getSource(), nest.position, vectorDim).value;
    builder_.setInsertionPoint(yield);
    if (across && size % lanes_ != 0) {
      value = arith::SelectOp::create(builder_, loc(), lanesInside(at, size), value, splat(neutral));
    }
    results.push_back(combine(builder_, loc(), op.getKind(), loop.getRegionIterArg(i), value));
  }
  yield->setOperands(results);

  builder_.setInsertionPointAfter(loop);
  Value total = loop.getResult(0);
  for (int64_t i = 1; i < unroll; ++i)
    total = combine(builder_, loc(), op.getKind(), total, loop.getResult(i));
  SmallVector<Value, 4> at;
  for (auto [dim, position] : llvm::enumerate(nest.position))
    if (static_cast<int64_t>(dim) != axis)
      at.push_back(position.value);
  if (!across) {
    vector::StoreOp::create(builder_, loc(), total, target.memory, at);
  } else {
    for (int64_t width = lanes_ / 2; width >= 1; width /= 2) {
      SmallVector<int64_t> swap(lanes_);
      for (int64_t lane = 0; lane < lanes_; ++lane)
        swap[lane] = lane ^ width;
      Value other = vector::ShuffleOp::create(builder_, loc(), total, total, swap);
      total = combine(builder_, loc(), op.getKind(), total, other);
    }
    Value scalar = vector::ExtractOp::create(builder_, loc(), total, ArrayRef<int64_t>{0});
    memref::StoreOp::create(builder_, loc(), scalar, target.memory, at);
  }
  builder_.restoreInsertionPoint(after);
  buffers_[op.getResult()] = target;
}

// The innermost loop runs along the axis and carries the sum. Vectors run along another dimension, if that is
// contiguous in both tiles. Otherwise elements are added one by one.
void Lowering::lowerCumsum(tile::CumsumOp op) {
  auto type = tileType(op.getResult());
  int64_t axis = op.getAxis(), last = type.getDimSize(axis) - 1;
  Buffer target = bufferFor(op);
  int vectorDim = naturalVectorDim(op.getSource());
  if (vectorDim == axis || vectorDim != target.contiguousDim(type.getRank()))
    vectorDim = kScalar;
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Nest nest = openNest(type.getShape(), vectorDim, {axis});
  builder_.setInsertionPoint(nest.before.back());
  Value zero = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(type.getElementType()));
  Value start = vectorDim == kScalar ? zero : splat(zero);
  auto loop = scf::ForOp::create(builder_, loc(), index(0), index(last + 1), index(1), start);
  builder_.setInsertionPointToStart(loop.getBody());
  auto yield = scf::YieldOp::create(builder_, loc(), start);
  nest.before.back() = loop;
  nest.before.push_back(yield);

  builder_.setInsertionPoint(yield);
  Value at = loop.getInductionVar();
  if (op.getReverse())
    at = arith::SubIOp::create(builder_, loc(), index(last), at);
  nest.position[axis] = {at, nest.depth()};
  Value value = element(nest, op.getSource(), nest.position, vectorDim).value;
  builder_.setInsertionPoint(yield);
  Value sum = combine(builder_, loc(), tile::Reduction::Add, loop.getRegionIterArg(0), value);
  yield->setOperand(0, sum);
  SmallVector<Value, 4> where = llvm::map_to_vector<4>(nest.position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(where.begin(), where.end());
  if (vectorDim == kScalar)
    memref::StoreOp::create(builder_, loc(), sum, target.memory, where);
  else
    vector::StoreOp::create(builder_, loc(), sum, target.memory, where);
  builder_.restoreInsertionPoint(after);
  buffers_[op.getResult()] = target;
}

// Vectors run along the contiguous dimension. Along rows, they must begin at whole vectors on both sides. What they
// write beyond the last column is padding, or is overwritten by the columns that follow.
void Lowering::copyColumns(Value source, const tile::ColumnRange &from, const Buffer &target, RankedTensorType type,
                           const tile::ColumnRange &to) {
  const int64_t last = type.getRank() - 1;
  SmallVector<int64_t> shape(type.getShape());
  shape[last] = from.count;
  int vectorDim = static_cast<int>(target.contiguousDim(type.getRank()));
  const bool isWhole = from.step == 1 && to.step == 1 && from.first % lanes_ == 0 && to.first % lanes_ == 0;
  if (vectorDim != naturalVectorDim(source) || (vectorDim == last && !isWhole))
    vectorDim = kScalar;
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Nest nest = openNest(shape, vectorDim);
  const Element column = nest.position[last];
  auto columnOf = [&](const tile::ColumnRange &range) -> Element {
    builder_.setInsertionPoint(nest.before[column.depth]);
    Value scaled = arith::MulIOp::create(builder_, loc(), column.value, index(range.step));
    return {arith::AddIOp::create(builder_, loc(), scaled, index(range.first)), column.depth};
  };
  SmallVector<Element, 4> position = nest.position;
  position[last] = columnOf(from);
  Value value = element(nest, source, position, vectorDim).value;
  position[last] = columnOf(to);
  builder_.setInsertionPoint(nest.before.back());
  SmallVector<Value, 4> at = llvm::map_to_vector<4>(position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(at.begin(), at.end());
  Type stored = cast<MemRefType>(target.memory.getType()).getElementType();
  if (type.getElementType().isInteger(1))
    value = arith::ExtUIOp::create(builder_, loc(),
                                   vectorDim == kScalar ? stored : Type(VectorType::get({lanes_}, stored)), value);
  if (vectorDim == kScalar)
    memref::StoreOp::create(builder_, loc(), value, target.memory, at);
  else
    vector::StoreOp::create(builder_, loc(), value, target.memory, at);
  builder_.restoreInsertionPoint(after);
}

void Lowering::lowerColumns(Operation *op) {
  auto type = tileType(op->getResult(0));
  Buffer target = bufferFor(op);
  if (auto columns = dyn_cast<tile::ColumnsOp>(op))
    copyColumns(columns.getSource(), columns.getRange(), target, type, {.count = columns.getRange().count});
  else
    for (unsigned operand : {0, 1}) {
      const tile::ColumnRange part = cast<tile::JoinOp>(op).rangeOf(operand);
      copyColumns(op->getOperand(operand), {.count = part.count}, target, type, part);
    }
  buffers_[op->getResult(0)] = target;
}

/// Collects, for each lane, if the condition is true anywhere. The result is in memory, because loop nests carry no
/// values.
void Lowering::lowerAny(tile::AnyOp op) {
  auto type = tileType(op.getCondition());
  int vectorDim = type.getRank() == 0 ? kScalar : naturalVectorDim(op.getCondition());
  auto bytes = VectorType::get({lanes_}, builder_.getI8Type());
  Value zeros = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(bytes));
  Value found = allocate(RankedTensorType::get({lanes_}, builder_.getI1Type()), Order::Row).memory;
  SmallVector<Value> first{index(0)};
  vector::StoreOp::create(builder_, loc(), zeros, found, first);
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Nest nest = openNest(type.getShape(), vectorDim);
  Value holds = element(nest, op.getCondition(), nest.position, vectorDim).value;
  builder_.setInsertionPoint(nest.before.back());
  if (vectorDim == kScalar)
    holds = splat(holds);
  else if (int64_t size = type.getDimSize(vectorDim); size % lanes_ != 0)
    holds = arith::AndIOp::create(builder_, loc(), holds, lanesInside(nest.position[vectorDim].value, size));
  Value before = vector::LoadOp::create(builder_, loc(), bytes, found, first);
  holds = arith::ExtUIOp::create(builder_, loc(), bytes, holds);
  vector::StoreOp::create(builder_, loc(), arith::OrIOp::create(builder_, loc(), before, holds), found, first);
  builder_.restoreInsertionPoint(after);
  Value all = vector::LoadOp::create(builder_, loc(), bytes, found, first);
  Value any = vector::ReductionOp::create(builder_, loc(), vector::CombiningKind::OR, all);
  Value zero = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(builder_.getI8Type()));
  scalars_.map(op.getResult(), Value(arith::CmpIOp::create(builder_, loc(), arith::CmpIPredicate::ne, any, zero)));
}

} // namespace tegula::cpu
