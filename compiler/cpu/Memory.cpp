// SPDX-License-Identifier: MIT
// Views, and what moves between them and tiles.
#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

//===-- Views ------------------------------------------------------------------------------------------------------===//

ViewParts Lowering::kernelArgument(Value base, int64_t rank, int64_t firstWord) {
  ViewParts view;
  auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(base.getType()).getElementType());
  Value endless = index(std::numeric_limits<int64_t>::max());
  view.flat = memref::ReinterpretCastOp::create(builder_, loc(), type, base, /*offset=*/OpFoldResult(builder_.getIndexAttr(0)),
                                                ArrayRef<OpFoldResult>{endless},
                                                ArrayRef<OpFoldResult>{builder_.getIndexAttr(1)});
  view.offset = index(0);
  for (int64_t dim = 0; dim < rank; ++dim) {
    view.sizes.push_back(arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), word(firstWord + dim)));
    view.strides.push_back(
        arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), word(firstWord + rank + dim)));
  }
  return view;
}

ViewParts Lowering::slice(tile::SliceOp op) {
  ViewParts view = views_.lookup(op.getView());
  size_t fixed = op.getIndices().size();
  Value inside;
  for (auto [dim, original] : llvm::enumerate(op.getIndices())) {
    Value at = scalars_.lookup(original);
    // Unsigned: a negative index is a huge one.
    Value fits = arith::CmpIOp::create(builder_, loc(), arith::CmpIPredicate::ult, at, view.sizes[dim]);
    inside = inside ? Value(arith::AndIOp::create(builder_, loc(), inside, fits)) : fits;
    Value distance = arith::MulIOp::create(builder_, loc(), at, view.strides[dim]);
    view.offset = arith::AddIOp::create(builder_, loc(), view.offset, distance);
  }
  view.sizes.erase(view.sizes.begin(), view.sizes.begin() + fixed);
  view.strides.erase(view.strides.begin(), view.strides.begin() + fixed);
  if (inside)
    for (Value &size : view.sizes)
      size = arith::SelectOp::create(builder_, loc(), inside, size, index(0));
  return view;
}

//===-- A tile's window on a view ----------------------------------------------------------------------------------===//

/// Index arithmetic for the part of a view under one tile.
class MemoryEmitter {
public:
  MemoryEmitter(Lowering &lowering, Value view, ValueRange position, RankedTensorType type)
      : l(lowering), b(lowering.builder_), loc(lowering.loc()), view(lowering.views_.lookup(view)), type(type) {
    for (auto [dim, original] : llvm::enumerate(position)) {
      Value at = l.scalars_.lookup(original);
      Value size = l.index(type.getDimSize(dim)), zero = l.index(0);
      start.push_back(at);
      low.push_back(clamp(sub(zero, at), zero, size));
      high.push_back(clamp(sub(this->view.sizes[dim], at), zero, size));
    }
  }

  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value clamp(Value x, Value from, Value to) {
    return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, x, from), to);
  }

  /// Offset in elements of the tile's element `at`; a dimension without an index counts as at the tile's start.
  Value linear(ArrayRef<Value> at) {
    Value result = view.offset;
    for (size_t dim = 0; dim < at.size(); ++dim)
      result = add(result, mul(at[dim] ? add(start[dim], at[dim]) : start[dim], view.strides[dim]));
    return result;
  }

  Value inside(int64_t dim, Value at) {
    return both(compare(arith::CmpIPredicate::sge, at, low[dim]), compare(arith::CmpIPredicate::slt, at, high[dim]));
  }

  /// Whether the tile lies wholly inside the view.
  Value whole() {
    Value result;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value fits = both(compare(arith::CmpIPredicate::eq, low[dim], l.index(0)),
                        compare(arith::CmpIPredicate::eq, high[dim], l.index(type.getDimSize(dim))));
      result = result ? both(result, fits) : fits;
    }
    return result;
  }

  Value constant(int64_t value) { return l.index(value); }
  Value isContiguous(int64_t dim) { return compare(arith::CmpIPredicate::eq, view.strides[dim], l.index(1)); }

  /// Runs `body(index)` in a loop; the builder ends up behind it.
  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, from, to, l.index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar());
  }

  void ifTrue(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr) {
    auto region = [&](llvm::function_ref<void()> body) {
      return [this, body](OpBuilder &, Location) {
        b.setInsertionPoint(scf::YieldOp::create(b, loc));
        body();
      };
    };
    if (otherwise)
      scf::IfOp::create(b, loc, condition, region(then), region(otherwise));
    else
      scf::IfOp::create(b, loc, condition, region(then));
  }

  /// Loops over the valid part of every dimension but `inner`, then `body(indices)` with indices[inner] unset.
  void outerLoops(int64_t inner, llvm::function_ref<void(SmallVector<Value, 5> &)> body) {
    SmallVector<Value, 5> at(type.getRank());
    outerLoop(0, inner, at, body);
  }

  Lowering &l;
  OpBuilder &b;
  Location loc;
  ViewParts view;
  RankedTensorType type;
  SmallVector<Value, 5> start, low, high;

private:
  void outerLoop(int64_t dim, int64_t inner, SmallVector<Value, 5> &at,
                 llvm::function_ref<void(SmallVector<Value, 5> &)> body) {
    if (dim == type.getRank())
      return body(at);
    if (dim == inner)
      return outerLoop(dim + 1, inner, at, body);
    loop(low[dim], high[dim], 1, [&](Value i) {
      at[dim] = i;
      outerLoop(dim + 1, inner, at, body);
    });
  }
};

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

// Where the view is contiguous along the buffer's contiguous dimension, whole vectors are copied; the rest, and
// everything of a strided view, goes element by element. A tile at the edge is filled first.
void Lowering::lowerLoad(tile::LoadOp load) {
  auto type = tileType(load.getResult());
  Buffer target = bufferFor(load);
  buffers_[load.getResult()] = target;
  MemoryEmitter m(*this, load.getView(), load.getPosition(), type);
  auto bufferType = cast<MemRefType>(target.memory.getType());
  int64_t inner = target.contiguousDim(type.getRank());

  Value isEdge = arith::XOrIOp::create(
      builder_, loc(), m.whole(),
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
      Value value = vector::LoadOp::create(builder_, loc(), VectorType::get({lanes_}, memoryType(narrowType)), m.view.flat,
                                           ValueRange{m.add(row, x)});
      store(at, x, widen(builder_, loc(), value, narrowType));
    });
    m.loop(middle, m.high[inner], 1, [&](Value x) {
      Value where = m.add(row, m.mul(x, m.view.strides[inner]));
      Value value = memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
      store(at, x, widen(builder_, loc(), value, narrowType));
    });
  });
}

//===-- Locks ------------------------------------------------------------------------------------------------------===//

namespace {

constexpr int64_t kLocks = 1024;
constexpr llvm::StringLiteral kLockTable = "tegula_locks";

void declareLocks(func::FuncOp body) {
  auto module = body->getParentOfType<ModuleOp>();
  if (module.lookupSymbol(kLockTable))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = MemRefType::get({kLocks}, builder.getI32Type());
  auto zero = DenseElementsAttr::get(RankedTensorType::get({kLocks}, builder.getI32Type()), 0);
  memref::GlobalOp::create(builder, body.getLoc(), kLockTable, builder.getStringAttr("private"), type, zero,
                           /*constant=*/false, /*alignment=*/IntegerAttr());
}

} // namespace

/// Runs `body` while holding the lock of the view's row that starts at element `row`. One row always has the same lock,
/// whatever part of it an op adds to; x86 has no atomic addition of floats, let alone of vectors.
static void underLock(MemoryEmitter &m, func::FuncOp function, Value row, llvm::function_ref<void()> body) {
  declareLocks(function);
  OpBuilder &b = m.b;
  auto table = memref::GetGlobalOp::create(b, m.loc, MemRefType::get({kLocks}, b.getI32Type()), kLockTable);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, m.loc, m.view.flat);
  int64_t bytes = m.type.getElementTypeBitWidth() / 8;
  Value address = m.add(base, m.mul(row, m.constant(bytes)));
  Value upper = arith::ShRUIOp::create(b, m.loc, address, m.constant(15));
  Value lower = arith::ShRUIOp::create(b, m.loc, address, m.constant(5));
  Value lock = m.both(arith::XOrIOp::create(b, m.loc, upper, lower), m.constant(kLocks - 1));
  auto exchange = [&](int value) -> Value {
    Value word = arith::ConstantOp::create(b, m.loc, b.getI32IntegerAttr(value));
    return memref::AtomicRMWOp::create(b, m.loc, arith::AtomicRMWKind::assign, word, table, ValueRange{lock});
  };
  scf::WhileOp::create(
      b, m.loc, TypeRange{}, ValueRange{},
      [&](OpBuilder &, Location, ValueRange) {
        Value taken = m.compare(arith::CmpIPredicate::ne, exchange(1),
                                arith::ConstantOp::create(b, m.loc, b.getI32IntegerAttr(0)));
        scf::ConditionOp::create(b, m.loc, taken, ValueRange{});
      },
      [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(b, m.loc); });
  body();
  exchange(0);
}

//===-- Stores -----------------------------------------------------------------------------------------------------===//

namespace {

Value sum(OpBuilder &b, Location loc, Value x, Value y) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType())) ? Value(arith::AddFOp::create(b, loc, x, y))
                                                           : arith::AddIOp::create(b, loc, x, y);
}

} // namespace

// Store and atomic add. Vectors run along the dimension in which the tile's own elements are contiguous.
void Lowering::lowerStore(Operation *op, Value tile, Value view, ValueRange position) {
  auto type = tileType(tile);
  bool adds = isa<tile::AtomicAddOp>(op);
  int vectorDim = naturalVectorDim(tile);
  bool rowsUnderLock = adds && vectorDim == type.getRank() - 1;
  MemoryEmitter m(*this, view, position, type);
  Value contiguous = m.isContiguous(vectorDim);
  Type narrowType = type.getElementType();

  auto put = [&](Value where, Value value) {
    bool isVector = isa<VectorType>(value.getType());
    if (adds) {
      Value old = isVector ? Value(vector::LoadOp::create(builder_, loc(), cast<VectorType>(value.getType()),
                                                          m.view.flat, ValueRange{where}))
                           : memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
      value = sum(builder_, loc(), old, value);
    }
    value = narrow(builder_, loc(), value, narrowType);
    if (isVector)
      vector::StoreOp::create(builder_, loc(), value, m.view.flat, ValueRange{where});
    else
      memref::StoreOp::create(builder_, loc(), value, m.view.flat, ValueRange{where});
  };

  m.outerLoops(vectorDim, [&](SmallVector<Value, 5> &at) {
    Value row = m.linear(at);
    auto storeRow = [&] {
      m.loop(index(0), index(type.getDimSize(vectorDim)), lanes_, [&](Value x) {
        SmallVector<Value, 4> where(at.begin(), at.end());
        where[vectorDim] = x;
        Nest nest = here(where);
        Operation *end = nest.before[0];
        Value value = element(nest, tile, nest.position, vectorDim).value;
        builder_.setInsertionPoint(end);
        Value past = m.add(x, index(lanes_));
        Value fits = m.both(m.compare(arith::CmpIPredicate::sge, x, m.low[vectorDim]),
                            m.compare(arith::CmpIPredicate::sle, past, m.high[vectorDim]));
        m.ifTrue(
            m.both(fits, contiguous), [&] { put(m.add(row, x), value); },
            [&] {
              Value from = arith::MaxSIOp::create(builder_, loc(), x, m.low[vectorDim]);
              Value to = arith::MinSIOp::create(builder_, loc(), past, m.high[vectorDim]);
              m.loop(from, to, 1, [&](Value i) {
                Value lane = m.sub(i, x);
                Value scalar = vector::ExtractOp::create(builder_, loc(), value, ArrayRef<OpFoldResult>{lane});
                Value target = m.add(row, m.mul(i, m.view.strides[vectorDim]));
                if (!adds || rowsUnderLock)
                  return put(target, scalar);
                SmallVector<Value, 5> rowOfLane(at);
                rowOfLane[vectorDim] = i;
                Value inRow = m.mul(m.add(m.start.back(), rowOfLane.back()), m.view.strides.back());
                underLock(m, body_, m.sub(m.linear(rowOfLane), inRow), [&] { put(target, scalar); });
              });
            });
      });
    };
    if (!rowsUnderLock)
      return storeRow();
    underLock(m, body_, m.sub(row, m.mul(m.start.back(), m.view.strides.back())), storeRow);
  });
}

//===-- Gather and scatter -----------------------------------------------------------------------------------------===//

void Lowering::lowerGather(tile::GatherOp gather) {
  auto type = tileType(gather.getResult());
  ViewParts view = views_.lookup(gather.getView());
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
  Value value = vector::GatherOp::create(builder_, loc(), narrowVector, view.flat, ValueRange{view.offset}, where, mask,
                                         zeros);
  value = widen(builder_, loc(), value, type.getElementType());
  SmallVector<Value, 4> at = llvm::map_to_vector<4>(nest.position, [](const Element &e) { return e.value; });
  if (target.order == Order::Column)
    std::reverse(at.begin(), at.end());
  vector::StoreOp::create(builder_, loc(), value, target.memory, at);
  builder_.restoreInsertionPoint(after);
  buffers_[gather.getResult()] = target;
}

void Lowering::lowerScatterAdd(tile::ScatterAddOp scatter) {
  auto type = tileType(scatter.getTile());
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  MemoryEmitter m(*this, scatter.getView(), {}, type);
  Nest nest = openNest(type.getShape(), kScalar);
  Value value = element(nest, scatter.getTile(), nest.position, kScalar).value;
  SmallVector<Value> indices;
  for (Value tile : scatter.getIndices())
    indices.push_back(element(nest, tile, nest.position, kScalar).value);

  builder_.setInsertionPoint(nest.before.back());
  Value inside, row = m.view.offset, where = m.view.offset;
  for (auto [dim, at] : llvm::enumerate(indices)) {
    if (!at.getType().isIndex())
      at = arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), at);
    Value fits = m.compare(arith::CmpIPredicate::ult, at, m.view.sizes[dim]);
    inside = inside ? m.both(inside, fits) : fits;
    row = where;
    where = m.add(where, m.mul(at, m.view.strides[dim]));
  }
  m.ifTrue(inside, [&] {
    underLock(m, body_, row, [&] {
      Value old = memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
      memref::StoreOp::create(builder_, loc(), sum(builder_, loc(), old, value), m.view.flat, ValueRange{where});
    });
  });
  builder_.restoreInsertionPoint(after);
}

} // namespace tegula::cpu
