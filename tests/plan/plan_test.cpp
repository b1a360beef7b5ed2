// SPDX-License-Identifier: MIT
// Plans on the test device.
#include "plan/programs.h"

#include "compiler/client/InProcessCompiler.h"
#include "support/test_device.h"
#include "support/test_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace tegula::testing {
namespace {

KernelCache &cache() {
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  static KernelCache kernels(*compiler, testDevice());
  return kernels;
}

Plan planOf(const PlanSpec &spec, const PlanOptions &options = {}) {
  return valueOf(Plan::make(spec, cache(), options));
}

/// Returns multiples of 1/8, whose sums are exact.
std::vector<float> numbers(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = float(int(random() % 17) - 8) / 8;
  return values;
}

TestTensor tensor(DType dtype, const std::vector<int64_t> &shape, const std::vector<float> &values) {
  return {dtype, shape, Layout::contiguous, Poison::nan, values};
}
TestTensor tensor(DType dtype, const std::vector<int64_t> &shape) {
  return {dtype, shape, Layout::contiguous, Poison::nan};
}

void expectNear(const std::vector<float> &values, const std::vector<double> &expected, double error) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], error) << "element " << i;
}

/// Returns a b, for a [m, k] and b [k, n].
std::vector<double> product(const std::vector<float> &a, const std::vector<float> &b, size_t m, size_t n, size_t k) {
  std::vector<double> c(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l)
        c[i * n + j] += double(a[i * k + l]) * b[l * n + j];
  return c;
}

TEST(Plan, OfOneKernelTakesAnySizes) {
  const Plan plan = planOf(matmul());
  EXPECT_EQ(plan.sizes(), (std::vector<std::string>{"m", "k", "n"}));
  for (const auto &[m, n, k] : {std::tuple(100, 70, 40), std::tuple(64, 32, 32), std::tuple(3, 1, 5)}) {
    const std::vector<float> a = numbers(m * k), b = numbers(k * n, 2);
    const TestTensor A = tensor(bf16, {m, k}, a), B = tensor(bf16, {k, n}, b), C = tensor(f32, {m, n});
    require(plan.launch({{"a", A.ref()}, {"b", B.ref()}, {"c", C.ref()}}));
    expectNear(C.numbers(), product(a, b, m, n, k), 0);
  }
}

TEST(Plan, HasTheConfigurationThatWasGiven) {
  const Plan plan = planOf(matmul(), {.configurations = {{"matmul", {.tunables = {{"block_m", 32}}}}}});
  EXPECT_EQ(toString(plan.configuration("matmul")), "block_m=32 block_n=32");
  EXPECT_EQ(plan.configuration("other"), Configuration());
}

TEST(Plan, HasATunedConfigurationNearItsSizes) {
  TunedConfigurations tuned;
  tuned.add(
      {"matmul", *tuningClass(matmul().kernels().front()), {{"m", 64}, {"k", 64}, {"n", 64}}, "block_m=32 block_n=64"});
  PlanOptions options{.expected = {{"m", 100}, {"n", 50}, {"k", 64}}, .tuned = &tuned};
  EXPECT_EQ(toString(planOf(matmul(), options).configuration("matmul")), "block_m=32 block_n=64");
  options.expected[0].value = 1000;
  EXPECT_EQ(toString(planOf(matmul(), options).configuration("matmul")), "block_m=64 block_n=32");
}

TEST(Plan, HasItsOwnConfigurationIfATunedOneIsNotLegal) {
  const std::string wanted = *tuningClass(matmul().kernels().front());
  for (const char *stale : {"block_m=48 block_n=64", "block_m=", "block_q=64"}) {
    TunedConfigurations tuned;
    tuned.add({"matmul", wanted, {{"m", 64}, {"k", 64}, {"n", 64}}, stale});
    const PlanSpec spec = PlanSpec(KernelSpec(matmul().kernels().front()).where(Size("block_m") != 48, "no 48"));
    const Expected<Plan> plan =
        Plan::make(spec, cache(), {.expected = {{"m", 64}, {"n", 64}, {"k", 64}}, .tuned = &tuned});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(toString(plan->configuration("matmul")), "block_m=64 block_n=32");
  }
}

/// The gradients of sigmoidBackward() in double precision.
struct SigmoidGradients {
  std::vector<double> dq, dk, dv;

  SigmoidGradients(const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
                   const std::vector<float> &d_o, double scale)
      : dq(q.size()), dk(k.size()), dv(v.size()) {
    constexpr size_t dim = 16;
    for (size_t i = 0; i < q.size() / dim; ++i)
      for (size_t j = 0; j < k.size() / dim; ++j) {
        double s = 0, dp = 0;
        for (size_t d = 0; d < dim; ++d) {
          s += scale * q[i * dim + d] * k[j * dim + d];
          dp += double(d_o[i * dim + d]) * v[j * dim + d];
        }
        const double p = 1 / (1 + std::exp(-s)), ds = dp * p * (1 - p);
        for (size_t d = 0; d < dim; ++d) {
          dq[i * dim + d] += scale * ds * k[j * dim + d];
          dk[j * dim + d] += scale * ds * q[i * dim + d];
          dv[j * dim + d] += p * d_o[i * dim + d];
        }
      }
  }
};

TEST(Plan, OfTwoKernelsSharesAZeroedWorkspace) {
  const Plan plan = planOf(sigmoidBackward());
  const int64_t queries = 40, keys = 50, dim = 16;
  const std::vector<float> q = numbers(queries * dim), k = numbers(keys * dim, 2), v = numbers(keys * dim, 3),
                           d_o = numbers(queries * dim, 4);
  const TestTensor Q = tensor(f32, {queries, dim}, q), K = tensor(f32, {keys, dim}, k), V = tensor(f32, {keys, dim}, v),
                   dO = tensor(f32, {queries, dim}, d_o), dQ = tensor(f32, {queries, dim}),
                   dK = tensor(f32, {keys, dim}), dV = tensor(f32, {keys, dim});
  const int64_t bytes = valueOf(plan.workspaceBytes({{"queries", queries}}));
  EXPECT_EQ(bytes, queries * dim * 4);
  const TestTensor memory = tensor(f32, {bytes / 4 + 16}); // Poison, at an address that is aligned below.
  const uintptr_t address = (reinterpret_cast<uintptr_t>(memory.ref().data) + 63) / 64 * 64;
  const Workspace workspace{reinterpret_cast<void *>(address), bytes};
  const SigmoidGradients expected(q, k, v, d_o, 0.5);
  for (int repeat = 0; repeat < 2; ++repeat) {
    require(plan.launch({{"q", Q.ref()},
                         {"k", K.ref()},
                         {"v", V.ref()},
                         {"do", dO.ref()},
                         {"dq", dQ.ref()},
                         {"dk", dK.ref()},
                         {"dv", dV.ref()},
                         {"scale", 0.5f}},
                        workspace));
    expectNear(dQ.numbers(), expected.dq, 1e-4);
    expectNear(dK.numbers(), expected.dk, 1e-4);
    expectNear(dV.numbers(), expected.dv, 1e-4);
  }
}

TEST(Plan, TakesAChoiceAtItsLaunch) {
  const Plan plan = planOf(splitSum());
  EXPECT_EQ(plan.sizes(), (std::vector<std::string>{"rows", "columns", "splits"}));
  EXPECT_EQ(valueOf(plan.workspaceBytes({{"rows", 16}, {"columns", 200}})), 4 * 64);
  EXPECT_EQ(valueOf(plan.workspaceBytes({{"rows", 16}, {"columns", 200}, {"splits", 7}})), 7 * 64);
  const int64_t rows = 20, columns = 200;
  const std::vector<float> x = numbers(rows * columns);
  std::vector<double> sums(rows);
  for (size_t i = 0; i < x.size(); ++i)
    sums[i / columns] += x[i];
  const TestTensor X = tensor(f32, {rows, columns}, x);
  Buffer memory = valueOf(testDevice()->allocate(4096));
  const Workspace workspace{memory.data(), memory.bytes()};
  for (const int64_t splits : {1, 2, 5, 9}) {
    const TestTensor Y = tensor(f32, {rows});
    require(plan.launch({{"x", X.ref()}, {"y", Y.ref()}, {"splits", splits}}, workspace));
    expectNear(Y.numbers(), sums, 0);
  }
  const TestTensor Y = tensor(f32, {rows});
  require(plan.launch({{"x", X.ref()}, {"y", Y.ref()}}, workspace));
  expectNear(Y.numbers(), sums, 0);
  const Argument positional[] = {X.ref(), Y.ref(), int64_t(3)};
  require(plan.launch(positional, workspace));
  require(testDevice()->synchronize());
}

TEST(Plan, IsPreparedOnceForManyLaunches) {
  const Plan plan = planOf(packRows());
  ASSERT_EQ(plan.preparedArguments(), 1u);
  constexpr int64_t rows = 100, columns = 40;
  const Buffer memory = valueOf(testDevice()->allocate(valueOf(plan.preparedBytes({{"rows", rows}})))),
               workspace = valueOf(testDevice()->allocate(valueOf(plan.workspaceBytes({{"rows", rows}}))));
  EXPECT_EQ(memory.bytes(), workspace.bytes());
  const Workspace prepared{memory.data(), memory.bytes()};
  for (const int step : {0, 1, 2}) { // Each has counts of its own, and two layers.
    std::vector<int32_t> counts(rows);
    for (int64_t row = 0; row < rows; ++row)
      counts[row] = int32_t((row + step) * 7 % columns);
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t(0));
    const TestTensor Counts({rows}, Layout::contiguous, Poison::ones, counts);
    require(plan.prepare({{"counts", Counts.ref()}}, prepared));
    for (const unsigned layer : {1, 2}) {
      const std::vector<float> x = numbers(rows * columns, layer);
      const TestTensor X = tensor(f32, {rows, columns}, x), Y = tensor(f32, {total}), alone = tensor(f32, {total});
      require(plan.launch({{"counts", Counts.ref()}, {"x", X.ref()}, {"y", Y.ref()}}, {}, {}, prepared));
      require(plan.launch({{"counts", Counts.ref()}, {"x", X.ref()}, {"y", alone.ref()}},
                          {workspace.data(), workspace.bytes()}));
      std::vector<float> packed;
      for (int64_t row = 0; row < rows; ++row)
        packed.insert(packed.end(), x.begin() + row * columns, x.begin() + row * columns + counts[row]);
      EXPECT_EQ(Y.numbers(), packed);
      EXPECT_EQ(alone.numbers(), packed);
    }
  }
}

TEST(Plan, RunsNothingIfThereIsNothing) {
  const TestTensor A = tensor(bf16, {0, 8}), B = tensor(bf16, {8, 5}), C = tensor(f32, {0, 5});
  require(planOf(matmul()).launch({{"a", A.ref()}, {"b", B.ref()}, {"c", C.ref()}}));
}

} // namespace
} // namespace tegula::testing
