// SPDX-License-Identifier: MIT
// Integer code of the program that a target emits. Constants are folded.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::tile {

class Scalars {
public:
  using Value = mlir::Value;
  using Compare = mlir::arith::CmpIPredicate;

  /// Emits at the builder's insertion point.
  explicit Scalars(mlir::ImplicitLocOpBuilder &b) : b_(b) {}

  Value constant(mlir::Type type, int64_t value) {
    return mlir::arith::ConstantOp::create(b_, b_.getIntegerAttr(type, value));
  }
  Value i1(bool value) { return constant(b_.getI1Type(), value); }
  Value i32(int64_t value) { return constant(b_.getI32Type(), value); }
  Value i64(int64_t value) { return constant(b_.getI64Type(), value); }
  Value index(int64_t value) { return constant(b_.getIndexType(), value); }

  Value add(Value x, Value y) { return b_.createOrFold<mlir::arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return b_.createOrFold<mlir::arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return b_.createOrFold<mlir::arith::MulIOp>(x, y); }
  Value add(Value x, int64_t y) { return add(x, constant(x.getType(), y)); }
  Value mul(Value x, int64_t y) { return mul(x, constant(x.getType(), y)); }
  Value bitXor(Value x, Value y) { return b_.createOrFold<mlir::arith::XOrIOp>(x, y); }
  Value bitOr(Value x, Value y) { return b_.createOrFold<mlir::arith::OrIOp>(x, y); }
  /// Quotient and remainder. `x` must not be negative.
  Value div(Value x, int64_t y) { return b_.createOrFold<mlir::arith::DivUIOp>(x, constant(x.getType(), y)); }
  Value rem(Value x, int64_t y) { return b_.createOrFold<mlir::arith::RemUIOp>(x, constant(x.getType(), y)); }
  Value div(Value x, Value y) { return b_.createOrFold<mlir::arith::DivUIOp>(x, y); }
  Value rem(Value x, Value y) { return b_.createOrFold<mlir::arith::RemUIOp>(x, y); }

  Value compare(Compare predicate, Value x, Value y) { return b_.createOrFold<mlir::arith::CmpIOp>(predicate, x, y); }
  Value compare(Compare predicate, Value x, int64_t y) { return compare(predicate, x, constant(x.getType(), y)); }
  /// Returns the conjunction of two conditions; null stands for true.
  Value both(Value x, Value y) { return !x ? y : !y ? x : b_.createOrFold<mlir::arith::AndIOp>(x, y); }
  Value select(Value condition, Value x, Value y) { return b_.createOrFold<mlir::arith::SelectOp>(condition, x, y); }
  /// Smaller and larger of two signed integers.
  Value min(Value x, Value y) { return b_.createOrFold<mlir::arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return b_.createOrFold<mlir::arith::MaxSIOp>(x, y); }
  /// Returns the smaller of two integers, of which a negative one counts as huge.
  Value minUnsigned(Value x, Value y) { return b_.createOrFold<mlir::arith::MinUIOp>(x, y); }
  /// Returns min(max(x, 0), limit) of a signed `x`.
  Value clamp(Value x, int64_t limit) {
    Value atLeast = max(x, constant(x.getType(), 0));
    return min(atLeast, constant(x.getType(), limit));
  }

  /// Returns an i1: true if all `extent` elements from `at` on are inside `size`. `size` and `at` are signed and of one
  /// type.
  Value covers(Value size, Value at, int64_t extent) {
    Value isNotBefore = compare(Compare::sge, at, 0);
    Value end = add(at, extent);
    return both(isNotBefore, compare(Compare::sle, end, size));
  }

  /// Converts `x` to an integer type or index, by sign extension or truncation.
  Value cast(Value x, mlir::Type type) {
    if (x.getType() == type)
      return x;
    if (x.getType().isIndex() || type.isIndex())
      return b_.createOrFold<mlir::arith::IndexCastOp>(type, x);
    if (x.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      return b_.createOrFold<mlir::arith::ExtSIOp>(type, x);
    return b_.createOrFold<mlir::arith::TruncIOp>(type, x);
  }
  Value toI32(Value x) { return cast(x, b_.getI32Type()); }
  Value toI64(Value x) { return cast(x, b_.getI64Type()); }
  Value toIndex(Value x) { return cast(x, b_.getIndexType()); }

private:
  mlir::ImplicitLocOpBuilder &b_;
};

} // namespace tegula::tile
