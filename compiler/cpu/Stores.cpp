// SPDX-License-Identifier: MIT
// Stores to views and atomic additions to them.
#include "compiler/cpu/Window.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

//===-- Locks ----------------------------------------------------------------------------------------------------===//

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

/// Runs `body` while holding the lock of the view's row that starts at element `row`. A row has the same lock for all
/// ops, whichever part of it they add to. Locks are needed because x86 has no atomic addition of floats or vectors.
static void underLock(Window &m, func::FuncOp function, Value row, llvm::function_ref<void()> body) {
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

//===-- Stores ---------------------------------------------------------------------------------------------------===//

namespace {

Value sum(OpBuilder &b, Location loc, Value x, Value y) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType())) ? Value(arith::AddFOp::create(b, loc, x, y))
                                                           : arith::AddIOp::create(b, loc, x, y);
}

} // namespace

// Vectors run along the dimension in which the tile's own elements are contiguous.
void Lowering::lowerStore(Operation *op, Value tile, Value view, ValueRange position, Value condition) {
  auto type = tileType(tile);
  bool adds = isa<tile::AtomicAddOp>(op);
  int vectorDim = naturalVectorDim(tile);
  Window m(*this, view, position, type);
  bool rowsUnderLock = adds && vectorDim == type.getRank() - 1 && !m.view.isInPages(vectorDim);
  Value contiguous = m.isContiguous(vectorDim);
  Type narrowType = type.getElementType();

  auto put = [&](Value where, Value value, Value holds) {
    bool isVector = isa<VectorType>(value.getType());
    if (adds) {
      Value old = isVector ? Value(vector::LoadOp::create(builder_, loc(), cast<VectorType>(value.getType()),
                                                          m.view.flat, ValueRange{where}))
                           : memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
      value = sum(builder_, loc(), old, value);
    }
    value = narrow(builder_, loc(), value, narrowType);
    auto store = [&] { memref::StoreOp::create(builder_, loc(), value, m.view.flat, ValueRange{where}); };
    if (isVector && holds)
      vector::MaskedStoreOp::create(builder_, loc(), m.view.flat, ValueRange{where}, holds, value);
    else if (isVector)
      vector::StoreOp::create(builder_, loc(), value, m.view.flat, ValueRange{where});
    else if (holds)
      m.ifTrue(holds, store);
    else
      store();
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
        Value holds = condition ? element(nest, condition, nest.position, vectorDim).value : Value();
        builder_.setInsertionPoint(end);
        Value past = m.add(x, index(lanes_));
        Value fits = m.both(m.compare(arith::CmpIPredicate::sge, x, m.low[vectorDim]),
                            m.compare(arith::CmpIPredicate::sle, past, m.high[vectorDim]));
        m.ifTrue(
            m.both(fits, contiguous), [&] { put(m.add(row, x), value, holds); },
            [&] {
              Value from = arith::MaxSIOp::create(builder_, loc(), x, m.low[vectorDim]);
              Value to = arith::MinSIOp::create(builder_, loc(), past, m.high[vectorDim]);
              m.loop(from, to, 1, [&](Value i) {
                Value lane = m.sub(i, x);
                auto ofLane = [&](Value vector) -> Value {
                  return vector::ExtractOp::create(builder_, loc(), vector, ArrayRef<OpFoldResult>{lane});
                };
                Value scalar = ofLane(value), holdsThere = holds ? ofLane(holds) : Value();
                m.element(at, vectorDim, row, i, [&](Value target) {
                  if (!adds || rowsUnderLock)
                    return put(target, scalar, holdsThere);
                  Value rowOfLane = m.startOfRow(target, at.back() ? at.back() : i);
                  underLock(m, body_, rowOfLane, [&] { put(target, scalar, holdsThere); });
                });
              });
            });
      });
    };
    if (!rowsUnderLock)
      return storeRow();
    underLock(m, body_, m.sub(row, m.mul(m.start.back(), m.view.strides.back())), storeRow);
  });
}

namespace {
/// The counter at a place of a view of rank 1.
struct Counter {
  Counter(Window &m, Value place)
      : inside(m.both(m.compare(arith::CmpIPredicate::sge, place, m.constant(0)),
                      m.compare(arith::CmpIPredicate::slt, place, m.view.sizes.front()))),
        at(m.add(m.view.base, m.mul(place, m.view.strides.front()))) {}
  Value inside, at;
};
} // namespace

/// Lowers an addition that waits for its turn. A program instance is one thread here.
void Lowering::lowerAddInTurn(tile::AtomicAddOp add) {
  Value turn = scalars_.lookup(add.getTurn());
  Window m(*this, add.getTurns(), {}, tileType(add.getTile()));
  const Counter counter(m, scalars_.lookup(add.getPlace()));
  auto update = [&](arith::AtomicRMWKind kind, Value with) -> Value {
    return memref::AtomicRMWOp::create(builder_, loc(), kind, with, m.view.flat, ValueRange{counter.at});
  };
  m.ifTrue(counter.inside, [&] {
    Value zero = arith::ConstantOp::create(builder_, loc(), builder_.getI32IntegerAttr(0));
    scf::WhileOp::create(
        builder_, loc(), TypeRange{}, ValueRange{},
        [&](OpBuilder &, Location, ValueRange) {
          Value isEarly = m.compare(arith::CmpIPredicate::slt, update(arith::AtomicRMWKind::addi, zero), turn);
          scf::ConditionOp::create(builder_, loc(), isEarly, ValueRange{});
        },
        [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(builder_, loc()); });
  });
  lowerStore(add, add.getTile(), add.getView(), add.getPosition());
  m.ifTrue(counter.inside, [&] { update(arith::AtomicRMWKind::maxs, scalars_.lookup(add.getNext())); });
}

void Lowering::lowerScatter(Operation *op, Value tile, Value view, ValueRange indexTiles) {
  auto type = tileType(tile);
  OpBuilder::InsertPoint after = builder_.saveInsertionPoint();
  Window m(*this, view, {}, type);
  Nest nest = openNest(type.getShape(), kScalar);
  Value value = element(nest, tile, nest.position, kScalar).value;
  SmallVector<Value> indices;
  for (Value index : indexTiles)
    indices.push_back(element(nest, index, nest.position, kScalar).value);

  builder_.setInsertionPoint(nest.before.back());
  Value inside, row = m.view.base, where = m.view.base;
  LoweredLoops program(*this);
  for (auto [dim, at] : llvm::enumerate(indices)) {
    if (!at.getType().isIndex())
      at = arith::IndexCastOp::create(builder_, loc(), builder_.getIndexType(), at);
    const tile::IndexPlace place = program.placeOf(m.view, dim, at);
    inside = inside ? m.both(inside, place.isInside) : place.isInside;
    row = place.toPage ? m.add(where, place.toPage) : where;
    where = m.add(row, place.distance);
  }
  auto store = [&](Value value) { memref::StoreOp::create(builder_, loc(), value, m.view.flat, ValueRange{where}); };
  auto add = [&] {
    Value old = memref::LoadOp::create(builder_, loc(), m.view.flat, ValueRange{where});
    store(sum(builder_, loc(), old, value));
  };
  m.ifTrue(inside, [&] {
    if (isa<tile::ScatterAddOp>(op))
      underLock(m, body_, row, add);
    else
      store(narrow(builder_, loc(), value, type.getElementType()));
  });
  builder_.restoreInsertionPoint(after);
}

/// Counts and wraps around in one atomic step, so that instances may arrive again while the last one goes on.
void Lowering::lowerArrive(tile::ArriveOp arrive) {
  Window m(*this, arrive.getCounters(), {}, RankedTensorType::get({1}, builder_.getI32Type()));
  const Counter counter(m, scalars_.lookup(arrive.getPlace()));
  auto number = [&](int value) -> Value {
    return arith::ConstantOp::create(builder_, loc(), builder_.getI32IntegerAttr(value));
  };
  Value last = arith::SubIOp::create(builder_, loc(), scalars_.lookup(arrive.getCount()), number(1));
  auto isLast = [&](Value before) { return m.compare(arith::CmpIPredicate::sge, before, last); };
  auto count = [&](OpBuilder &, Location) {
    auto update = memref::GenericAtomicRMWOp::create(builder_, loc(), m.view.flat, ValueRange{counter.at});
    builder_.setInsertionPointToStart(&update.body().front());
    Value before = update.getCurrentValue(), more = arith::AddIOp::create(builder_, loc(), before, number(1));
    Value after = arith::SelectOp::create(builder_, loc(), isLast(before), number(0), more);
    memref::AtomicYieldOp::create(builder_, loc(), after);
    builder_.setInsertionPointAfter(update);
    scf::YieldOp::create(builder_, loc(), isLast(update.getResult()));
  };
  auto none = [&](OpBuilder &, Location) { scf::YieldOp::create(builder_, loc(), m.isFalse()); };
  auto branch = scf::IfOp::create(builder_, loc(), counter.inside, count, none);
  scalars_.map(arrive.getResult(), branch.getResult(0));
}

void Lowering::lowerNextWork(tile::NextWorkOp work) {
  View view = views_.lookup(work.getCounter());
  Value one = arith::ConstantOp::create(builder_, loc(), builder_.getI32IntegerAttr(1));
  Value number =
      memref::AtomicRMWOp::create(builder_, loc(), arith::AtomicRMWKind::addi, one, view.flat, ValueRange{view.base});
  scalars_.map(work.getResult(), number);
}

} // namespace tegula::cpu
