// SPDX-License-Identifier: MIT
// Lowering of parameters and of ops on views: tensors in global memory, as one thread sees them.
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static Value scalarOf(Threads &t, Type type, Value word) {
  auto floating = dyn_cast<FloatType>(type);
  if (!floating)
    return t.s.cast(word, type);
  Value bits = t.s.cast(word, t.b.getIntegerType(floating.getWidth()));
  return arith::BitcastOp::create(t.b, type, bits);
}

void cuda::defineParameter(Threads &t, Value parameter, ValueRange words) {
  auto type = dyn_cast<tile::ViewType>(parameter.getType());
  if (!type)
    return t.define(parameter, scalarOf(t, parameter.getType(), words.front()));
  View view{words.front(), {}, {}, type.getElementType()};
  for (Value size : words.slice(1, type.getRank()))
    view.sizes.push_back(t.s.toIndex(size));
  for (Value stride : words.slice(1 + type.getRank(), type.getRank()))
    view.strides.push_back(t.s.toIndex(stride));
  t.define(parameter, view);
}

static LogicalResult lower(Threads &t, tile::ProgramIdOp op) {
  t.define(op.getResult(), t.s.toIndex(t.gpu.program(op.getAxis())));
  return success();
}

static LogicalResult lower(Threads &t, tile::NumProgramsOp op) {
  t.define(op.getResult(), t.s.toIndex(t.gpu.programs(op.getAxis())));
  return success();
}

static LogicalResult lower(Threads &t, tile::DimOp op) {
  t.define(op.getResult(), t.view(op.getView()).sizes[op.getAxis()]);
  return success();
}

static LogicalResult lower(Threads &t, tile::SliceOp op) {
  View view = t.view(op.getView());
  unsigned fixed = op.getIndices().size();
  Value inside;
  for (unsigned dim = 0; dim < fixed; ++dim) {
    Value index = t.scalar(op.getIndices()[dim]);
    inside = t.s.both(inside, t.s.compare(Scalars::Compare::ult, index, view.sizes[dim]));
    Value elements = t.s.mul(index, view.strides[dim]);
    view.base = t.s.add(view.base, t.s.mul(t.s.toI64(elements), view.elementBytes()));
  }
  view.sizes.erase(view.sizes.begin(), view.sizes.begin() + fixed);
  view.strides.erase(view.strides.begin(), view.strides.begin() + fixed);
  for (Value &size : view.sizes)
    size = inside ? t.s.select(inside, size, t.s.index(0)) : size;
  t.define(op.getResult(), view);
  return success();
}

void cuda::addViewLowerings(Lowerings &known) {
  known.add<tile::ProgramIdOp, tile::NumProgramsOp, tile::DimOp, tile::SliceOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
