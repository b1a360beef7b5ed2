// SPDX-License-Identifier: MIT
// Compiles programs that are not attention with every schedule that can be written for them. Each schedule compiles, or
// is refused with its reason. Programs with a producer compute in the executor what the cpu computes, without a race.
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

constexpr int kColumns = 64, kBlock = 64;

/// Matrices of 64 columns. a, b and c are bf16 inputs; y and z are f32 results. a and y have kRows rows, the others
/// kKeys.
constexpr int64_t kRows = 200, kKeys = 150;
struct Views {
  View a, b, c, y, z;
};

/// A program that computes rows `first` to `first + rows - 1` of y in one program instance.
using Body = void (*)(const Views &v, Value first, int rows);

Value tile(View matrix, Value row, int rows = kBlock) { return matrix.load(row, {rows, kColumns}); }
Value zeros(int rows, int columns = kColumns) { return fill({rows, columns}, 0.0); }
Value rounded(Value x) { return cast(bf16, x); }

void product(const Views &v, Value first, int rows) {
  v.y.store(first, dot(tile(v.a, first, rows), transpose(v.b.load(0, {kBlock, kColumns}))));
}

void productInSteps(const Views &v, Value first, int rows) {
  Var sum = zeros(rows);
  for (Value k : range(0, kColumns, 16))
    sum = dot(v.a.load({first, k}, {rows, 16}), transpose(v.b.load({0, k}, {kBlock, 16})), sum);
  v.y.store(first, sum);
}

void twoProducts(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock))
    sum = dot(rounded(dot(a, transpose(tile(v.b, j)))), tile(v.c, j), sum);
  v.y.store(first, sum);
}

/// Computes the right operand of the last MMA in the iteration.
void scaledRows(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value weight = 1.0 / (1.0 + cast(f32, iota(kBlock)));
    Value c = rounded(tile(v.c, j) * asColumn(weight));
    sum = dot(rounded(dot(a, transpose(tile(v.b, j)))), c, sum);
  }
  v.y.store(first, sum);
}

/// Has four MMAs. The last two read tiles that the first two read, too.
void sigmoidGradients(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var dk = zeros(rows), dv = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value b = tile(v.b, j), c = tile(v.c, j);
    Value p = 1.0 / (1.0 + exp(-dot(a, transpose(b)) * 0.1));
    Value dp = dot(a, transpose(c));
    dk = dot(rounded(dp * p * (1.0 - p)), b, dk);
    dv = dot(rounded(p), c, dv);
  }
  v.y.store(first, dk + dv);
}

/// Accumulates two results from the same left operand.
void threeProducts(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var left = zeros(rows), right = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value p = rounded(dot(a, transpose(tile(v.b, j))));
    left = dot(p, tile(v.c, j), left);
    right = dot(p, tile(v.b, j), right);
  }
  v.y.store(first, left - 0.5 * right);
}

/// Has two MMAs that do not depend on each other.
void independentProducts(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var left = zeros(rows), right = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    left += dot(a, transpose(tile(v.b, j)));
    right += dot(a, transpose(tile(v.c, j)));
  }
  v.y.store(first, left + 2.0 * right);
}

void chainOfProducts(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value s = rounded(dot(a, transpose(tile(v.b, j))) * 0.125);
    Value t = rounded(dot(s, tile(v.c, j)) * 0.125);
    sum = dot(t, tile(v.b, j), sum);
  }
  v.y.store(first, sum);
}

/// Keeps a state that each iteration reads as an operand and then adds to.
void recurrentState(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var state = zeros(kColumns), sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    sum = dot(a, rounded(state), sum);
    state = dot(transpose(tile(v.b, j)), tile(v.c, j), state) * 0.5;
  }
  v.y.store(first, sum);
}

void nearestRow(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var largest = fill({rows}, -1e30);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value exists = asRow(j + iota(kBlock)) < v.b.dim(0);
    largest = max(largest, rowMax(select(exists, dot(a, transpose(tile(v.b, j))), -1e30)));
  }
  v.y.store(first, broadcast(asColumn(largest), {rows, kColumns}));
}

void nestedLoops(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var sum = zeros(rows);
  for (Value repeat : range(0, 2)) {
    Var part = zeros(rows);
    for (Value j : range(repeat * kBlock, v.b.dim(0), kBlock))
      part = dot(rounded(dot(a, transpose(tile(v.b, j)))), tile(v.c, j), part);
    sum += part;
  }
  v.y.store(first, sum);
}

void addedToMemory(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Value p = rounded(dot(a, transpose(tile(v.b, j))));
    v.z.atomicAdd(j, dot(transpose(p), a));
  }
  v.y.store(first, a);
}

void branchBetweenProducts(const Views &v, Value first, int rows) {
  Value a = tile(v.a, first, rows);
  Var sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock)) {
    Var s = dot(a, transpose(tile(v.b, j)));
    when(j + kBlock > v.b.dim(0), [&] { s = select(asRow(iota(kBlock)) % 2 == 0, s, 0.0); });
    sum = dot(rounded(s), tile(v.c, j), sum);
  }
  v.y.store(first, sum);
}

void gatheredRows(const Views &v, Value first, int rows) {
  Value row = asColumn((first + iota(rows)) * 7 % v.a.dim(0)), column = asRow(iota(kColumns));
  Value a = v.a.gather(row, column);
  Var sum = zeros(rows);
  for (Value j : range(0, v.b.dim(0), kBlock))
    sum = dot(rounded(dot(a, transpose(tile(v.b, j)))), tile(v.c, j), sum);
  v.y.store(first, sum);
}

void rowSoftmax(const Views &v, Value first, int rows) {
  Value x = cast(f32, tile(v.a, first, rows));
  Value e = exp(x - asColumn(rowMax(x)));
  v.y.store(first, e / asColumn(rowSum(e)));
}

void layerNorm(const Views &v, Value first, int rows) {
  Value x = cast(f32, tile(v.a, first, rows));
  Value centred = x - asColumn(rowSum(x)) / double(kColumns);
  Value variance = rowSum(centred * centred) / double(kColumns);
  v.y.store(first, centred / asColumn(sqrt(variance + 1e-5)));
}

struct NamedBody {
  const char *name;
  Body body;

  friend void PrintTo(const NamedBody &program, std::ostream *stream) { *stream << program.name; }
};

constexpr NamedBody kPrograms[] = {
    {"product", product},
    {"productInSteps", productInSteps},
    {"twoProducts", twoProducts},
    {"scaledRows", scaledRows},
    {"sigmoidGradients", sigmoidGradients},
    {"threeProducts", threeProducts},
    {"independentProducts", independentProducts},
    {"chainOfProducts", chainOfProducts},
    {"recurrentState", recurrentState},
    {"nearestRow", nearestRow},
    {"nestedLoops", nestedLoops},
    {"addedToMemory", addedToMemory},
    {"branchBetweenProducts", branchBetweenProducts},
    {"gatheredRows", gatheredRows},
    {"rowSoftmax", rowSoftmax},
    {"layerNorm", layerNorm},
};

std::string recorded(const NamedBody &program, int rows) {
  auto kernel = [&](View a, View b, View c, View y, View z) {
    program.body({a, b, c, y, z}, programId(0) * rows, rows);
  };
  return testing::valueOf(record(program.name, kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                                 TensorArg{"c", bf16, 2}, TensorArg{"y", f32, 2}, TensorArg{"z", f32, 2}))
      .text;
}

/// Calls visit(schedule) for every combination of the fields that a program without block sizes may be compiled with.
template <class Visit> void forEachSchedule(std::initializer_list<int> stages, Visit visit) {
  for (int warps : {1, 2, 4, 8, 12, 16})
    for (int num_stages : stages)
      for (Roles roles : {Roles::none, Roles::load})
        for (Overlap overlap : {Overlap::none, Overlap::pingpong})
          for (bool optimistic : {false, true})
            for (bool lhsInRegisters : {false, true})
              for (int instances : {1, 2})
                visit(Schedule{.num_warps = warps,
                               .num_stages = num_stages,
                               .roles = roles,
                               .overlap = overlap,
                               .optimistic_softmax = optimistic,
                               .lhs_in_registers = lhsInRegisters,
                               .add_by_tma = optimistic, // No program has both a softmax and additions.
                               .instances_per_sm = instances});
}

class Schedules : public ::testing::TestWithParam<NamedBody> {};

TEST_P(Schedules, EachCompilesOrIsRefusedWithItsReason) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  int compiled = 0;
  forEachSchedule({1, 2, 3}, [&](const Schedule &schedule) {
    for (const char *arch : {"sm_80", "sm_90a"}) {
      CompileRequest request{recorded(GetParam(), 16 * schedule.num_warps), schedule, {"cuda", arch, ""}, "ptx"};
      Expected<Artifact> artifact = compiler->compile(request);
      compiled += artifact.ok();
      if (!artifact.ok())
        EXPECT_THAT(artifact.status().message(),
                    ::testing::AnyOf(::testing::HasSubstr("roles=load"), ::testing::HasSubstr("roles is load"),
                                     ::testing::HasSubstr("instances_per_sm"),
                                     ::testing::HasSubstr("bytes of shared memory")))
            << arch << " " << toString(schedule);
    }
  });
  EXPECT_GE(compiled, 100);
}

/// Returns a matrix of numbers that bf16 represents exactly.
std::vector<float> randomMatrix(int64_t rows, unsigned seed) {
  std::vector<float> matrix(size_t(rows * kColumns));
  std::mt19937 generator(seed);
  for (float &x : matrix)
    x = float(int(generator() % 255) - 127) / 64;
  return matrix;
}

std::vector<uint16_t> toBf16(const std::vector<float> &numbers) {
  std::vector<uint16_t> bits;
  for (float x : numbers)
    bits.push_back(uint16_t(std::bit_cast<uint32_t>(x) >> 16));
  return bits;
}

/// The results of a launch.
struct Results {
  std::vector<float> y, z;
};

Expected<Results> runOn(const std::shared_ptr<Device> &device, Compiler &compiler, const std::string &text, int rows,
                        const Schedule &schedule) {
  KernelCache cache(compiler, device);
  Expected<std::shared_ptr<Kernel>> kernel = cache.get(text, schedule);
  if (!kernel)
    return kernel.status();
  std::vector<uint16_t> a = toBf16(randomMatrix(kRows, 1)), b = toBf16(randomMatrix(kKeys, 2)),
                        c = toBf16(randomMatrix(kKeys, 3));
  Results results{std::vector<float>(kRows * kColumns, NAN), std::vector<float>(kKeys * kColumns, 0)};
  auto matrix = [](auto &data, DType dtype) {
    return Argument(contiguous(data.data(), dtype, {int64_t(data.size()) / kColumns, kColumns}));
  };
  TEGULA_RETURN_IF_ERROR(
      (*kernel)->launch(Grid{(kRows + rows - 1) / rows, 1, 1}, {matrix(a, bf16), matrix(b, bf16), matrix(c, bf16),
                                                                matrix(results.y, f32), matrix(results.z, f32)}));
  return results;
}

/// Expects differences of at most `share` of the largest number: roundings to bf16 may fall to either side.
void expectNear(const std::vector<float> &results, const std::vector<float> &expected, double share,
                const std::string &what) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(results[i])) << what << ": element " << i << " is " << results[i];
    largest = std::max(largest, std::abs(double(expected[i])));
    difference = std::max(difference, std::abs(double(results[i]) - expected[i]));
  }
  EXPECT_LE(difference, share * largest) << what;
}

TEST_P(Schedules, RolesComputeWhatTheCpuComputes) {
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  std::shared_ptr<Device> cpu = testing::valueOf(cpuDevice());
  std::shared_ptr<Device> gpu = testing::valueOf(simtDevice({.arch = "sm_90a"}));
  int rows = 0, computed = 0;
  Results expected;
  forEachSchedule({2}, [&](const Schedule &schedule) {
    bool hasRoles = schedule.roles == Roles::load && schedule.instances_per_sm == 1;
    if (!hasRoles || schedule.num_warps < 4)
      return;
    const std::string text = recorded(GetParam(), 16 * schedule.num_warps);
    if (rows != 16 * schedule.num_warps) {
      rows = 16 * schedule.num_warps;
      expected = testing::valueOf(runOn(cpu, *compiler, text, rows, {}));
    }
    Expected<Results> results = runOn(gpu, *compiler, text, rows, schedule);
    const std::string what = toString(schedule);
    if (!results && results.status().code() != ErrorCode::launch_failed)
      return; // Refused: the other test reads the reason.
    ASSERT_TRUE(results.ok()) << what << ": " << results.status().message();
    ++computed;
    expectNear(results->y, expected.y, 0.01, what + ", y");
    expectNear(results->z, expected.z, 0.01, what + ", z");
  });
  EXPECT_GE(computed, 8);
}

INSTANTIATE_TEST_SUITE_P(Programs, Schedules, ::testing::ValuesIn(kPrograms),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace tegula
