// SPDX-License-Identifier: MIT
// Tests of record(): parameters, pass-through arguments, exceptions, and use of the language outside record().
#include "recorded.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <thread>

using namespace tegula;

namespace {

TEST(Record, ReportsParametersAndWhichAreWritten) {
  auto kernel = [](View x, Value scale, View out, View sums) {
    Value row = x.at(programId()).load(0, {8});
    out.at(programId()).store(0, row * scale);
    sums.atomicAdd(0, row);
  };
  auto program = record("kernel", kernel, TensorArg{"x", bf16, 2}, ScalarArg{"scale", f32}, TensorArg{"out", f16, 2},
                        TensorArg{"sums", f32, 1});
  ASSERT_TRUE(program) << program.status().message();
  std::vector<Parameter> expected = {{"x", Parameter::Kind::tensor, bf16, 2, false},
                                     {"scale", Parameter::Kind::scalar, f32, 0, false},
                                     {"out", Parameter::Kind::tensor, f16, 2, true},
                                     {"sums", Parameter::Kind::tensor, f32, 1, true}};
  EXPECT_EQ(program->parameters, expected);
  EXPECT_EQ(program->name, "kernel");
  expectContains(program->text, "{tile.name = \"out\", tile.written}");
  expectContains(program->text, "%x: !tile.view<2xbf16> {tile.name = \"x\"}");
}

struct Config {
  int64_t block = 16;
  Config() = default;
  Config(const Config &) = delete;
};

TEST(Record, SpellsE4m3AndItsLiterals) {
  auto kernel = [](View x, View out) {
    Value loaded = x.load(0, {8}, -1e30);
    out.store(0, select(loaded > 0, loaded, 0.3));
    out.store(0, constant(e4m3, std::nan("")));
    out.store(0, constant(e4m3, 1e30));
  };
  auto program = record("kernel", kernel, TensorArg{"x", e4m3, 1}, TensorArg{"out", e4m3, 1});
  ASSERT_TRUE(program) << program.status().message();
  expectContains(program->text, "%x: !tile.view<1xf8E4M3FN> {tile.name = \"x\"}");
  expectContains(program->text, "{fill = -448.0 : f8E4M3FN}");
  expectContains(program->text, "dense<0.3> : tensor<8xf8E4M3FN>");
  expectContains(program->text, "arith.constant 0x7F : f8E4M3FN");
  expectContains(program->text, "arith.constant 448.0 : f8E4M3FN");
}

TEST(Record, PassesOtherArgumentsThrough) {
  Config config;
  int calls = 0;
  auto kernel = [](View out, const Config &c, int &calls, std::unique_ptr<int> owned) {
    ++calls;
    out.store(0, fill({c.block}, *owned));
  };
  auto program = record("kernel", kernel, TensorArg{"out", i32, 1}, config, calls, std::make_unique<int>(7));
  ASSERT_TRUE(program);
  EXPECT_EQ(calls, 1);
  expectContains(program->text, "dense<7> : tensor<16xi32>");
}

TEST(Record, TakesAFunctionAndArgumentsThatAreVariables) {
  const TensorArg constantArgument{"a", f32, 1};
  TensorArg argument{"b", f32, 1};
  ScalarArg scalar{"s", i64};
  auto program = record(
      std::string("kernel"), +[](View a, View b, Value s) { b.store(s, a.load(0, {4})); }, constantArgument, argument,
      scalar);
  EXPECT_TRUE(program) << program.status().message();
}

TEST(Record, ExceptionsBecomeErrors) {
  auto program = record("kernel", [] { throw std::runtime_error("no such variant"); });
  ASSERT_FALSE(program);
  EXPECT_EQ(program.status().code(), ErrorCode::invalid_program);
  expectContains(program.status().message(), "threw an exception: no such variant");
  EXPECT_FALSE(record("kernel", [] { throw 1; }));
}

TEST(Record, ExceptionsInsideControlFlowBecomeErrors) {
  auto kernel = [](View out) {
    for (Value i : range(0, 8))
      when(i > 3, [&] {
        out.store(i, 1.0);
        throw std::runtime_error("inside");
      });
  };
  auto program = record("kernel", kernel, TensorArg{"out", f32, 1});
  ASSERT_FALSE(program);
  expectContains(program.status().message(), "threw an exception: inside");
  expectContains(program.status().message(), "this loop was left by break, return or an exception");
  EXPECT_TRUE(record("kernel", [](View out) { out.store(0, 1.0); }, TensorArg{"out", f32, 1}));
}

TEST(Record, Nests) {
  auto inner = [](View out) { out.store(0, 1.0); };
  auto outer = [&](View out) {
    auto program = record("inner", inner, TensorArg{"inner_out", f32, 1});
    EXPECT_TRUE(program);
    out.store(0, 2.0);
  };
  auto program = record("outer", outer, TensorArg{"outer_out", f32, 1});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->parameters.size(), 1u);
  EXPECT_EQ(occurrences(program->text, "tile.store"), 1);
}

TEST(Record, ReportsEveryErrorOnceSortedByLine) {
  auto kernel = [](View x) {
    for (int i = 0; i < 2; ++i)
      transpose(x.load(0, {4}));
    reshape(x.load(0, {4}), {5});
  };
  auto program = record("kernel", kernel, TensorArg{"x", f32, 1});
  ASSERT_FALSE(program);
  std::string message = program.status().message();
  EXPECT_EQ(occurrences(message, "error: "), 2) << message;
  EXPECT_LT(message.find("transpose"), message.find("reshape")) << message;
}

TEST(Record, ErrorsDoNotCascade) {
  auto kernel = [](View x, View out) {
    Var sum = dot(x.load(0, {4, 8}), x.load(0, {4, 8}));
    for (Value i : range(0, 8)) {
      sum += exp(sum);
      sum = dot(sum, x.load(i, {8, 8}), sum);
    }
    out.store(0, rowMax(sum));
    asColumn(sum);
  };
  auto program = record("kernel", kernel, TensorArg{"x", f32, 2}, TensorArg{"out", f32, 2});
  ASSERT_FALSE(program);
  EXPECT_EQ(occurrences(program.status().message(), "error: "), 1) << program.status().message();
}

TEST(Record, LimitsTheNumberOfErrors) {
  auto kernel = [](View x) {
    for (int size = 2; size < 100; ++size)
      reshape(x.load(0, {1}), {size});
  };
  auto program = record("kernel", kernel, TensorArg{"x", f32, 1});
  ASSERT_FALSE(program);
  expectContains(program.status().message(), "78 more errors are not shown");
}

TEST(Record, LongChainsOfOperations) {
  std::string text = textOf([](View x, View out) {
    Var value = x.load(0, {4});
    for (int i = 0; i < 20000; ++i)
      value = value * 2.0 + 1.0;
    out.store(0, value);
  });
  EXPECT_EQ(occurrences(text, "arith.mulf"), 20000);
}

TEST(Record, ThreadsDoNotDisturbEachOther) {
  auto kernel = [](View x, View out) {
    for (Value i : range(0, 8))
      out.store(i, exp(x.load(i, {4})));
  };
  std::string expected = textOf(kernel);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(textOf(kernel), expected);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Outside, NothingCrashes) {
  Value x = iota(8);
  Var sum = fill({4}, 0.0);
  for (Value i : range(0, 8)) {
    sum = sum + cast(f32, i) * dot(x, x);
    when(i > 3, [&] { sum += 1.0; }, [&] { sum -= select(!(sum > 0), 1.0, 2.0); });
  }
  OnlineSoftmax softmax(4, 8);
  softmax.update(sum, transpose(permute(asRow(x), {1, 0})));
  EXPECT_FALSE(softmax.output().shape().empty());
  differentiate(sum, x, softmax.logSumExp());
}

TEST(Outside, ValuesAndVarsFromAnotherRecordingAreErrors) {
  std::optional<Value> kept;
  std::optional<Var> variable;
  std::optional<View> view;
  auto keep = [&](View x) {
    kept.emplace(x.load(0, {4}));
    variable.emplace(*kept);
    view.emplace(x);
  };
  ASSERT_TRUE(record("first", keep, TensorArg{"x", f32, 1}));
  auto use = [&](View out) {
    out.store(0, *kept);
    *variable = *kept;
    out.store(0, *variable);
    out.store(0, view->load(0, {4}));
    out.store(view->dim(0), 1.0);
    EXPECT_EQ(kept->shape().size(), 5u);
  };
  auto program = record("second", use, TensorArg{"out", f32, 1});
  ASSERT_FALSE(program);
  EXPECT_EQ(occurrences(program.status().message(), "this value belongs to another recording"), 4)
      << program.status().message();
}

TEST(Outside, ValuesMadeThereAreErrors) {
  Value x = iota(8);
  auto program = record("kernel", [&](View out) { out.store(0, x + 1); }, TensorArg{"out", i32, 1});
  ASSERT_FALSE(program);
  expectContains(program.status().message(), "this value was made outside of record()");
}

} // namespace
