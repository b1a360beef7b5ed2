// SPDX-License-Identifier: MIT
// Views, loads and gathers.
#include "compiler/cpu/Window.h"
#include "compiler/tile/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

//===-- Views ----------------------------------------------------------------------------------------------------===//

View Lowering::kernelArgument(Value base, int64_t rank, int64_t firstWord) {
  View view;
  auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(base.getType()).getElementType());
  Value endless = index(std::numeric_limits<int64_t>::max());
  view.flat = memref::ReinterpretCastOp::create(
      builder_, loc(), type, base, /*offset=*/OpFoldResult(builder_.getIndexAttr(0)), ArrayRef<OpFoldResult>{endless},
      ArrayRef<OpFoldResult>{builder_.getIndexAttr(1)});
  view.base = index(0);
  for (int64_t dim = 0; dim < rank; ++dim) {
    view.sizes.push_back(arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), word(firstWord + dim)));
    view.strides.push_back(
        arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), word(firstWord + rank + dim)));
  }
  return view;
}

void Lowering::lowerView(tile::ViewOpInterface op) {
  View view = views_.lookup(op.getViewSource());
  ImplicitLocOpBuilder b(loc(), builder_);
  tile::Scalars s(b);
  LoweredLoops program(*this);
  op.changeParts(s, view, program);
  views_[op->getResult(0)] = view;
}

Value LoweredLoops::entry(Value view, Value at) {
  Value entry = l_.gatherElements(l_.views_.lookup(view), l_.builder_.getI32Type(), at);
  return arith::IndexCastOp::create(l_.builder_, l_.loc(), at.getType(), entry);
}

tile::IndexPlace LoweredLoops::placeOf(const View &view, unsigned dim, Value index) {
  ImplicitLocOpBuilder b(l_.loc(), l_.builder_);
  tile::Scalars s(b);
  return view.placeOf(s, dim, index, *this);
}

//===-- Loads ----------------------------------------------------------------------------------------------------===//

namespace {

TypedAttr fillOf(OpBuilder &builder, tile::LoadOp load, Type stored) {
  TypedAttr fill = load.getFillAttr();
  if (!fill)
    return builder.getZeroAttr(stored);
  if (auto number = dyn_cast<FloatAttr>(fill))
    return builder.getFloatAttr(stored, number.getValueAsDouble());
  return builder.getIntegerAttr(stored, cast<IntegerAttr>(fill).getInt());
}

} // namespace

/// Returns the type of a matrix in a tensor whose rows are contiguous, and lie anywhere.
static MemRefType rowsAnywhere(RankedTensorType type) {
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, {ShapedType::kDynamic, /*contiguous=*/1});
  return MemRefType::get(type.getShape(), memoryType(type.getElementType()), layout);
}

void Lowering::lowerLoad(tile::LoadOp load) {
  auto type = tileType(load.getResult());
  Window m(*this, load.getView(), load.getPosition(), type);
  if (!load->hasAttr(kAliasAttr)) {
    Buffer target = bufferFor(load);
    copyToBuffer(load, m, target);
    buffers_[load.getResult()] = target;
    return;
  }
  MemRefType there = rowsAnywhere(type);
  Buffer target = allocate(type, Order::Row, there.getElementType());
  auto rows = [&](Value memory, Value offset, Value stride) {
    SmallVector<OpFoldResult> sizes{builder_.getIndexAttr(type.getDimSize(0)),
                                    builder_.getIndexAttr(type.getDimSize(1))};
    SmallVector<OpFoldResult> strides{stride, builder_.getIndexAttr(1)};
    return memref::ReinterpretCastOp::create(builder_, loc(), there, memory, OpFoldResult(offset), sizes, strides);
  };
  auto branch = scf::IfOp::create(builder_, loc(), TypeRange{there}, m.both(m.whole(), m.isContiguous(1)),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  auto yield = [&](Block *block, llvm::function_ref<Value()> memory) {
    builder_.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder_, loc(), memory());
  };
  const int64_t padded = cast<MemRefType>(target.memory.getType()).getDimSize(1);
  yield(branch.thenBlock(), [&] { return rows(m.view.flat, m.linear({Value(), Value()}), m.view.strides[0]); });
  yield(branch.elseBlock(), [&] {
    copyToBuffer(load, m, target);
    return rows(target.memory, index(0), index(padded));
  });
  builder_.setInsertionPointAfter(branch);
  buffers_[load.getResult()] = {branch.getResult(0), Order::Row, /*isTensor=*/true, load->hasAttr(kContinuesAttr)};
}

// If the view is contiguous along the buffer's contiguous dimension, whole vectors are copied. The rest of a row, and
// all elements of a strided view, are copied one by one. A tile that is partly outside the view is first filled with
// `fill`. Elements are widened, unless the buffer has those of the tensor.
void Lowering::copyToBuffer(tile::LoadOp load, Window &m, const Buffer &target) {
  auto type = tileType(load.getResult());
  auto bufferType = cast<MemRefType>(target.memory.getType());
  const int64_t contiguous = target.contiguousDim(type.getRank());
  int64_t inner = m.view.pages ? type.getRank() - 1 : contiguous;

  Value isEdge = arith::XOrIOp::create(builder_, loc(), m.whole(),
                                       Value(arith::ConstantOp::create(builder_, loc(), builder_.getBoolAttr(true))));
  m.ifTrue(isEdge, [&] {
    Value fill = splat(arith::ConstantOp::create(builder_, loc(), fillOf(builder_, load, bufferType.getElementType())));
    Nest nest = openNest(bufferType.getShape(), static_cast<int>(bufferType.getRank()) - 1);
    builder_.setInsertionPoint(nest.before.back());
    SmallVector<Value, 5> at = llvm::map_to_vector<5>(nest.position, [](const Element &e) { return e.value; });
    vector::StoreOp::create(builder_, loc(), fill, target.memory, at);
  });

  Value zero = index(0), count = m.sub(m.high[inner], m.low[inner]);
  Value vectors = arith::AndIOp::create(builder_, loc(), count, index(-lanes_));
  Value isContiguous = inner == contiguous ? m.isContiguous(inner) : m.isFalse();
  Value vectorised = arith::SelectOp::create(builder_, loc(), isContiguous, vectors, zero);
  Value middle = m.add(m.low[inner], vectorised);
  Type narrowType = type.getElementType();
  auto store = [&](SmallVector<Value, 5> at, Value x, Value value) {
    if (bufferType.getElementType() != memoryType(narrowType))
      value = widen(builder_, loc(), value, narrowType);
    at[inner] = x;
    if (target.order == Order::Column)
      std::reverse(at.begin(), at.end());
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(builder_, loc(), value, target.memory, at);
    else
      memref::StoreOp::create(builder_, loc(), value, target.memory, at);
  };
  m.outerLoops(inner, [&](SmallVector<Value, 5> &at) {
    Value row = m.linear(at);
    m.loop(m.low[inner], middle, lanes_, [&](Value x) {
      Value value = vector::LoadOp::create(builder_, loc(), VectorType::get({lanes_}, memoryType(narrowType)),
                                           m.view.flat, ValueRange{m.add(row, x)});
      store(at, x, value);
    });
    m.loop(middle, m.high[inner], 1, [&](Value x) {
      m.element(at, inner, row, x, [&](Value where) {
        Value value = memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
        store(at, x, value);
      });
    });
  });
}

//===-- Gathers --------------------------------------------------------------------------------------------------===//

/// Returns a view all of whose numbers except its base are vectors of `type`.
static View splatted(OpBuilder &builder, Location loc, View view, Type type) {
  auto splat = [&](Value &x) { x = vector::BroadcastOp::create(builder, loc, type, x); };
  llvm::for_each(view.sizes, splat);
  llvm::for_each(view.strides, splat);
  if (auto &pages = view.pages)
    for (Value *x : {&pages->rows, &pages->first, &pages->count, &pages->held, &pages->stride})
      splat(*x);
  return view;
}

Value Lowering::gatherElements(View view, Type element, ArrayRef<Value> indices) {
  auto shape = dyn_cast<VectorType>(indices.front().getType());
  if (shape)
    view = splatted(builder_, loc(), view, VectorType::get(shape.getShape(), builder_.getIndexType()));
  Value inside, distance;
  auto include = [&](Value further) {
    distance = distance ? Value(arith::AddIOp::create(builder_, loc(), distance, further)) : further;
  };
  LoweredLoops program(*this);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value at = index.getType() == view.sizes[dim].getType()
                   ? index
                   : arith::IndexCastOp::create(builder_, loc(), view.sizes[dim].getType(), index);
    const tile::IndexPlace place = program.placeOf(view, dim, at);
    inside = inside ? Value(arith::AndIOp::create(builder_, loc(), inside, place.isInside)) : place.isInside;
    if (place.toPage)
      include(place.toPage);
    include(place.distance);
  }
  Type type = memoryType(element);
  if (shape) {
    auto vectorType = VectorType::get(shape.getShape(), type);
    Value zeros = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(vectorType));
    return vector::GatherOp::create(builder_, loc(), vectorType, view.flat, ValueRange{view.base}, distance, inside,
                                    zeros);
  }
  Value where = arith::AddIOp::create(builder_, loc(), view.base, distance);
  auto load = [&](OpBuilder &b, Location loc) {
    scf::YieldOp::create(b, loc, Value(memref::LoadOp::create(b, loc, view.flat, ValueRange{where})));
  };
  auto zero = [&](OpBuilder &b, Location loc) {
    scf::YieldOp::create(b, loc, Value(arith::ConstantOp::create(b, loc, b.getZeroAttr(type))));
  };
  return scf::IfOp::create(builder_, loc(), inside, load, zero).getResult(0);
}

void Lowering::lowerScalarGather(tile::GatherOp gather) {
  Type type = gather.getType();
  Value value = gatherElements(views_.lookup(gather.getView()), type, scalars(gather.getIndices()));
  scalars_.map(gather.getResult(), widen(builder_, loc(), value, type));
}

void Lowering::lowerGather(tile::GatherOp gather) {
  if (!tileType(gather.getResult()))
    return lowerScalarGather(gather);
  auto type = tileType(gather.getResult());
  Buffer target = bufferFor(gather);
  int vectorDim = static_cast<int>(target.contiguousDim(type.getRank()));
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Nest nest = openNest(type.getShape(), vectorDim);
  SmallVector<Value> indices;
  for (Value tile : gather.getIndices())
    indices.push_back(element(nest, tile, nest.position, vectorDim).value);
  builder_.setInsertionPoint(nest.before.back());
  Value value = gatherElements(views_.lookup(gather.getView()), type.getElementType(), indices);
  value = widen(builder_, loc(), value, type.getElementType());
  SmallVector<Value, 4> at = llvm::map_to_vector<4>(nest.position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(at.begin(), at.end());
  vector::StoreOp::create(builder_, loc(), value, target.memory, at);
  builder_.restoreInsertionPoint(after);
  buffers_[gather.getResult()] = target;
}

} // namespace tegula::cpu
