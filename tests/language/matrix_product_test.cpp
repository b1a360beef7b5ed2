// SPDX-License-Identifier: MIT
// A plain matrix product with a producer: operands at any column come by TMA, and the results of all shapes are right.
#include "compiler/client/InProcessCompiler.h"
#include "support/test_device.h"
#include "tegula/device.h"
#include "tegula/dsl.h"
#include "tegula/kernel_cache.h"
#include "tegula/simt_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace tegula {
namespace {

const Schedule kSchedule{.num_warps = 8, .num_stages = 4, .roles = Roles::load};

struct Tiles {
  int m, n, k;
};

/// C = A B, as a user writes it.
std::string recorded(Tiles tiles) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * tiles.m, j = programId(1) * tiles.n;
    Var c = fill({tiles.m, tiles.n}, 0.0);
    for (Value k : range(0, A.dim(1), tiles.k))
      c = dot(A.load({i, k}, {tiles.m, tiles.k}), B.load({k, j}, {tiles.k, tiles.n}), c);
    C.store({i, j}, c);
  };
  return testing::valueOf(record("matrix_product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                                 TensorArg{"c", bf16, 2}))
      .text;
}

struct Shape {
  int64_t m, n, k;
};

/// Small integers, whose products and sums f32 represents exactly.
std::vector<uint16_t> randomIntegers(int64_t count, unsigned seed) {
  std::vector<uint16_t> matrix(static_cast<size_t>(count));
  std::mt19937 generator(seed);
  for (uint16_t &x : matrix)
    x = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(generator() % 7) - 3)) >> 16);
  return matrix;
}

float fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// The nearest bf16, ties to even.
uint16_t toBf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::vector<uint16_t> expectedProduct(Shape shape, const std::vector<uint16_t> &a, const std::vector<uint16_t> &b) {
  std::vector<float> sums(static_cast<size_t>(shape.m * shape.n));
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t k = 0; k < shape.k; ++k)
      for (int64_t j = 0; j < shape.n; ++j)
        sums[size_t(i * shape.n + j)] += fromBf16(a[size_t(i * shape.k + k)]) * fromBf16(b[size_t(k * shape.n + j)]);
  std::vector<uint16_t> result;
  for (float sum : sums)
    result.push_back(toBf16(sum));
  return result;
}

void expectProduct(Tiles tiles, Shape shape) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, testing::valueOf(simtDevice({.arch = "sm_90a"})));
  std::shared_ptr<Kernel> kernel = testing::valueOf(cache.get(recorded(tiles), kSchedule));
  std::vector<uint16_t> a = randomIntegers(shape.m * shape.k, 1), b = randomIntegers(shape.k * shape.n, 2),
                        c(static_cast<size_t>(shape.m * shape.n), 0xFFFF);
  const Grid grid{(shape.m + tiles.m - 1) / tiles.m, (shape.n + tiles.n - 1) / tiles.n, 1};
  const Status status = kernel->launch(grid, {contiguous(a.data(), bf16, {shape.m, shape.k}),
                                              contiguous(b.data(), bf16, {shape.k, shape.n}),
                                              contiguous(c.data(), bf16, {shape.m, shape.n})});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c, expectedProduct(shape, a, b));
}

TEST(MatrixProduct, TheProducerLoadsBothOperandsByTma) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  for (Tiles tiles : {Tiles{128, 128, 64}, Tiles{128, 256, 64}}) {
    Expected<Artifact> artifact = compiler->compile({recorded(tiles), kSchedule, {"cuda", "sm_90a", ""}, "ptx"});
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    EXPECT_GE(artifact->tensor_maps.size(), 2u);
    EXPECT_THAT(artifact->text, ::testing::HasSubstr("wgmma.mma_async.sync.aligned.m64n" + std::to_string(tiles.n)));
    EXPECT_THAT(artifact->text, ::testing::HasSubstr("cp.async.bulk.tensor.2d.shared::cluster"));
    EXPECT_EQ(artifact->remarks, "");
  }
}

TEST(MatrixProduct, IsRightForWholeTiles) { expectProduct({128, 128, 64}, {128, 256, 192}); }
TEST(MatrixProduct, IsRightForRaggedShapes) { expectProduct({128, 128, 64}, {200, 136, 328}); }
TEST(MatrixProduct, IsRightForWideTiles) { expectProduct({128, 256, 64}, {136, 264, 136}); }
TEST(MatrixProduct, IsRightForShapesThatTmaCannotAddress) { expectProduct({128, 128, 64}, {130, 131, 67}); }

} // namespace
} // namespace tegula
