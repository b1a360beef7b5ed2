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
  op.changeParts(s, view, [&](Value scalar) { return scalars_.lookup(scalar); });
  views_[op->getResult(0)] = view;
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

/// Returns the type of a matrix whose rows are contiguous, and lie anywhere.
static MemRefType rowsAnywhere(RankedTensorType type) {
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, {ShapedType::kDynamic, /*contiguous=*/1});
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

void Lowering::lowerLoad(tile::LoadOp load) {
  auto type = tileType(load.getResult());
  Buffer target = bufferFor(load);
  Window m(*this, load.getView(), load.getPosition(), type);
  if (!load->hasAttr(kAliasAttr)) {
    copyToBuffer(load, m, target);
    buffers_[load.getResult()] = target;
    return;
  }
  auto rows = [&](Value memory, Value offset, Value stride) {
    SmallVector<OpFoldResult> sizes{builder_.getIndexAttr(type.getDimSize(0)),
                                    builder_.getIndexAttr(type.getDimSize(1))};
    SmallVector<OpFoldResult> strides{stride, builder_.getIndexAttr(1)};
    return memref::ReinterpretCastOp::create(builder_, loc(), rowsAnywhere(type), memory, OpFoldResult(offset), sizes,
                                             strides);
  };
  auto branch = scf::IfOp::create(builder_, loc(), TypeRange{rowsAnywhere(type)}, m.both(m.whole(), m.isContiguous(1)),
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
  buffers_[load.getResult()] = {branch.getResult(0), Order::Row};
}

// If the view is contiguous along the buffer's contiguous dimension, whole vectors are copied. The rest of a row, and
// all elements of a strided view, are copied one by one. A tile that is partly outside the view is first filled with
// `fill`.
void Lowering::copyToBuffer(tile::LoadOp load, Window &m, const Buffer &target) {
  auto type = tileType(load.getResult());
  auto bufferType = cast<MemRefType>(target.memory.getType());
  int64_t inner = target.contiguousDim(type.getRank());

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
  Value vectorised = arith::SelectOp::create(builder_, loc(), m.isContiguous(inner), vectors, zero);
  Value middle = m.add(m.low[inner], vectorised);
  Type narrowType = type.getElementType();
  auto store = [&](SmallVector<Value, 5> at, Value x, Value value) {
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
      store(at, x, widen(builder_, loc(), value, narrowType));
    });
    m.loop(middle, m.high[inner], 1, [&](Value x) {
      Value where = m.add(row, m.mul(x, m.view.strides[inner]));
      Value value = memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
      store(at, x, widen(builder_, loc(), value, narrowType));
    });
  });
}

//===-- Gathers --------------------------------------------------------------------------------------------------===//

void Lowering::lowerScalarGather(tile::GatherOp gather) {
  View view = views_.lookup(gather.getView());
  Value inside, where = view.base;
  for (auto [dim, index] : llvm::enumerate(gather.getIndices())) {
    Value at = scalars_.lookup(index);
    if (!at.getType().isIndex())
      at = arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), at);
    Value fits = arith::CmpIOp::create(builder_, loc(), arith::CmpIPredicate::ult, at, view.sizes[dim]);
    inside = inside ? Value(arith::AndIOp::create(builder_, loc(), inside, fits)) : fits;
    where =
        arith::AddIOp::create(builder_, loc(), where, arith::MulIOp::create(builder_, loc(), at, view.strides[dim]));
  }
  Type narrow = gather.getType();
  auto load = [&](OpBuilder &b, Location loc) {
    scf::YieldOp::create(b, loc, Value(memref::LoadOp::create(b, loc, view.flat, ValueRange{where})));
  };
  auto zero = [&](OpBuilder &b, Location loc) {
    scf::YieldOp::create(b, loc, Value(arith::ConstantOp::create(b, loc, b.getZeroAttr(memoryType(narrow)))));
  };
  Value value = scf::IfOp::create(builder_, loc(), inside, load, zero).getResult(0);
  scalars_.map(gather.getResult(), widen(builder_, loc(), value, narrow));
}

void Lowering::lowerGather(tile::GatherOp gather) {
  if (!tileType(gather.getResult()))
    return lowerScalarGather(gather);
  auto type = tileType(gather.getResult());
  View view = views_.lookup(gather.getView());
  Buffer target = bufferFor(gather);
  int vectorDim = static_cast<int>(target.contiguousDim(type.getRank()));
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Nest nest = openNest(type.getShape(), vectorDim);
  auto i64Vector = VectorType::get({lanes_}, builder_.getIndexType());

  Value where, mask;
  for (auto [dim, indices] : llvm::enumerate(gather.getIndices())) {
    Value at = element(nest, indices, nest.position, vectorDim).value;
    builder_.setInsertionPoint(nest.before.back());
    if (at.getType() != i64Vector)
      at = arith::IndexCastOp::create(builder_, loc(), i64Vector, at);
    Value fits = arith::CmpIOp::create(builder_, loc(), arith::CmpIPredicate::ult, at, splat(view.sizes[dim]));
    Value distance = arith::MulIOp::create(builder_, loc(), at, splat(view.strides[dim]));
    mask = mask ? Value(arith::AndIOp::create(builder_, loc(), mask, fits)) : fits;
    where = where ? Value(arith::AddIOp::create(builder_, loc(), where, distance)) : distance;
  }
  auto narrowVector = VectorType::get({lanes_}, memoryType(type.getElementType()));
  Value zeros = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(narrowVector));
  Value value =
      vector::GatherOp::create(builder_, loc(), narrowVector, view.flat, ValueRange{view.base}, where, mask, zeros);
  value = widen(builder_, loc(), value, type.getElementType());
  SmallVector<Value, 4> at = llvm::map_to_vector<4>(nest.position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(at.begin(), at.end());
  vector::StoreOp::create(builder_, loc(), value, target.memory, at);
  builder_.restoreInsertionPoint(after);
  buffers_[gather.getResult()] = target;
}

} // namespace tegula::cpu
