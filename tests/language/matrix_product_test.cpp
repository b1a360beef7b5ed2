// SPDX-License-Identifier: MIT
// A plain matrix product with a producer: operands at any column come by TMA, and the results of all shapes are right.
#include "compiler/client/InProcessCompiler.h"
#include "support/missing_tool.h"
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
const Schedule kWithTensorMemory{.num_warps = 4, .num_stages = 3, .roles = Roles::load};

struct Tiles {
  int m, n, k;
};

/// Returns the program of `kernel(A, B, C)`.
template <class Kernel> std::string textOf(const Kernel &kernel) {
  return testing::valueOf(record("matrix_product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                                 TensorArg{"c", bf16, 2}))
      .text;
}

/// C = A B, as a user writes it.
std::string recorded(Tiles tiles) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * tiles.m, j = programId(1) * tiles.n;
    Var c = fill({tiles.m, tiles.n}, 0.0);
    for (Value k : range(0, A.dim(1), tiles.k))
      c = dot(A.load({i, k}, {tiles.m, tiles.k}), B.load({k, j}, {tiles.k, tiles.n}), c);
    C.store({i, j}, c);
  };
  return textOf(kernel);
}

/// C = A^T B^T.
std::string recordedTransposed(Tiles tiles) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * tiles.m, j = programId(1) * tiles.n;
    Var c = fill({tiles.m, tiles.n}, 0.0);
    for (Value k : range(0, A.dim(0), tiles.k))
      c = dot(transpose(A.load({k, i}, {tiles.k, tiles.m})), transpose(B.load({j, k}, {tiles.n, tiles.k})), c);
    C.store({i, j}, c);
  };
  return textOf(kernel);
}

/// C = A B by program instances that each compute several tiles.
std::string recordedPersistent(Tiles tiles) {
  auto kernel = [=](View A, View B, View C) {
    Value columns = ceilDiv(C.dim(1), tiles.n);
    for (Value tile : range(programId(0), ceilDiv(C.dim(0), tiles.m) * columns, numPrograms(0))) {
      Value i = tile / columns * tiles.m, j = tile % columns * tiles.n;
      Var c = fill({tiles.m, tiles.n}, 0.0);
      for (Value k : range(0, A.dim(1), tiles.k))
        c = dot(A.load({i, k}, {tiles.m, tiles.k}), B.load({k, j}, {tiles.k, tiles.n}), c);
      C.store({i, j}, c);
    }
  };
  return textOf(kernel);
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

/// Returns the transpose of a matrix with this number of rows.
std::vector<uint16_t> transposedOf(const std::vector<uint16_t> &matrix, int64_t rows) {
  const auto columns = static_cast<int64_t>(matrix.size()) / rows;
  std::vector<uint16_t> result(matrix.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[size_t(j * rows + i)] = matrix[size_t(i * columns + j)];
  return result;
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

/// A kernel of the executor, as one architecture has it.
struct Machine {
  std::string arch = "sm_90a";
  Schedule schedule = kSchedule;
  SimtInterleaving interleaving = {};
};

/// Launches the kernel of a program.
void expectProduct(const std::string &program, Grid grid, Shape shape, const Machine &machine) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  const std::shared_ptr<SimtDevice> device = testing::valueOf(simtDevice({.arch = machine.arch}));
  device->setSchedule(machine.interleaving);
  KernelCache cache(*compiler, device);
  std::shared_ptr<Kernel> kernel = testing::valueOf(cache.get(program, machine.schedule));
  std::vector<uint16_t> a = randomIntegers(shape.m * shape.k, 1), b = randomIntegers(shape.k * shape.n, 2),
                        c(static_cast<size_t>(shape.m * shape.n), 0xFFFF);
  const Status status = kernel->launch(grid, {contiguous(a.data(), bf16, {shape.m, shape.k}),
                                              contiguous(b.data(), bf16, {shape.k, shape.n}),
                                              contiguous(c.data(), bf16, {shape.m, shape.n})});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c, expectedProduct(shape, a, b));
}

void expectProduct(Tiles tiles, Shape shape, const Machine &machine = {}) {
  const Grid grid{(shape.m + tiles.m - 1) / tiles.m, (shape.n + tiles.n - 1) / tiles.n, 1};
  expectProduct(recorded(tiles), grid, shape, machine);
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

//===-- Tensor memory ---------------------------------------------------------------------------------------------===//

Machine blackwell(Schedule schedule = kWithTensorMemory, SimtInterleaving interleaving = {}) {
  return {"sm_100a", schedule, interleaving};
}

TEST(MatrixProduct, AccumulatesInTensorMemory) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  Expected<Artifact> artifact =
      compiler->compile({recorded({128, 128, 64}), kWithTensorMemory, {"cuda", "sm_100a", ""}, "ptx"});
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->tensor_maps.size(), 2u);
  EXPECT_EQ(artifact->threads, 8 * 32);
  for (const char *instruction :
       {"tcgen05.alloc", "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.commit", "tcgen05.ld", "tcgen05.dealloc"})
    EXPECT_THAT(artifact->text, ::testing::HasSubstr(instruction));
  EXPECT_THAT(artifact->text, ::testing::Not(::testing::HasSubstr("mma.sync")));
  EXPECT_EQ(artifact->remarks, "");
}

TEST(MatrixProduct, AssemblesForBlackwell) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  for (Tiles tiles : {Tiles{128, 64, 64}, Tiles{128, 128, 64}, Tiles{128, 256, 64}}) {
    Expected<Artifact> artifact = compiler->compile({recorded(tiles), kWithTensorMemory, {"cuda", "sm_100a", ""}, ""});
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    if (artifact->report.assembler.empty())
      return missingTool("ptxas");
    EXPECT_THAT(artifact->binary, ::testing::StartsWith("\x7f"
                                                        "ELF"));
    EXPECT_EQ(artifact->report.spill_bytes, 0);
  }
}

TEST(MatrixProduct, IsRightInTensorMemoryForEachShape) {
  for (Shape shape : {Shape{128, 256, 192}, Shape{200, 136, 328}, Shape{130, 131, 67}, Shape{128, 128, 0}})
    expectProduct({128, 128, 64}, shape, blackwell());
}

TEST(MatrixProduct, IsRightInTensorMemoryForWideTilesAndTwoWarpgroups) {
  expectProduct({128, 256, 64}, {136, 264, 136}, blackwell());
  expectProduct({128, 128, 128}, {136, 264, 136}, blackwell({.num_warps = 8, .num_stages = 2, .roles = Roles::load}));
}

TEST(MatrixProduct, IsRightInTensorMemoryForTransposedOperands) {
  const Shape shape{256, 128, 192};
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, testing::valueOf(simtDevice({.arch = "sm_100a"})));
  std::shared_ptr<Kernel> kernel = testing::valueOf(cache.get(recordedTransposed({128, 128, 64}), kWithTensorMemory));
  const std::vector<uint16_t> a = randomIntegers(shape.m * shape.k, 1), b = randomIntegers(shape.k * shape.n, 2);
  std::vector<uint16_t> at = transposedOf(a, shape.m), bt = transposedOf(b, shape.k),
                        c(static_cast<size_t>(shape.m * shape.n));
  const Status status = kernel->launch({2, 1, 1}, {contiguous(at.data(), bf16, {shape.k, shape.m}),
                                                   contiguous(bt.data(), bf16, {shape.n, shape.k}),
                                                   contiguous(c.data(), bf16, {shape.m, shape.n})});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c, expectedProduct(shape, a, b));
}

/// Accumulators have two slots, each of which is used twice.
TEST(MatrixProduct, IsRightInTensorMemoryForTilesInALoop) {
  for (uint32_t scheduler = 0; scheduler < kSimtSchedulers; ++scheduler)
    for (int64_t k : {0, 64, 200})
      expectProduct(recordedPersistent({128, 64, 64}), {1, 1, 1}, {200, 136, k},
                    blackwell(kWithTensorMemory, {.scheduler = SimtScheduler(scheduler), .seed = 1}));
}

TEST(MatrixProduct, IsRightInTensorMemoryUnderEachScheduler) {
  for (uint32_t scheduler = 0; scheduler < kSimtSchedulers; ++scheduler)
    for (uint64_t seed = 0; seed < 3; ++seed)
      expectProduct({128, 64, 64}, {130, 72, 264},
                    blackwell(kWithTensorMemory, {.scheduler = SimtScheduler(scheduler), .seed = seed}));
}

} // namespace
} // namespace tegula
