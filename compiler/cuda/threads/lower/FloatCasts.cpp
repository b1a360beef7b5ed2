// SPDX-License-Identifier: MIT
// Casts between floats. From sm_90 on, an instruction casts two e4m3 numbers. Other GPUs do it by arithmetic.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/tile/NarrowFloats.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static bool isE4m3(Type type) { return isa<Float8E4M3FNType>(type); }

/// Casts between two types of which LLVM knows both.
static Value castOne(Threads &t, Value x, Type to) {
  Type from = x.getType();
  if (from == to)
    return x;
  const unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits == toBits)
    return castOne(t, castOne(t, x, t.b.getF32Type()), to);
  return fromBits < toBits ? Value(arith::ExtFOp::create(t.b, to, x)) : Value(arith::TruncFOp::create(t.b, to, x));
}

/// Casts pairs of neighbours by one instruction each. A last element without a neighbour is its own.
static SmallVector<Value> castPairs(ValueRange elements, function_ref<std::pair<Value, Value>(Value, Value)> cast) {
  SmallVector<Value> results;
  for (size_t i = 0; i < elements.size(); i += 2) {
    auto [low, high] = cast(elements[i], elements[std::min(i + 1, elements.size() - 1)]);
    results.append({low, high});
  }
  results.truncate(elements.size());
  return results;
}

static SmallVector<Value> toE4m3(Threads &t, ValueRange elements) {
  Type f32 = t.b.getF32Type(), e4m3 = Float8E4M3FNType::get(t.b.getContext());
  auto wide = llvm::map_to_vector(elements, [&](Value x) { return castOne(t, x, f32); });
  if (t.arch() >= 90)
    return castPairs(wide, [&](Value low, Value high) { return t.gpu.toE4m3(low, high); });
  return llvm::map_to_vector(
      wide, [&](Value x) -> Value { return arith::BitcastOp::create(t.b, e4m3, tile::toE4m3(t.b, t.b.getLoc(), x)); });
}

/// Returns f16 or f32 numbers, which have the same values.
static SmallVector<Value> fromE4m3(Threads &t, ValueRange elements) {
  if (t.arch() >= 90)
    return castPairs(elements, [&](Value low, Value high) { return t.gpu.fromE4m3(low, high); });
  return llvm::map_to_vector(elements, [&](Value x) -> Value {
    return tile::fromE4m3(t.b, t.b.getLoc(), arith::BitcastOp::create(t.b, t.b.getI8Type(), x));
  });
}

SmallVector<Value> cuda::castFloats(Threads &t, ValueRange elements, Type to) {
  Type from = elements.front().getType();
  if (from == to)
    return llvm::to_vector(elements);
  if (isE4m3(to))
    return toE4m3(t, elements);
  SmallVector<Value> known = isE4m3(from) ? fromE4m3(t, elements) : llvm::to_vector(elements);
  return llvm::map_to_vector(known, [&](Value x) { return castOne(t, x, to); });
}
