// SPDX-License-Identifier: MIT
// Arithmetic on f32 numbers, their bits and integers, for formulas that are the same for scalars, vectors and tiles.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tegula::tile {

/// A builder of constants in the shape of one operand, and of arithmetic.
///
///   Formula m(builder, loc, x);
///   mlir::Value y = m.fma(x, x, m.f(1)); // x * x + 1
class Formula {
public:
  using Value = mlir::Value;

  Formula(mlir::OpBuilder &builder, mlir::Location loc, Value like)
      : builder_(builder), loc_(loc), floatType_(withElement(like.getType(), builder.getF32Type())),
        intType_(withElement(like.getType(), builder.getI32Type())),
        wideType_(withElement(like.getType(), builder.getI64Type())) {}

  Value f(float value) { return constant(builder_.getF32FloatAttr(value), floatType_); }
  Value i(int32_t value) { return constant(builder_.getI32IntegerAttr(value), intType_); }

  Value fma(Value a, Value b, Value c) { return mlir::math::FmaOp::create(builder_, loc_, a, b, c); }
  Value add(Value a, Value b) { return mlir::arith::AddFOp::create(builder_, loc_, a, b); }
  Value mul(Value a, Value b) { return mlir::arith::MulFOp::create(builder_, loc_, a, b); }
  Value sub(Value a, Value b) { return mlir::arith::SubFOp::create(builder_, loc_, a, b); }
  Value div(Value a, Value b) { return mlir::arith::DivFOp::create(builder_, loc_, a, b); }
  Value neg(Value a) { return mlir::arith::NegFOp::create(builder_, loc_, a); }
  Value abs(Value a) { return mlir::math::AbsFOp::create(builder_, loc_, a); }
  /// Returns the polynomial in x with these coefficients, the highest first, by Horner's rule.
  Value polynomial(Value x, std::initializer_list<float> coefficients) {
    Value p = f(*coefficients.begin());
    for (const float *c = coefficients.begin() + 1; c != coefficients.end(); ++c)
      p = fma(p, x, f(*c));
    return p;
  }

  Value addi(Value a, Value b) { return mlir::arith::AddIOp::create(builder_, loc_, a, b); }
  Value subi(Value a, Value b) { return mlir::arith::SubIOp::create(builder_, loc_, a, b); }
  Value andi(Value a, Value b) { return mlir::arith::AndIOp::create(builder_, loc_, a, b); }
  Value ori(Value a, Value b) { return mlir::arith::OrIOp::create(builder_, loc_, a, b); }
  Value xori(Value a, Value b) { return mlir::arith::XOrIOp::create(builder_, loc_, a, b); }
  Value shl(Value a, int bits) { return mlir::arith::ShLIOp::create(builder_, loc_, a, i(bits)); }
  Value shr(Value a, int bits) { return shr(a, i(bits)); }
  Value shr(Value a, Value bits) { return mlir::arith::ShRUIOp::create(builder_, loc_, a, bits); }
  Value shrSigned(Value a, int bits) { return mlir::arith::ShRSIOp::create(builder_, loc_, a, i(bits)); }
  /// Returns the product of two unsigned i32, an i64.
  Value mulWide(Value a, Value b) { return mlir::arith::MulIOp::create(builder_, loc_, widened(a), widened(b)); }
  Value lowHalf(Value wide) { return mlir::arith::TruncIOp::create(builder_, loc_, intType_, wide); }
  Value highHalf(Value wide) {
    return lowHalf(
        mlir::arith::ShRUIOp::create(builder_, loc_, wide, constant(builder_.getI64IntegerAttr(32), wideType_)));
  }
  Value bits(Value x) { return mlir::arith::BitcastOp::create(builder_, loc_, intType_, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(builder_, loc_, floatType_, x); }
  Value toInt(Value x) { return mlir::arith::FPToSIOp::create(builder_, loc_, intType_, x); }
  Value toFloat(Value x) { return mlir::arith::SIToFPOp::create(builder_, loc_, floatType_, x); }

  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(builder_, loc_, condition, a, b);
  }
  Value less(Value a, Value b) { return compare(mlir::arith::CmpFPredicate::OLT, a, b); }
  Value equal(Value a, Value b) { return compare(mlir::arith::CmpFPredicate::OEQ, a, b); }
  Value isNan(Value a) { return compare(mlir::arith::CmpFPredicate::UNO, a, a); }
  Value isZero(Value word) {
    return mlir::arith::CmpIOp::create(builder_, loc_, mlir::arith::CmpIPredicate::eq, word, i(0));
  }
  Value both(Value a, Value b) { return andi(a, b); }
  Value either(Value a, Value b) { return ori(a, b); }
  Value isNot(Value a) { return xori(a, constant(builder_.getBoolAttr(true), a.getType())); }

private:
  static mlir::Type withElement(mlir::Type like, mlir::Type element) {
    auto shaped = mlir::dyn_cast<mlir::ShapedType>(like);
    return shaped ? mlir::Type(shaped.clone(element)) : element;
  }
  Value widened(Value x) { return mlir::arith::ExtUIOp::create(builder_, loc_, wideType_, x); }
  Value constant(mlir::TypedAttr scalar, mlir::Type type) {
    auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
    return mlir::arith::ConstantOp::create(
        builder_, loc_, shaped ? mlir::cast<mlir::TypedAttr>(mlir::DenseElementsAttr::get(shaped, scalar)) : scalar);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpFOp::create(builder_, loc_, predicate, a, b);
  }

  mlir::OpBuilder &builder_;
  mlir::Location loc_;
  mlir::Type floatType_, intType_, wideType_;
};

} // namespace tegula::tile
