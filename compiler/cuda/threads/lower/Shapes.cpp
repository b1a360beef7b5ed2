// SPDX-License-Identifier: MIT
// Lowering of constants, of positions, and of ops that change a tile's shape without moving elements between threads.
#include "compiler/cuda/threads/lower/Lower.h"

#include <map>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static LogicalResult lower(Threads &t, arith::ConstantOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile) {
    t.define(op, t.b.clone(*op)->getResult(0));
    return success();
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op.emitError("only tiles of one repeated constant can be lowered to threads");
  Value element = arith::ConstantOp::create(t.b, splat.getSplatValue<TypedAttr>());
  t.define(op, SmallVector<Value>(registerCount(tile), element));
  return success();
}

static void lower(Threads &t, tile::IotaOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  Value origin = t.s.cast(t.place(tile).origin.front(), tile.getElementType());
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < registerCount(tile); ++reg)
    registers.push_back(t.s.add(origin, registerOffset(tile, reg).front()));
  t.define(op, registers);
}

/// Recomputes the thread's coordinates for an integer tile. Few tiles compare such positions with limits, so the
/// coordinates do not stay in registers for it.
static void lower(Threads &t, sm::LinearOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  const bool isFloat = tile.getElementType().isF32();
  auto sum = [&](Value a, Value b) -> Value {
    if (isFloat)
      return arith::AddFOp::create(t.b, a, b);
    return arith::AddIOp::create(t.b, a, b, arith::IntegerOverflowFlags::nsw);
  };
  auto number = [&](int64_t x) -> TypedAttr {
    if (isFloat)
      return t.b.getF32FloatAttr(static_cast<float>(x));
    return t.b.getI32IntegerAttr(static_cast<int32_t>(x));
  };
  Value steps = t.s.i32(0);
  for (auto [origin, step] : llvm::zip_equal((isFloat ? t.place(tile) : t.recomputePlace(tile)).origin, op.getSteps()))
    steps = t.s.add(steps, t.s.mul(origin, step));
  if (isFloat)
    steps = arith::SIToFPOp::create(t.b, tile.getElementType(), steps);
  Value first = sum(t.scalar(op.getFirst()), steps);
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < registerCount(tile); ++reg) {
    int64_t distance = 0;
    for (auto [offset, step] : llvm::zip_equal(registerOffset(tile, reg), op.getSteps()))
      distance += offset * step;
    registers.push_back(sum(first, arith::ConstantOp::create(t.b, number(distance))));
  }
  t.define(op, registers);
}

static void lower(Threads &t, sm::OpaqueOp op) { t.define(op, t.opaque(t.scalar(op.getSource()))); }

/// The elements that a thread holds, by what registers contribute to their coordinates.
using Held = std::map<sm::Coordinates, Value>;
using ToSource = function_ref<sm::Coordinates(const sm::Coordinates &)>;

/// Defines `result`: its element at x is the one at `toSource(x)`, which the same thread must hold.
static LogicalResult pick(Threads &t, const Held &held, Value result, ToSource toSource) {
  auto to = cast<RankedTensorType>(result.getType());
  SmallVector<Value> registers;
  for (unsigned reg = 0; reg < registerCount(to); ++reg) {
    auto found = held.find(toSource(registerOffset(to, reg)));
    if (found == held.end())
      return result.getDefiningOp()->emitError("elements would change threads");
    registers.push_back(found->second);
  }
  t.define(result, registers);
  return success();
}

/// Defines `result` by the elements of `source`.
static LogicalResult pick(Threads &t, Value source, Value result, ToSource toSource) {
  Held held;
  for (auto [reg, element] : llvm::enumerate(t.registers(source)))
    held.try_emplace(registerOffset(cast<RankedTensorType>(source.getType()), reg), element);
  return pick(t, held, result, toSource);
}

static LogicalResult lower(Threads &t, tile::BroadcastOp op) {
  auto from = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!from) {
    unsigned count = registerCount(cast<RankedTensorType>(op.getType()));
    t.define(op, SmallVector<Value>(count, t.scalar(op.getSource())));
    return success();
  }
  return pick(t, op.getSource(), op, [&](sm::Coordinates at) {
    for (unsigned dim = 0; dim < from.getRank(); ++dim)
      if (from.getDimSize(dim) == 1)
        at[dim] = 0;
    return at;
  });
}

static SmallVector<unsigned> nonUnitDims(RankedTensorType tile) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < tile.getRank(); ++dim)
    if (tile.getDimSize(dim) != 1)
      dims.push_back(dim);
  return dims;
}

static LogicalResult lower(Threads &t, tile::ReshapeOp op) {
  auto from = cast<RankedTensorType>(op.getSource().getType()), to = cast<RankedTensorType>(op.getType());
  SmallVector<unsigned> fromDims = nonUnitDims(from), toDims = nonUnitDims(to);
  bool onlyUnits =
      llvm::equal(fromDims, toDims, [&](unsigned f, unsigned t) { return from.getDimSize(f) == to.getDimSize(t); });
  if (!onlyUnits)
    return op.emitError("only dimensions of size 1 may come and go in registers");
  return pick(t, op.getSource(), op, [&](const sm::Coordinates &at) {
    sm::Coordinates source(from.getRank(), 0);
    for (auto [fromDim, toDim] : llvm::zip_equal(fromDims, toDims))
      source[fromDim] = at[toDim];
    return source;
  });
}

static LogicalResult lower(Threads &t, tile::TransposeOp op) {
  return pick(t, op.getSource(), op, [&](const sm::Coordinates &at) {
    sm::Coordinates source(at.size(), 0);
    for (auto [dim, sourceDim] : llvm::enumerate(op.getPermutation()))
      source[sourceDim] = at[dim];
    return source;
  });
}

static LogicalResult lower(Threads &t, tile::ColumnsOp op) {
  return pick(t, op.getSource(), op, [&](sm::Coordinates at) {
    at.back() = static_cast<int64_t>(op.getFirst() + op.getStep() * at.back());
    return at;
  });
}

static LogicalResult lower(Threads &t, tile::JoinOp op) {
  Held held;
  for (unsigned operand : {0, 1}) {
    const tile::ColumnRange range = op.rangeOf(operand);
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    for (auto [reg, element] : llvm::enumerate(t.registers(op->getOperand(operand)))) {
      sm::Coordinates at = registerOffset(type, reg);
      const bool isPadding = at.back() >= range.count;
      at.back() = range.first + range.step * at.back();
      if (!isPadding || operand == 1 || op.getInterleave())
        held.try_emplace(at, element);
    }
  }
  return pick(t, held, op, [](const sm::Coordinates &at) { return at; });
}

void cuda::addShapeLowerings(Lowerings &known) {
  known.add<arith::ConstantOp, tile::IotaOp, sm::LinearOp, sm::OpaqueOp, tile::BroadcastOp, tile::ReshapeOp,
            tile::TransposeOp, tile::ColumnsOp, tile::JoinOp>([](Threads &t, auto op) { return lower(t, op); });
}
