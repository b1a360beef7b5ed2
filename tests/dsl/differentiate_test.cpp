// SPDX-License-Identifier: MIT
// Tests differentiate() against finite differences.
#include "interpreter.h"

#include "tegula/dsl.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tegula;

namespace {

using Views = std::map<std::string, Tile>;
using Function = std::function<Value(Value x, View table)>;

constexpr double kStep = 1e-6;

Program gradientProgram(const Function &f, DType dtype) {
  auto kernel = [&](View x, View table, View seed, View y, View dx, View dtable) {
    Value input = x.load(0, {2, 4});
    Value output = f(input, table);
    y.store(0, output);
    const ViewGradient gathered[] = {{table, dtable}};
    dx.store(0, differentiate(output, input, seed.load(0, {2, 4}), gathered));
  };
  auto program =
      record("gradient", kernel, TensorArg{"x", dtype, 2}, TensorArg{"table", f32, 1}, TensorArg{"seed", f32, 2},
             TensorArg{"y", dtype, 2}, TensorArg{"dx", f32, 2}, TensorArg{"dtable", f32, 1});
  EXPECT_TRUE(program) << program.status().message();
  return program ? *program : Program();
}

Views inputs() {
  Tile zeros{{2, 4}, std::vector<double>(8)};
  return {{"x", {{2, 4}, {0.3, 1.7, 0.9, 2.2, 0.6, 1.1, 3.1, 0.4}}},
          {"seed", {{2, 4}, {1, -2, 0.5, 3, 1, 1, -1, 2}}},
          {"table", {{4}, {0.5, 1.5, -0.7, 2}}},
          {"y", zeros},
          {"dx", zeros},
          {"dtable", {{4}, std::vector<double>(4)}}};
}

double weightedOutput(const Program &program, Views views) {
  interpret(program.text, views);
  double sum = 0;
  for (size_t i = 0; i < 8; ++i)
    sum += views["y"].values[i] * views["seed"].values[i];
  return sum;
}

double finiteDifference(const Program &program, const std::string &name, size_t i) {
  Views above = inputs(), below = inputs();
  above[name].values[i] += kStep;
  below[name].values[i] -= kStep;
  return (weightedOutput(program, above) - weightedOutput(program, below)) / (2 * kStep);
}

void expectGradient(const Function &f, DType dtype = f32) {
  Program program = gradientProgram(f, dtype);
  Views views = inputs();
  interpret(program.text, views);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(views["dx"].values[i], finiteDifference(program, "x", i), 1e-6) << "dx " << i;
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(views["dtable"].values[i], finiteDifference(program, "table", i), 1e-6) << "dtable " << i;
}

Value matrix(Value index) { return asRow(index); }

TEST(Differentiate, Arithmetic) {
  expectGradient([](Value x, View) { return x * x + 3 * x - x / 2; });
  expectGradient([](Value x, View) { return 1 / x - (x * x * x) / (x + 1); });
  expectGradient([](Value x, View) { return -x * 2; });
}

TEST(Differentiate, Columns) {
  expectGradient([](Value x, View) { return joinColumns(columns(x, 3, 4) * 2, exp(columns(x, 0, 3))); });
  expectGradient([](Value x, View) {
    Value even = columns(x, 0, 4, 2), odd = columns(x, 1, 4, 2);
    return interleaveColumns(even * even - odd, even * odd);
  });
  expectGradient([](Value x, View) { return x * columns(x, 1, 2) + columns(x, 2, 3, 2); });
  expectGradient([](Value x, View) {
    Value wide = joinColumns(x, columns(x * x, 1, 4)); // 7 columns
    return columns(wide, 0, 7, 2) + columns(wide, 2, 6) * 0.5;
  });
}

TEST(Differentiate, Functions) {
  expectGradient([](Value x, View) { return exp(x); });
  expectGradient([](Value x, View) { return exp2(x / 2); });
  expectGradient([](Value x, View) { return fastTanh(x); });
  expectGradient([](Value x, View) { return log(x) + log2(x); });
  expectGradient([](Value x, View) { return 5 * tanh(x / 5); });
  expectGradient([](Value x, View) { return sqrt(x); });
  expectGradient([](Value x, View) { return abs(x - 1); });
  expectGradient([](Value x, View) { return sin(x) * cos(2 * x); });
  expectGradient([](Value x, View) { return erf(x) + gelu(x - 1); });
  expectGradient([](Value x, View) { return sigmoid(x) * silu(1 - x); });
  expectGradient([](Value x, View) { return rsqrt(x) + clamp(x, 0.5, 2); });
  expectGradient([](Value x, View) { return pow(x, 1.7) + pow(x, x) - pow(x, 3); });
}

TEST(Differentiate, Choices) {
  expectGradient([](Value x, View) { return min(x, 1) + max(x * x, 2); });
  expectGradient([](Value x, View) { return select(x > 1, x * x, 3 * x); });
  expectGradient([](Value x, View) { return select(matrix(iota(4)) < 2, x, 0.0); });
}

TEST(Differentiate, OutputThatIsTheInput) {
  expectGradient([](Value x, View) { return x; });
}

TEST(Differentiate, OutputThatDoesNotDependOnTheInput) {
  expectGradient([](Value, View) { return fill({2, 4}, 1.0); });
}

TEST(Differentiate, NarrowTypesPassTheirAdjoint) {
  expectGradient([](Value x, View) { return cast(bf16, x * x); }, bf16);
}

TEST(Differentiate, SharedSubexpressions) {
  expectGradient([](Value x, View) {
    Value t = tanh(x);
    return t * t + t / (1 + t);
  });
}

TEST(Differentiate, ChoosesTheNumberInAnExtremumWithNan) {
  expectGradient([](Value x, View) { return min(x * x, log(-x)) + max(log(-x), 3 * x); });
}

TEST(Differentiate, ZeroTimesAnInfiniteDerivativeIsZero) {
  expectGradient([](Value x, View) { return select(x > 0.0, x, log(x - x)); });
  expectGradient([](Value x, View) { return select(x > 0.0, x, sqrt(x - 100)); });
  expectGradient([](Value x, View) { return x + 1 / (1 + exp(1000 * x)); });
  expectGradient([](Value x, View table) { return select(x > 0.0, x, 1 / (table.gather(0) - table.gather(0))); });
}

TEST(Differentiate, TestsForZeroOnlyWhereAnOperationHidesInfinities) {
  auto textOf = [](const Function &f) { return gradientProgram(f, f32).text; };
  EXPECT_EQ(textOf([](Value x, View) { return 30 * tanh(x / 30) + x * exp(x); }).find("arith.select"),
            std::string::npos);
  EXPECT_NE(textOf([](Value x, View) { return 1 / (1 + exp(-x)); }).find("arith.select"), std::string::npos);
}

TEST(Differentiate, Gathers) {
  expectGradient([](Value x, View table) { return x * table.gather(broadcast(matrix(iota(4)), {2, 4})); });
  // One element is gathered twice, and a row repeats along the other dimension.
  expectGradient([](Value x, View table) { return tanh(x + matrix(table.gather(iota(4) / 2))); });
  expectGradient([](Value x, View table) { return x + transpose(asColumn(table.gather(iota(4)))); });
  expectGradient([](Value x, View table) { return x * table.gather(2); });
  // Arithmetic on one element before it repeats.
  expectGradient([](Value x, View table) {
    Value one = table.gather(0), other = table.gather(2);
    Value slope = select(one > other, tanh(0.5 * one), other) / (2 - max(one, other)) + abs(other) * one;
    return x * slope - sqrt(x + table.gather(3));
  });
}

TEST(Differentiate, ComparisonsAndIntegersAreConstant) {
  expectGradient([](Value x, View) { return x * cast(f32, x > 1) + matrix(iota(4)) * x; });
}

TEST(Differentiate, RandomNumbersAreConstant) {
  expectGradient([](Value x, View table) {
    Value row = asColumn(iota(2)), column = asRow(iota(4));
    Value isKept = randomBytes({1, 2, 3}, row, column) < 128;
    return select(isKept, x * x, 0.0) * (random({1, 2, 4}, row, column) + table.gather(1));
  });
}

} // namespace
