// SPDX-License-Identifier: MIT
// Tests the dtype and shape of operations.
#include "recorded.h"

#include <limits>

using namespace tegula;

namespace {

struct Described {
  DType dtype;
  Shape shape;
  bool operator==(const Described &) const = default;
};

void PrintTo(const Described &described, std::ostream *out) {
  *out << toString(described.dtype) << " [";
  for (int64_t size : described.shape)
    *out << size << " ";
  *out << "]";
}

/// The inputs of `make`: tiles of every type, and scalars.
struct Inputs {
  Value f, h, b, i, l, s, m; // f32, f16, bf16, i32, i64, i8 and i1 [4, 8]
  Value scalar, count, position;
};

template <class Make> Described typeOf(Make make) {
  Described described{};
  auto kernel = [&](View f, View h, View b, View i, View l, View s, View out, Value scalar, Value count) {
    Shape shape = {4, 8};
    Inputs inputs{f.load(0, shape),     h.load(0, shape), b.load(0, shape),
                  i.load(0, shape),     l.load(0, shape), s.load(0, shape),
                  f.load(0, shape) > 0, scalar,           count,
                  programId()};
    Value result = make(inputs);
    described = {result.dtype(), result.shape()};
    if (result.shape().size() == 2)
      out.store(0, result.dtype() == DType::i1 ? cast(f32, result) : cast(f32, result));
  };
  auto program = record("types", kernel, TensorArg{"f", f32, 2}, TensorArg{"h", f16, 2}, TensorArg{"b", bf16, 2},
                        TensorArg{"i", i32, 2}, TensorArg{"l", i64, 2}, TensorArg{"s", i8, 2}, TensorArg{"out", f32, 2},
                        ScalarArg{"scalar", f32}, ScalarArg{"count", i32});
  EXPECT_TRUE(program) << program.status().message();
  return described;
}

const Shape kTile = {4, 8};

TEST(Types, ArithmeticWidensNarrowFloats) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.h + in.h; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.b * in.h; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return -in.b; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return exp(in.b); }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.b * 2; }), (Described{f32, kTile}));
}

TEST(Types, IntegersWidenAndMeetFloatsInF32) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.i + in.l; }), (Described{i64, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.s + in.s; }), (Described{i32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.i * in.f; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.position * in.f; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return sqrt(in.i); }), (Described{f32, kTile}));
}

TEST(Types, PositionsTakeTheTypeOfIntegerTiles) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.position + in.i; }), (Described{i32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.l - in.position; }), (Described{i64, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.position + in.count; }), (Described{DType::index, {}}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.position * 3; }), (Described{DType::index, {}}));
}

TEST(Types, LiteralsTakeTheOtherOperandsType) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.i + 1; }), (Described{i32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.l * size_t(3); }), (Described{i64, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.f + 1; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.i * 0.5f; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.m & true; }), (Described{DType::i1, kTile}));
}

TEST(Types, LiteralsAlone) {
  EXPECT_EQ(typeOf([](Inputs) { return fill({4, 8}, 1); }), (Described{i32, kTile}));
  EXPECT_EQ(typeOf([](Inputs) { return fill({4, 8}, 1.0); }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs) { return min(1, 2); }), (Described{i32, {}}));
  EXPECT_EQ(typeOf([](Inputs in) { return select(in.m, 1, 0.5); }), (Described{f32, kTile}));
}

TEST(Types, SelectKeepsNarrowTypes) {
  EXPECT_EQ(typeOf([](Inputs in) { return select(in.m, in.b, 0.0); }), (Described{bf16, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return select(in.m, in.b, in.h); }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return select(in.position > 3, in.s, in.s); }), (Described{i8, kTile}));
}

TEST(Types, ComparisonsGiveConditions) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.b < in.f; }), (Described{DType::i1, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.m == !in.m; }), (Described{DType::i1, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.scalar >= 1; }), (Described{DType::i1, {}}));
}

TEST(Types, CastGoesEverywhere) {
  const DType all[] = {f32, f16, bf16, i64, i32, i8, DType::index};
  for (DType from : all)
    for (DType to : all)
      EXPECT_EQ(typeOf([&](Inputs in) { return cast(to, cast(from, in.f)); }), (Described{to, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return cast(DType::index, in.m); }), (Described{DType::index, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return cast(bf16, in.m); }), (Described{bf16, kTile}));
}

TEST(Types, DotAndReductions) {
  EXPECT_EQ(typeOf([](Inputs in) { return dot(in.b, transpose(in.b)); }), (Described{f32, {4, 4}}));
  EXPECT_EQ(typeOf([](Inputs in) { return dot(in.h, transpose(in.h), 0); }), (Described{f32, {4, 4}}));
  EXPECT_EQ(typeOf([](Inputs in) { return rowMax(in.b); }), (Described{f32, {4}}));
  EXPECT_EQ(typeOf([](Inputs in) { return reduceSum(in.i, 0); }), (Described{i32, {8}}));
  EXPECT_EQ(typeOf([](Inputs in) { return reduceMin(in.s, 1); }), (Described{i32, {4}}));
  EXPECT_EQ(typeOf([](Inputs in) { return reduceSum(rowSum(in.f), 0); }), (Described{f32, {1}}));
}

TEST(Broadcasting, DimensionsOfSizeOneRepeat) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.f - asColumn(rowMax(in.f)); }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs) { return asColumn(iota(4)) + asRow(iota(8)); }), (Described{i32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return select(asRow(iota(8)) < 3, in.f, 0.0); }), (Described{f32, kTile}));
}

TEST(Broadcasting, ScalarsAndSingleElementsRepeatAlongEverything) {
  EXPECT_EQ(typeOf([](Inputs in) { return in.scalar * in.b; }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return in.f * iota(1); }), (Described{f32, kTile}));
  EXPECT_EQ(typeOf([](Inputs in) { return iota(1) * in.scalar + in.f; }), (Described{f32, kTile}));
}

TEST(Constants, AreTheShortestThatRoundTrips) {
  auto constantText = [](double value, DType dtype) {
    return textOf([&](View, View out) { out.store(0, cast(f32, constant(dtype, value))); });
  };
  const double infinity = std::numeric_limits<double>::infinity();
  expectContains(constantText(0.1, f32), "arith.constant 0.1 : f32");
  expectContains(constantText(1, f32), "arith.constant 1.0 : f32");
  expectContains(constantText(-0.0, f32), "arith.constant -0.0 : f32");
  expectContains(constantText(1e-30, f32), "arith.constant 1.0e-30 : f32");
  expectContains(constantText(1.5e300, f32), "arith.constant 0x7F800000 : f32");
  expectContains(constantText(-infinity, f32), "arith.constant 0xFF800000 : f32");
  expectContains(constantText(std::numeric_limits<double>::quiet_NaN(), f32), "arith.constant 0x7FC00000 : f32");
  expectContains(constantText(-infinity, bf16), "arith.constant 0xFF80 : bf16");
  expectContains(constantText(70000, f16), "arith.constant 0x7C00 : f16");
  expectContains(constantText(-5, i64), "arith.constant -5 : i64");
  expectContains(constantText(1, DType::i1), "arith.constant true");
}

TEST(Store, RoundsToTheViewsElementType) {
  expectContains(textOf([](View x, View out) { out.store(0, x.load(0, {4}) * 2); }, bf16),
                 "arith.truncf %4 : tensor<4xf32> to tensor<4xbf16>");
  expectContains(textOf([](View, View out) { out.store(0, iota(4)); }, i64), "arith.extsi");
  expectContains(textOf([](View, View out) { out.store(0, programId()); }, i32), "arith.index_cast");
}

TEST(Store, LiteralsTakeTheViewsTypeAndRank) {
  expectContains(textOf([](View, View out) { out.store(0, 1); }, f16, 2),
                 "arith.constant dense<1.0> : tensor<1x1xf16>");
}

} // namespace
