// SPDX-License-Identifier: MIT
// What kernels report while they run: print() and the first element that is not finite. The texts are the same on every
// target.
#include "language/machine.h"
#include "support/missing_tool.h"
#include "tegula/toolchain.h"

#include <gmock/gmock.h>

namespace tegula::language {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

Compiler &compiler() {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  return *compiler;
}

/// A device, and what kernels have printed on it.
class Debug : public ::testing::TestWithParam<const char *> {
protected:
  static std::shared_ptr<Device> makeDevice() {
    const std::string target = GetParam();
    return target == "cpu"
               ? testing::valueOf(cpuDevice({.threads = 1}))
               : std::shared_ptr<Device>(testing::valueOf(simtDevice({.cpu = {.threads = 1}, .arch = target})));
  }

  KernelCacheOptions options(FiniteCheck check) {
    return {.check_finite = check, .device_asserts = asserts, .print = [this](std::string_view text) {
              printed.emplace_back(text);
            }};
  }

  /// Records kernel(views of the arrays...) and runs it with a check.
  template <class KernelFunction, class... T>
  Status launch(FiniteCheck check, Grid grid, const KernelFunction &kernel, Array<T> &...arrays) {
    int number = 0;
    std::tuple<decltype((void)arrays, TensorArg())...> parameters{
        TensorArg{"t" + std::to_string(number++), arrays.dtype(), static_cast<int>(arrays.shape.size())}...};
    const Expected<Program> program =
        std::apply([&](auto &...parameter) { return record("kernel", kernel, parameter...); }, parameters);
    if (!program)
      return program.status();
    KernelCache cache(compiler(), makeDevice(), options(check));
    const Expected<std::shared_ptr<Kernel>> compiled = cache.get(program->text);
    if (!compiled)
      return compiled.status();
    EXPECT_THAT((*compiled)->parameters(), SizeIs(sizeof...(T)));
    auto tensor = [](auto &array) {
      return *contiguous(array.data.data(), array.dtype(), std::span<const int64_t>(array.shape));
    };
    return (*compiled)->launch(grid, {Argument(tensor(arrays))...});
  }

  /// Runs a kernel that may print only.
  template <class KernelFunction, class... T> void run(Grid grid, const KernelFunction &kernel, Array<T> &...arrays) {
    const Status status = launch(FiniteCheck::none, grid, kernel, arrays...);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::vector<std::string> printed;
  bool asserts = false;
  int marked = 0; ///< The number of a line of the kernel.
};

/// Returns the text "language/debug_test.cpp:LINE".
std::string line(int number) { return "language/debug_test.cpp:" + std::to_string(number); }

//===-- print ----------------------------------------------------------------------------------------------------===//

TEST_P(Debug, PrintsATileOfOneProgramInstance) {
  Array<float> x({2, 3});
  std::iota(x.data.begin(), x.data.end(), 0.5f);
  run(
      {.x = 3},
      [this](View X) {
        Value x = X.load(0, {2, 3}) * cast(f32, programId(0));
        marked = __LINE__ + 1;
        print("x", x, programId(0) == 2);
      },
      x);
  ASSERT_THAT(printed, SizeIs(1));
  EXPECT_THAT(printed[0], HasSubstr(line(marked) + ": x: f32 [2, 3], min 1, max 11 (program instance 2, 0, 0)\n"
                                                   "  [0, 0] 1 3 5\n"
                                                   "  [1, 0] 7 9 11\n"));
}

TEST_P(Debug, PrintsEachIterationOfALoop) {
  Array<float> x({4});
  run(
      {},
      [this](View) {
        Var sum = constant(f32, 0);
        marked = __LINE__ + 1;
        for (Value i : range(0, 40, 20)) {
          sum += cast(f32, i) + 0.25;
          print("the sum so far", sum);
        }
      },
      x);
  ASSERT_THAT(printed, SizeIs(2));
  EXPECT_THAT(printed[0],
              EndsWith(": the sum so far = 0.25 (program instance 0, 0, 0, loop at " + line(marked) + " at 0)\n"));
  EXPECT_THAT(printed[1], HasSubstr(": the sum so far = 20.5 ("));
}

TEST_P(Debug, PrintsEveryType) {
  Array<float> x({2}, -2.5f);
  Array<Bf16> y({2}, 1.5f);
  Array<int64_t> z({2}, (int64_t{1} << 40) - 3);
  Array<int8_t> b({2}, static_cast<int8_t>(-7));
  run(
      {},
      [](View X, View Y, View Z, View B) {
        Value x = X.load(0, {2});
        print("f32", x);
        print("f16", cast(f16, x));
        print("bf16", Y.load(0, {2}));
        print("i64", -Z.load(0, {2}));
        print("i32", iota(2) - 1);
        print("i8", B.load(0, {2}));
        print("i1", iota(2) == 1);
        print("index", X.dim(0) - 3);
        print("positions", X.dim(0) + cast(DType::i64, iota(2)));
        print("condition", X.dim(0) == 2);
        print("i64", Z.gather(1));
      },
      x, y, z, b);
  std::vector<std::string> values;
  for (const std::string &text : printed) {
    const size_t tile = text.find("[0] "), scalar = text.find("= ");
    values.push_back(tile != std::string::npos ? text.substr(tile + 4, text.size() - tile - 5)
                                               : text.substr(scalar + 2, text.find(" (") - scalar - 2));
  }
  EXPECT_THAT(values, ElementsAre("-2.5 -2.5", "-2.5 -2.5", "1.5 1.5", "-1099511627773 -1099511627773", "-1 0", "-7 -7",
                                  "0 1", "-1", "2 3", "1", "1099511627773"));
}

TEST_P(Debug, LeavesOutTheMiddleOfALargeTile) {
  Array<float> x({40, 40}, 1);
  x(0, 1) = nan;
  run({}, [](View X) { print("x", X.load(0, {40, 40})); }, x);
  ASSERT_THAT(printed, SizeIs(1));
  EXPECT_THAT(printed[0], HasSubstr("min 1, max 1, 1 nan"));
  EXPECT_THAT(printed[0], HasSubstr("  [0, 0] 1 nan 1 1 ... 1 1 1 1\n"));
  EXPECT_EQ(std::count(printed[0].begin(), printed[0].end(), '\n'), 1 + 4 + 1 + 4);
}

TEST_P(Debug, AnAssertionThatFailsIsAnError) {
  Array<int32_t> numbers({4}, 3);
  numbers.data[2] = 70;
  const auto kernel = [this](View Numbers) {
    for (Value i : range(0, 4)) {
      Value number = Numbers.gather(i);
      marked = __LINE__ + 1;
      deviceAssert(number < 64, "number", number);
    }
  };
  EXPECT_THAT(launch(FiniteCheck::none, {}, kernel, numbers).message(), Not(HasSubstr("assertion")));
  asserts = true;
  const Status status = launch(FiniteCheck::none, {}, kernel, numbers);
  EXPECT_EQ(status.code(), ErrorCode::launch_failed);
  EXPECT_THAT(status.message(), HasSubstr(line(marked) + ": assertion failed: number = 70 (program instance 0, 0, 0, "
                                                         "loop at "));
  EXPECT_THAT(status.message(), EndsWith(" at 2)"));
  numbers.data[2] = 63;
  EXPECT_TRUE(launch(FiniteCheck::none, {}, kernel, numbers).ok());
  EXPECT_THAT(printed, IsEmpty());
}

TEST_P(Debug, AssertionsOfTilesHoldForAllElements) {
  Array<int32_t> numbers({4}, 3);
  const auto kernel = [](View Numbers) {
    Value number = Numbers.load(0, {4});
    deviceAssert(number == 3, "numbers", number);
  };
  asserts = true;
  EXPECT_TRUE(launch(FiniteCheck::nan, {}, kernel, numbers).ok());
  numbers.data[3] = 5;
  EXPECT_THAT(launch(FiniteCheck::nan, {}, kernel, numbers).message(),
              HasSubstr(": assertion failed: numbers: i32 [4] (program instance 0, 0, 0)\n  [0] 3 3 3 5"));
}

TEST_P(Debug, CountsWhatHasNoRoom) {
  Array<float> x({1});
  run(
      {},
      [](View) {
        for (Value i : range(0, 5000))
          print("i", i);
      },
      x);
  ASSERT_THAT(printed, SizeIs(4097));
  EXPECT_EQ(printed.back(), "kernel: 904 more records had no room in the buffer\n");
}

TEST(DebugOptions, AProgramWithoutReportsDoesNotChange) {
  auto kernel = [](bool prints) {
    return [prints](View X, View Y) {
      Value x = X.load(0, {64});
      if (prints)
        print("x", x);
      Y.store(0, exp(x));
    };
  };
  auto ptx = [&](bool prints, DebugOptions debug) {
    Expected<Program> program = record("kernel", kernel(prints), TensorArg{"x", f32, 1}, TensorArg{"y", f32, 1});
    CompileRequest request{.program = program->text, .target = {"cuda", "sm_90a"}, .emit = "ptx", .debug = debug};
    return testing::valueOf(compiler().compile(request)).text;
  };
  EXPECT_EQ(ptx(true, {}), ptx(false, {}));
  EXPECT_EQ(ptx(false, {.print = true}), ptx(false, {}));
  EXPECT_NE(ptx(true, {.print = true}), ptx(false, {}));
}

//===-- The first element that is not finite ----------------------------------------------------------------------===//

TEST_P(Debug, NamesTheOperationThatMakesANaN) {
  auto x = Array<float>::random({20, 40}, 1, 0.5, 2);
  x(9, 17) = -1;
  Array<float> y({20, 40});
  const Status status = launch(
      FiniteCheck::nan, {.x = 2},
      [this](View X, View Y) {
        Value row = programId(0) * 10;
        Value x = X.load(row, {10, 40});
        marked = __LINE__ + 1;
        Value z = log(x) * 2.0;
        Y.store(row, z + 1.0);
      },
      x, y);
  EXPECT_EQ(status.code(), ErrorCode::launch_failed);
  EXPECT_THAT(status.message(), EndsWith(line(marked) + ": log makes the first NaN: element [9, 17] of f32 [10, 40] "
                                                        "in program instance 0, 0, 0"));
  EXPECT_EQ(y(3, 3), std::log(x(3, 3)) * 2 + 1);
}

TEST_P(Debug, ANaNThatHasNoRoomIsAnErrorToo) {
  Array<float> x({16}), y({16});
  const Status status = launch(
      FiniteCheck::nan, {},
      [](View X, View Y) {
        for (Value i : range(0, 5000))
          print("i", i);
        Y.store(0, log(X.load(0, {16}) - 1.0));
      },
      x, y);
  EXPECT_EQ(status.code(), ErrorCode::launch_failed);
  EXPECT_THAT(status.message(), EndsWith("prints left no room in the buffer for a report of an element that is not "
                                         "finite, or of an assertion; print in fewer program instances"));
}

TEST_P(Debug, NamesTheLoadOfANaN) {
  auto x = Array<Bf16>::random({16, 16}, 1);
  x(3, 5) = nan;
  Array<float> y({16, 16});
  const Status status = launch(
      FiniteCheck::nan, {},
      [](View X, View Y) {
        Value x = X.load(0, {16, 16});
        Y.store(0, dot(x, x));
      },
      x, y);
  EXPECT_THAT(status.message(),
              EndsWith(": load reads the first NaN: element [3, 5] of bf16 [16, 16] in program instance "
                       "0, 0, 0"));
}

TEST_P(Debug, FindsTheIterationThatMakesANaN) {
  Array<float> x({30}, 1), y({10});
  x(24) = -1;
  const Status status = launch(
      FiniteCheck::nan, {},
      [this](View X, View Y) {
        Var sum = fill({10}, 0.0);
        marked = __LINE__ + 1;
        for (Value i : range(0, 30, 10))
          sum += sqrt(X.load(i, {10}));
        Y.store(0, sum);
      },
      x, y);
  EXPECT_THAT(status.message(),
              HasSubstr(": sqrt makes the first NaN: element [4] of f32 [10] in program instance 0, 0, 0, "
                        "loop at " +
                        line(marked) + " at 20"));
}

TEST_P(Debug, WhatIsDiscardedIsNoError) {
  auto x = Array<float>::random({20, 40}, 1);
  x(4, 4) = nan;
  Array<float> y({12, 33}), sum({20});
  const Status status = launch(
      FiniteCheck::nan, {},
      [](View X, View Y, View Sum) {
        Value x = X.load(0, {20, 40});
        Value clean = select(isFinite(x) & (x > 0.0), log(x), 0.0); // NaN where x < 0
        Sum.store(0, rowSum(clean));
        Value outside = (asColumn(iota(20)) >= 12) | (asRow(iota(40)) >= 33);
        Y.store(0, select(outside, log(-abs(clean) - 1), clean)); // NaN outside the view only
      },
      x, y, sum);
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Computes the softmax of rows. Rows beyond the end are -inf, so that their probabilities are NaN.
void softmaxOfRows(View X, View Y) {
  Value row = programId(0) * 8;
  Value x = X.load(row, {8, 16}, -std::numeric_limits<double>::infinity());
  Value e = exp(x - asColumn(rowMax(x)));
  Y.store(row, e / asColumn(rowSum(e)));
}

TEST_P(Debug, RowsBeyondTheEndAreNoError) {
  auto x = Array<float>::random({13, 10}, 1);
  Array<float> y({13, 10});
  EXPECT_EQ(launch(FiniteCheck::nan, {.x = 2}, softmaxOfRows, x, y).message(), "");
  for (int64_t j = 0; j < 10; ++j)
    x(11, j) = -inf;
  EXPECT_THAT(launch(FiniteCheck::nan, {.x = 2}, softmaxOfRows, x, y).message(),
              HasSubstr(": - makes the first NaN: element [3, 0] of f32 [8, 16] in program instance 1, 0, 0"));
}

TEST_P(Debug, WhatAConditionOrAPlaceDropsIsNoError) {
  Array<float> x({8}, 1), y({8}), z({8});
  x(3) = -1;
  auto kernel = [&](View X, View Y, View Z) {
    Value at = iota(8), square = X.load(0, {8});
    Y.storeWhere(at != 3, 0, log(square));
    Z.scatter(sqrt(square), select(at == 3, -1, at));
  };
  Status status = launch(FiniteCheck::nan, Grid{1, 1, 1}, kernel, x, y, z);
  EXPECT_TRUE(status.ok()) << status.message();
  x(4) = -1;
  status = launch(FiniteCheck::nan, Grid{1, 1, 1}, kernel, x, y, z);
  EXPECT_THAT(status.message(), HasSubstr("log makes the first NaN: element [4]"));
}

TEST_P(Debug, FindsInfinitiesIfAsked) {
  Array<float> x({8}, 1), y({8});
  x(6) = 0;
  auto kernel = [](View X, View Y) { Y.store(0, min(1 / X.load(0, {8}), 1e30)); };
  auto unbounded = [](View X, View Y) {
    Value masked = select(iota(8) < 3, -std::numeric_limits<double>::infinity(), X.load(0, {8}));
    Y.store(0, exp(masked) / X.load(0, {8}));
  };
  EXPECT_TRUE(launch(FiniteCheck::inf, {}, kernel, x, y).ok());
  EXPECT_TRUE(launch(FiniteCheck::nan, {}, unbounded, x, y).ok());
  EXPECT_EQ(y(6), inf);
  EXPECT_THAT(launch(FiniteCheck::inf, {}, unbounded, x, y).message(),
              HasSubstr(": / makes the first infinity (inf): element [6] of f32 [8]"));
}

void attention(View Q, View K, View V, View O) {
  OnlineSoftmax softmax(32, 16);
  Value q = Q.load(programId(0) * 32, {32, 16});
  for (Value key : range(0, K.dim(0), 32)) {
    Value s = dot(q, transpose(K.load(key, {32, 16})));
    Value seen = (asRow(key + iota(32)) < K.dim(0)) & (asColumn(programId(0) * 32 + iota(32)) >= asRow(key + iota(32)));
    softmax.update(select(seen, s, -std::numeric_limits<double>::infinity()), V.load(key, {32, 16}));
  }
  O.store(programId(0) * 32, softmax.output());
}

TEST_P(Debug, AMaskOfInfinitiesIsNoError) {
  auto q = Array<Bf16>::random({50, 16}, 1), k = Array<Bf16>::random({70, 16}, 2), v = Array<Bf16>::random({70, 16}, 3);
  Array<Bf16> o({50, 16});
  EXPECT_EQ(launch(FiniteCheck::inf, {.x = 2}, attention, q, k, v, o).message(), "");
  k(65, 3) = nan;
  EXPECT_THAT(launch(FiniteCheck::nan, {.x = 2}, attention, q, k, v, o).message(),
              HasSubstr(": load reads the first NaN: element [1, 3] of bf16 [32, 16] in program instance"));
}

//===-- Roles ----------------------------------------------------------------------------------------------------===//

/// The line at which `product` loads B.
constexpr int kLoadOfB = __LINE__ + 7;

void product(View A, View B, View C) {
  Value i = programId(0) * 64;
  Var c = fill({64, 64}, 0.0);
  for (Value k : range(0, A.dim(1), 64)) {
    print("k", k);
    c = dot(A.load({i, k}, {64, 64}), B.load({k, 0}, {64, 64}), c);
  }
  C.store({i, 0}, c);
}

Expected<Program> recordProduct() {
  return record("product", product, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", bf16, 2});
}

Expected<Artifact> compileReporting(const Expected<Program> &program, const char *emit, const Schedule &schedule = {}) {
  if (!program)
    return program.status();
  return compiler().compile({.program = program->text,
                             .schedule = schedule,
                             .target = {"cuda", "sm_90a"},
                             .emit = emit,
                             .debug = {.check_finite = FiniteCheck::inf}});
}

TEST_P(Debug, AProgramWithRolesReports) {
  auto a = Array<Bf16>::random({70, 136}, 1), b = Array<Bf16>::random({136, 64}, 2);
  Array<Bf16> c({70, 64});
  EXPECT_EQ(launch(FiniteCheck::inf, {}, product, a, b, c).message(), "");
  EXPECT_THAT(printed, SizeIs(3));
  b(130, 7) = nan;
  EXPECT_THAT(launch(FiniteCheck::nan, {}, product, a, b, c).message(),
              HasSubstr(line(kLoadOfB) + ": load reads the first NaN: element [2, 7] of bf16 [64, 64] in program "
                                         "instance 0, 0, 0, loop at "));
}

TEST(DebugOptions, AProducerLoadsForKernelsThatReport) {
  const Expected<Artifact> artifact = compileReporting(recordProduct(), "ptx");
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  for (const char *instruction : {"wgmma.mma_async", "cp.async.bulk.tensor", "setmaxnreg.inc"})
    EXPECT_THAT(artifact->text, HasSubstr(instruction));
}

TEST(DebugOptions, KernelsThatReportDoWithLessSharedMemory) {
  const Schedule schedule = {.num_warps = 4, .num_stages = 8, .roles = Roles::load, .instances_per_sm = 2};
  const Expected<Artifact> artifact = compileReporting(recordProduct(), "ptx", schedule);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->remarks, HasSubstr("product: the kernel reports, and runs with num_stages=1 roles=none, which "
                                           "computes the same: each of 2 program instances needs "));
}

TEST(DebugOptions, KernelsThatReportCanBeAssembled) {
  if (findAssembler().empty())
    return missingTool("ptxas");
  Expected<Program> program = record("kernel", attention, TensorArg{"q", bf16, 2}, TensorArg{"k", bf16, 2},
                                     TensorArg{"v", bf16, 2}, TensorArg{"o", bf16, 2});
  for (const char *arch : {"sm_80", "sm_90a"}) {
    CompileRequest request{
        .program = program->text, .target = {"cuda", arch}, .debug = {.print = true, .check_finite = FiniteCheck::inf}};
    Expected<Artifact> artifact = compiler().compile(request);
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    EXPECT_FALSE(artifact->report.assembler.empty());
  }
  Expected<Artifact> withRoles = compileReporting(recordProduct(), "");
  ASSERT_TRUE(withRoles.ok()) << withRoles.status().message();
  EXPECT_FALSE(withRoles->report.assembler.empty());
}

INSTANTIATE_TEST_SUITE_P(Targets, Debug, ::testing::Values("cpu", "sm_80", "sm_90a"));

} // namespace
} // namespace tegula::language
