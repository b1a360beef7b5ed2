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
  View view;
  view.element = type.getElementType();
  view.base = words.front();
  view.unit = view.element.getIntOrFloatBitWidth() / 8;
  for (Value size : words.slice(1, type.getRank()))
    view.sizes.push_back(t.s.toIndex(size));
  for (Value stride : words.slice(1 + type.getRank(), type.getRank()))
    view.strides.push_back(t.s.toIndex(stride));
  t.define(parameter, view);
}

static void lower(Threads &t, tile::ProgramIdOp op) {
  t.define(op.getResult(), t.s.toIndex(t.gpu.program(op.getAxis())));
}

static void lower(Threads &t, tile::NumProgramsOp op) {
  t.define(op.getResult(), t.s.toIndex(t.gpu.programs(op.getAxis())));
}

static void lower(Threads &t, tile::DimOp op) { t.define(op.getResult(), t.view(op.getView()).sizes[op.getAxis()]); }

void cuda::lowerView(Threads &t, tile::ViewOpInterface op) {
  View view = t.view(op.getViewSource());
  ThreadProgram program(t);
  op.changeParts(t.s, view, program);
  t.define(op->getResult(0), view);
}

void cuda::addViewLowerings(Lowerings &known) {
  known.add<tile::ProgramIdOp, tile::NumProgramsOp, tile::DimOp>([](Threads &t, auto op) { return lower(t, op); });
}
