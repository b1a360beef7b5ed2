// SPDX-License-Identifier: MIT
// Products whose right operand the tensor cores cannot read as memory has it. A role of its own transposes small tiles,
// and the warps that compute transpose large ones. The results are those of double precision within the rounding of
// tf32.
#include "language/hopper.h"
#include "language/hopper_programs.h"
#include "sass/fences.h"
#include "support/missing_tool.h"

#include <gmock/gmock.h>

namespace tegula::language {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

const Schedule kSchedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load};

/// Tensor cores ignore the low 13 bits of both operands, which a factor of 2^-10 of each bounds.
constexpr double kRounding = 0x1p-9 + 0x1p-18;

void checkProduct(Array<float> &a, Array<float> &b, Array<float> &c) {
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      const auto [sum, magnitude] = productElement(a, b, i, j);
      ASSERT_NEAR(c(i, j), sum, magnitude * kRounding) << i << ", " << j;
    }
}

struct Product {
  Array<float> a, b, c;

  Product(int64_t m, int64_t n, int64_t k)
      : a(Array<float>::random({m, k}, 1)), b(Array<float>::random({k, n}, 2)), c({m, n}, 7.0f) {}

  void runAndCheck(const Expected<Program> &program, Grid grid) {
    ASSERT_TRUE(program.ok()) << program.status().message();
    OnDevice<float> on_a(a), on_b(b), on_c(c);
    launch(*program, grid, {on_a.ref(), on_b.ref(), on_c.ref()}, kSchedule);
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    checkProduct(a, b, c);
  }
};

TEST(Transpose, HasARoleOfItsOwn) {
  const Expected<Program> program = recordTf32Product(128, 128);
  EXPECT_THAT(textOf(*program, kSchedule, "roles"),
              AllOf(HasSubstr("transpose warps 2"), HasSubstr("from load to [transpose]"),
                    HasSubstr("from transpose to [compute]")));
  EXPECT_THAT(ptxOf(*program, kSchedule), AllOf(HasSubstr("m64n128k8.f32.tf32.tf32"), Not(HasSubstr(".trans"))));
}

TEST(Transpose, WholeTiles) { Product(128, 128, 64).runAndCheck(recordTf32Product(128, 128), {.x = 1, .y = 1}); }

TEST(Transpose, TilesThatEndOutside) {
  Product(136, 200, 72).runAndCheck(recordTf32Product(128, 128), {.x = 2, .y = 2});
}

TEST(Transpose, NarrowTiles) { Product(136, 72, 104).runAndCheck(recordTf32Product(128, 32), {.x = 2, .y = 3}); }

/// Columns that are no power of two: the layout reaches beyond the tile.
TEST(Transpose, TilesOf96Columns) { Product(136, 200, 72).runAndCheck(recordTf32Product(128, 96), {.x = 2, .y = 3}); }

TEST(Transpose, WideTilesAreTransposedByAllWarps) {
  EXPECT_THAT(textOf(*recordTf32Product(128, 256), kSchedule, "roles"), Not(HasSubstr("transpose warps")));
  Product(72, 264, 100).runAndCheck(recordTf32Product(128, 256), {.x = 1, .y = 2});
}

/// Rows of 65 elements keep TMA from addressing B: one warp copies the tiles.
TEST(Transpose, OfTilesThatAWarpCopies) {
  Product(136, 65, 70).runAndCheck(recordTf32Product(128, 64), {.x = 2, .y = 2});
}

/// The results go to memory by lanes, or by the adder, which is one more warp of the small roles' warpgroup.
TEST(Transpose, BeforeALoop) {
  for (bool by_adder : {false, true}) {
    Product p(200, 128, 32);
    p.c = Array<float>({200, 128}, 0.0f);
    Schedule schedule = kSchedule;
    schedule.add_by_tma = by_adder;
    OnDevice<float> on_a(p.a), on_b(p.b), on_c(p.c);
    launch(*recordTf32Rows(), {.x = 1}, {on_a.ref(), on_b.ref(), on_c.ref()}, schedule);
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    checkProduct(p.a, p.b, p.c);
  }
}

TEST(Transpose, InALoopOverDrawnWork) {
  Product p(520, 128, 96);
  Array<int32_t> counter({1}, 0);
  OnDevice<float> on_a(p.a), on_b(p.b), on_c(p.c);
  OnDevice<int32_t> on_counter(counter);
  launch(*recordDrawnTf32Product(), {.x = 2}, {on_a.ref(), on_b.ref(), on_c.ref(), on_counter.ref()}, kSchedule);
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  checkProduct(p.a, p.b, p.c);
}

TEST(Transpose, OfBothOperands) {
  Product p(128, 128, 72);
  for (int64_t i = 0; i < 128; ++i)
    for (int64_t k = 0; k < 72; ++k)
      p.a(i, k) = p.b(k, i);
  OnDevice<float> on_b(p.b), on_c(p.c);
  launch(*recordTf32Square(), {.x = 1}, {on_b.ref(), on_c.ref()}, kSchedule);
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  checkProduct(p.a, p.b, p.c);
}

TEST(Transpose, OfAComputedTile) {
  Product p(136, 128, 72);
  OnDevice<float> on_a(p.a), on_b(p.b), on_c(p.c);
  launch(*recordTf32ProductOfAComputedTile(), {.x = 2}, {on_a.ref(), on_b.ref(), on_c.ref()}, kSchedule);
  ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
  for (float &x : p.b.data)
    x *= 2;
  checkProduct(p.a, p.b, p.c);
}

//===-- Elements of 8 bits ----------------------------------------------------------------------------------------===//

/// A product of integers of which GPUs add all sums exactly, too: their 8-bit MMAs keep about 14 bits.
struct E4m3Product {
  Array<E4m3> a, b;
  Array<float> c;

  E4m3Product(int64_t m, int64_t n, int64_t k) : a(integers({m, k}, 1)), b(integers({k, n}, 2)), c({m, n}, 7.0f) {}

  static Array<E4m3> integers(std::vector<int64_t> shape, int seed) {
    Array<E4m3> result = Array<E4m3>::random(std::move(shape), seed, -3, 3);
    for (E4m3 &x : result.data)
      x = std::round(float(x));
    return result;
  }

  /// Runs a program whose right operand is `right`, and compares with `scale` times the product.
  void runAndCheck(const Expected<Program> &program, Grid grid, Array<E4m3> &right, float scale = 1) {
    ASSERT_TRUE(program.ok()) << program.status().message();
    OnDevice<E4m3> on_a(a), on_b(right);
    OnDevice<float> on_c(c);
    launch(*program, grid, {on_a.ref(), on_b.ref(), on_c.ref()}, kSchedule);
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    for (int64_t i = 0; i < c.shape[0]; ++i)
      for (int64_t j = 0; j < c.shape[1]; ++j)
        ASSERT_EQ(c(i, j), scale * productElement(a, b, i, j).sum) << i << ", " << j;
  }
};

TEST(TransposeE4m3, HasARoleOfItsOwn) {
  const Expected<Program> program = recordE4m3Product(128, 128);
  EXPECT_THAT(textOf(*program, kSchedule, "roles"),
              AllOf(HasSubstr("transpose warps 2"), HasSubstr("from load to [transpose]"),
                    HasSubstr("from transpose to [compute]")));
  EXPECT_THAT(ptxOf(*program, kSchedule), HasSubstr("m64n128k32.f32.e4m3.e4m3"));
}

TEST(TransposeE4m3, WholeTiles) {
  E4m3Product p(128, 128, 256);
  p.runAndCheck(recordE4m3Product(128, 128), {.x = 1, .y = 1}, p.b);
}

TEST(TransposeE4m3, TilesThatEndOutside) {
  E4m3Product p(136, 208, 336);
  p.runAndCheck(recordE4m3Product(128, 128), {.x = 2, .y = 2}, p.b);
}

/// Rows of 65 elements keep TMA from addressing B: one warp copies the tiles.
TEST(TransposeE4m3, OfTilesThatAWarpCopies) {
  E4m3Product p(136, 65, 150);
  p.runAndCheck(recordE4m3Product(128, 128), {.x = 2, .y = 1}, p.b);
}

TEST(TransposeE4m3, WideTilesAreTransposedByAllWarps) {
  EXPECT_THAT(textOf(*recordE4m3Product(128, 256), kSchedule, "roles"), Not(HasSubstr("transpose warps")));
  E4m3Product p(72, 264, 160);
  p.runAndCheck(recordE4m3Product(128, 256), {.x = 1, .y = 2}, p.b);
}

TEST(TransposeE4m3, NothingIsTransposedIfTheDepthLiesAlongTheRows) {
  const Expected<Program> program = recordE4m3ProductOfColumns(128, 128);
  EXPECT_THAT(textOf(*program, kSchedule, "roles"), AllOf(HasSubstr("sm.wgmma"), Not(HasSubstr("transpose warps"))));
  E4m3Product p(136, 144, 272);
  Array<E4m3> columns({144, 272});
  for (int64_t k = 0; k < 272; ++k)
    for (int64_t j = 0; j < 144; ++j)
      columns(j, k) = p.b(k, j);
  p.runAndCheck(program, {.x = 2, .y = 2}, columns);
}

TEST(TransposeE4m3, OfAComputedLeftOperand) {
  E4m3Product p(136, 128, 256);
  p.runAndCheck(recordE4m3ProductOfAComputedTile(), {.x = 3}, p.b, 2);
}

TEST(Transpose, PtxasAssemblesIt) {
  if (!testing::hasAssembler())
    return missingTool("ptxas");
  for (const Expected<Program> &program :
       {recordTf32Product(128, 128), recordTf32Product(128, 96), recordTf32Product(128, 256), recordTf32Rows(),
        recordTf32Square(), recordDrawnTf32Product(), recordE4m3Product(128, 128), recordE4m3Product(128, 256),
        recordE4m3ProductOfColumns(128, 128), recordE4m3ProductOfAComputedTile()}) {
    Expected<testing::Assembled> assembled = testing::assemble(ptxOf(*program, kSchedule));
    ASSERT_TRUE(assembled.ok()) << assembled.status().message();
    EXPECT_EQ(assembled->report.spill_bytes, 0);
    EXPECT_THAT(assembled->report.notes, Not(HasSubstr("serialized")));
  }
}

} // namespace
} // namespace tegula::language
