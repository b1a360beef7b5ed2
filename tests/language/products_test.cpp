// SPDX-License-Identifier: MIT
// MMAs of warpgroups, in the executor or on a GPU, for every orientation and split that is legal, against sums on the
// host. All numbers are small integers, so every result is exact.
#include "compiler/client/InProcessCompiler.h"
#include "language/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tegula::language {
namespace {

constexpr int kWarps = 8;

/// How two warpgroups compute a dot.
struct Plan {
  bool flipped;
  int rows, columns;

  std::string attributes() const {
    return "{tile.flipped = " + std::string(flipped ? "true" : "false") +
           ", tile.warpgroups = array<i64: " + std::to_string(rows) + ", " + std::to_string(columns) + ">}";
  }
};

constexpr Plan kPlans[] = {{false, 2, 1}, {false, 1, 2}, {true, 2, 1}, {true, 1, 2}};

/// Gives the dots of a program their plans, in the order in which the text has them.
std::string withPlans(std::string text, std::initializer_list<Plan> plans) {
  size_t at = 0;
  for (const Plan &plan : plans) {
    at = text.find(" : ", text.find("tile.dot", at));
    text.insert(at, " " + plan.attributes());
  }
  return text;
}

/// A matrix of integers that every 16-bit type represents exactly.
struct Matrix {
  int64_t rows, columns;
  std::vector<float> numbers;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), numbers(size_t(rows * columns), 0) {}
  Matrix(int64_t rows, int64_t columns, unsigned seed) : Matrix(rows, columns) {
    std::mt19937 generator(seed);
    for (float &x : numbers)
      x = float(int(generator() % 3) - 1);
  }
  float &at(int64_t i, int64_t j) { return numbers[size_t(i * columns + j)]; }
  float at(int64_t i, int64_t j) const { return numbers[size_t(i * columns + j)]; }

  Matrix transposed() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
};

Matrix operator*(const Matrix &a, const Matrix &b) {
  Matrix result(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j)
        result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}

Schedule withRoles(int warps) { return {.num_warps = warps, .num_stages = 2, .roles = Roles::load}; }

/// Runs a program whose last parameters are the f32 results. Returns false if a plan is not legal.
bool runs(const std::string &text, DType type, std::initializer_list<Matrix> inputs,
          std::initializer_list<Matrix *> results, const Schedule &schedule = withRoles(kWarps)) {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  static std::shared_ptr<Device> device = hopperDevice();
  KernelCache cache(*compiler, device);
  Expected<std::shared_ptr<Kernel>> kernel = cache.get(text, schedule);
  if (!kernel) {
    EXPECT_THAT(kernel.status().message(), ::testing::HasSubstr("cannot be computed as its attributes say")) << text;
    return false;
  }
  std::vector<testing::TestTensor> tensors;
  auto add = [&](DType dtype, const Matrix &matrix) {
    tensors.emplace_back(dtype, std::vector<int64_t>{matrix.rows, matrix.columns}, testing::Layout::contiguous,
                         testing::Poison::nan, matrix.numbers);
  };
  for (const Matrix &input : inputs)
    add(type, input);
  for (const Matrix *result : results)
    add(f32, *result);
  std::vector<Argument> arguments;
  for (const testing::TestTensor &tensor : tensors)
    arguments.push_back(tensor.ref());
  Status status = (*kernel)->launch(Grid{1, 1, 1}, arguments);
  size_t next = inputs.size();
  for (Matrix *result : results) {
    EXPECT_TRUE(tensors[next].surroundingsIntact()) << "memory outside a result was written";
    result->numbers = tensors[next++].numbers();
  }
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << text;
  return true;
}

struct Shape {
  int m, n;

  friend void PrintTo(const Shape &shape, std::ostream *stream) { *stream << shape.m << "x" << shape.n; }
};

class EachProduct : public ::testing::TestWithParam<Shape> {};

/// Both operands are in shared memory, in either order. The last block of the depth and the edges are ragged.
TEST_P(EachProduct, FromSharedMemory) {
  const auto [m, n] = GetParam();
  constexpr int kBlock = 64, kDepth = 100;
  const Matrix a(m - 5, kDepth, 1), b(kDepth, n - 3, 2), expected = a * b;
  int legal = 0;
  for (DType type : {bf16, f16})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        auto kernel = [&](View A, View B, View Y) {
          Var sum = fill({m, n}, 0.0);
          for (Value k : range(0, A.dim(transposeA ? 0 : 1), kBlock)) {
            Value left = transposeA ? transpose(A.load({k, 0}, {kBlock, m})) : A.load({0, k}, {m, kBlock});
            Value right = transposeB ? transpose(B.load({0, k}, {n, kBlock})) : B.load({k, 0}, {kBlock, n});
            sum = dot(left, right, sum);
          }
          Y.store(0, sum);
        };
        const std::string text = testing::valueOf(record("product", kernel, TensorArg{"a", type, 2},
                                                         TensorArg{"b", type, 2}, TensorArg{"y", f32, 2}))
                                     .text;
        for (const Plan &plan : kPlans) {
          Matrix y(m - 5, n - 3);
          if (!runs(withPlans(text, {plan}), type, {transposeA ? a.transposed() : a, transposeB ? b.transposed() : b},
                    {&y}))
            continue;
          ++legal;
          EXPECT_EQ(y.numbers, expected.numbers) << text << plan.attributes();
        }
      }
  EXPECT_GE(legal, 8);
}

INSTANTIATE_TEST_SUITE_P(All, EachProduct,
                         ::testing::Values(Shape{128, 48}, Shape{64, 128}, Shape{256, 64}, Shape{128, 128},
                                           Shape{48, 128}, Shape{64, 32}));

/// Four warpgroups, some of which begin inside a panel of the right operand.
TEST(Products, OfFourWarpgroups) {
  auto kernel = [](View A, View B, View Y) {
    Var sum = fill({64, 128}, 0.0);
    for (Value k : range(0, A.dim(1), 64))
      sum = dot(A.load({0, k}, {64, 64}), B.load({k, 0}, {64, 128}), sum);
    Y.store(0, sum);
  };
  const std::string text = testing::valueOf(record("product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                                                   TensorArg{"y", f32, 2}))
                               .text;
  const Matrix a(64, 100, 1), b(100, 128, 2);
  Matrix y(64, 128);
  ASSERT_TRUE(runs(withPlans(text, {{false, 1, 4}}), bf16, {a, b}, {&y}, withRoles(16)));
  EXPECT_EQ(y.numbers, (a * b).numbers);
}

/// Sizes of the tiles of a result and of two dots that read it.
struct Chain {
  int queries, keys, columns;

  /// Records P = Q K^T, dV = P^T Q and dQ = P K.
  std::string record() const {
    auto kernel = [this](View Q, View K, View Dv, View Dq) {
      Value k = K.load(0, {keys, columns});
      Var dv = fill({keys, columns}, 0.0);
      for (Value i : range(0, Q.dim(0), queries)) {
        Value q = Q.load(i, {queries, columns});
        Value p = cast(bf16, dot(q, transpose(k)));
        dv = dot(transpose(p), q, dv);
        Dq.store(i, dot(p, k));
      }
      Dv.store(0, dv);
    };
    return testing::valueOf(tegula::record("chain", kernel, TensorArg{"q", bf16, 2}, TensorArg{"k", bf16, 2},
                                           TensorArg{"dv", f32, 2}, TensorArg{"dq", f32, 2}))
        .text;
  }
};

/// Each dot is computed in each way, from registers where the threads hold its operand already.
TEST(ChainedProducts, ComputeTheSameInEachPlan) {
  constexpr int kColumns = 64;
  const std::string text = Chain{64, 128, kColumns}.record();
  const Matrix q(150, kColumns, 1), k(100, kColumns, 2), p = q * k.transposed();
  const Matrix expectedDv = p.transposed() * q, expectedDq = p * k;
  int legal = 0;
  for (const Plan &ofP : kPlans)
    for (const Plan &ofDv : kPlans)
      for (const Plan &ofDq : kPlans) {
        Matrix dv(100, kColumns), dq(150, kColumns);
        if (!runs(withPlans(text, {ofP, ofDq, ofDv}), bf16, {q, k}, {&dv, &dq}))
          continue;
        ++legal;
        const std::string plans = ofP.attributes() + ofDv.attributes() + ofDq.attributes();
        EXPECT_EQ(dv.numbers, expectedDv.numbers) << plans;
        EXPECT_EQ(dq.numbers, expectedDq.numbers) << plans;
      }
  EXPECT_GE(legal, 12);
}

/// Expects that the compiler's own choice for a program on sm_90a has roles, and that warpgroups compute all its dots.
void expectWarpgroups(const std::string &text, const Schedule &given = {}) {
  const Expected<Artifact> artifact = makeInProcessCompiler()->compile({text, given, {"cuda", "sm_90a"}, "layouts"});
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->schedule, ::testing::HasSubstr("roles=load")) << artifact->remarks << text;
  EXPECT_THAT(artifact->text,
              ::testing::AllOf(::testing::HasSubstr("sm.wgmma"), ::testing::Not(::testing::HasSubstr("sm.mma "))));
}

class ChosenSchedule : public ::testing::TestWithParam<Shape> {};

/// Two warpgroups share the product, perhaps transposed.
TEST_P(ChosenSchedule, OfAProduct) {
  const auto [m, n] = GetParam();
  constexpr int kBlock = 64, kDepth = 100;
  const Matrix a(m - 5, kDepth, 1), b(kDepth, n - 3, 2);
  for (bool transposeA : {false, true}) {
    auto kernel = [&](View A, View B, View Y) {
      Var sum = fill({m, n}, 0.0);
      for (Value k : range(0, B.dim(0), kBlock)) {
        Value left = transposeA ? transpose(A.load({k, 0}, {kBlock, m})) : A.load({0, k}, {m, kBlock});
        sum = dot(left, B.load({k, 0}, {kBlock, n}), sum);
      }
      Y.store(0, sum);
    };
    const std::string text = testing::valueOf(record("product", kernel, TensorArg{"a", bf16, 2},
                                                     TensorArg{"b", bf16, 2}, TensorArg{"y", f32, 2}))
                                 .text;
    expectWarpgroups(text);
    Matrix y(m - 5, n - 3);
    ASSERT_TRUE(runs(text, bf16, {transposeA ? a.transposed() : a, b}, {&y}, {}));
    EXPECT_EQ(y.numbers, (a * b).numbers) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChosenSchedule,
                         ::testing::Values(Shape{16, 128}, Shape{32, 64}, Shape{48, 128}, Shape{96, 64}, Shape{256, 48},
                                           Shape{512, 64}, Shape{64, 512}));

/// Chains of less than 64 rows have roles only if the caller wants them.
TEST(ChosenSchedules, OfChainedProducts) {
  for (const Chain &chain : {Chain{32, 128, 64}, Chain{32, 64, 128}, Chain{64, 128, 80}, Chain{64, 128, 96}}) {
    const std::string text = chain.record();
    const Schedule given = chain.queries < 64 ? Schedule{.roles = Roles::load} : Schedule();
    expectWarpgroups(text, given);
    const Matrix q(150, chain.columns, 1), k(chain.keys - 28, chain.columns, 2), p = q * k.transposed();
    Matrix dv(k.rows, chain.columns), dq(q.rows, chain.columns);
    ASSERT_TRUE(runs(text, bf16, {q, k}, {&dv, &dq}, given));
    EXPECT_EQ(dv.numbers, (p.transposed() * q).numbers) << text;
    EXPECT_EQ(dq.numbers, (p * k).numbers) << text;
  }
}

} // namespace
} // namespace tegula::language
