// SPDX-License-Identifier: MIT
// Tests of loops and branches: the variables that they carry.
#include "recorded.h"

#include <memory>
#include <optional>

using namespace tegula;

namespace {

TEST(Loop, CarriesTheVarsThatChangeAndAreNeeded) {
  std::string text = textOf([](View x, View out) {
    Var sum = fill({4}, 0.0), unchanged = fill({4}, 2.0), unneeded = fill({4}, 3.0);
    for (Value i : range(0, 8)) {
      sum += x.load(i, {4}) * unchanged;
      unneeded += 1.0;
    }
    out.store(0, sum);
  });
  expectContains(text, "iter_args(%7 = %3) -> (tensor<4xf32>)");
}

TEST(Loop, WithoutEffectOrUseDisappears) {
  std::string text = textOf([](View x, View out) {
    Var unneeded = x.load(0, {4});
    for ([[maybe_unused]] Value i : range(0, 8))
      unneeded += 1.0;
    out.store(0, 1.0);
  });
  EXPECT_EQ(occurrences(text, "scf."), 0) << text;
}

TEST(Loop, InnerLoopUpdatesAnOuterVar) {
  std::string text = textOf([](View x, View out) {
    Var sum = fill({4}, 0.0);
    for (Value i : range(0, 8))
      for (Value j : range(0, i))
        sum += x.load(j, {4});
    out.store(0, sum);
  });
  EXPECT_EQ(occurrences(text, "iter_args"), 2) << text;
  EXPECT_EQ(occurrences(text, "scf.yield"), 2) << text;
}

TEST(Loop, ReadsWhatAnOuterLoopCarriesWithoutCarryingIt) {
  std::string text = textOf([](View x, View out) {
    Var sum = fill({4}, 0.0);
    for (Value i : range(0, 8)) {
      for (Value j : range(0, i))
        out.store(j, sum);
      sum += x.load(i, {4});
    }
  });
  EXPECT_EQ(occurrences(text, "iter_args"), 1) << text;
}

TEST(Loop, VarsDeclaredInsideDieThere) {
  std::string text = textOf([](View x, View out) {
    for (Value i : range(0, 8)) {
      Var local = x.load(i, {4});
      local *= 2.0;
      out.store(i, local);
    }
    for (Value i : range(0, 8))
      out.store(i, 0.0);
  });
  EXPECT_EQ(occurrences(text, "iter_args"), 0) << text;
}

TEST(Loop, VarOnTheHeapThatOutlivesItsLoopIsNotCarried) {
  std::string text = textOf([](View x, View out) {
    std::unique_ptr<Var> leaked;
    for (Value i : range(0, 8)) {
      leaked = std::make_unique<Var>(x.load(i, {4}));
      out.store(i, *leaked);
    }
    for (Value i : range(0, 8))
      out.store(i, 0.0);
  });
  EXPECT_EQ(occurrences(text, "iter_args"), 0) << text;
}

TEST(Loop, ExchangesVars) {
  std::string text = textOf([](View x, View out) {
    Var a = x.load(0, {4}), b = x.load(4, {4});
    for ([[maybe_unused]] Value i : range(0, 8)) {
      Value old = a;
      a = b;
      b = old;
    }
    out.store(0, a - b);
  });
  expectContains(text, "iter_args(%8 = %3, %9 = %5)");
  expectContains(text, "scf.yield %9, %8");
}

TEST(Loop, HostContinueEndsTheBody) {
  std::string text = textOf([](View x, View out) {
    bool specialised = true;
    for (Value i : range(0, 8)) {
      out.store(i, x.load(i, {4}));
      if (specialised)
        continue;
      out.store(i, 0.0);
    }
  });
  EXPECT_EQ(occurrences(text, "tile.store"), 1) << text;
}

TEST(Loop, OneRangeMayBeUsedTwice) {
  std::string text = textOf([](View, View out) {
    Range blocks = range(0, 64, 16);
    for (Value i : blocks)
      out.store(i, 0.0);
    for (Value i : blocks)
      out.store(i, 1.0);
  });
  EXPECT_EQ(occurrences(text, "scf.for"), 2) << text;
}

TEST(Loop, APromiseOfIndependenceIsWritten) {
  std::string text = textOf([](View, View out) {
    for (Value i : parallelRange(0, 64, 16))
      for (Value j : range(0, 4))
        out.store(i + j, 0.0);
  });
  EXPECT_EQ(occurrences(text, "} {tile.parallel}"), 1) << text;
  EXPECT_EQ(occurrences(text, "scf.for"), 2) << text;
}

TEST(Loop, IterationsAreDynamic) {
  auto body = [](View out, View counter) {
    for (Value i : dynamicRange(counter, 8))
      out.store(i, 0.0);
  };
  Expected<Program> program = record("k", body, TensorArg{"out", f32, 1}, TensorArg{"counter", i32, 1});
  ASSERT_TRUE(program) << program.status().message();
  EXPECT_FALSE(program->parameters[0].counter);
  EXPECT_TRUE(program->parameters[1].counter && program->parameters[1].written);
  EXPECT_NE(program->text.find("{tile.name = \"counter\", tile.written, tile.counter}"), std::string::npos);
}

TEST(Loop, InvariantsStayOutside) {
  std::string text = textOf([](View x, View out) {
    Value invariant = exp(x.load(0, {4}));
    for (Value i : range(0, 8))
      out.store(i, invariant);
  });
  EXPECT_LT(text.find("math.exp"), text.find("scf.for")) << text;
}

TEST(Loop, OnlineSoftmaxInAnOptional) {
  std::string text = textOf(
      [](View x, View out) {
        std::optional<OnlineSoftmax> softmax;
        softmax.emplace(4, 8);
        for (Value i : range(0, 8))
          softmax->update(x.load(i, {4, 4}), x.load(i, {4, 8}));
        out.store(0, softmax->output());
      },
      f32, 2);
  expectContains(text, "tile.softmax_update");
  expectContains(text, "tile.softmax_output %6#1, %6#2 : tensor<4xf32>, tensor<4x8xf32>");
}

TEST(Branch, CarriesTheVarsThatEitherSideAssigns) {
  std::string text = textOf([](View x, View out) {
    Var a = x.load(0, {4}), b = x.load(4, {4}), unchanged = x.load(8, {4});
    when(programId() == 0, [&] { a = a + 1.0; }, [&] { b = b + 2.0; });
    out.store(0, a + b + unchanged);
  });
  expectContains(text, "-> (tensor<4xf32>, tensor<4xf32>)");
  EXPECT_EQ(occurrences(text, "scf.yield"), 2) << text;
}

TEST(Branch, AssignmentBackToTheOldValueIsNoChange) {
  std::string text = textOf([](View x, View out) {
    Var a = x.load(0, {4});
    Value old = a;
    when(programId() == 0, [&] {
      a = a + 1.0;
      a = old;
    });
    out.store(0, a);
  });
  EXPECT_EQ(occurrences(text, "scf.if"), 0) << text;
}

TEST(Branch, HostConditionsAreLegal) {
  expectContains(textOf([](View, View out) { when(true, [&] { out.store(0, 1.0); }); }), "scf.if %0 {");
}

TEST(Var, HelperThatTakesAVarByValueWorksOnACopy) {
  std::string text = textOf([](View x, View out) {
    Var kept = x.load(0, {4});
    auto helper = [](Var copy) -> Value {
      copy += 1.0;
      return copy;
    };
    Value changed = helper(kept);
    out.store(0, kept);
    out.store(4, changed);
  });
  expectContains(text, "tile.store %1, %out[%0]");
}

TEST(Var, MayChangeItsShapeWhereItIsDeclared) {
  std::string text = textOf([](View x, View out) {
    Var value = x.load(0, {8});
    for (int level = 0; level < 2; ++level)
      value = reduceMax(reshape(value, {2, value.shape()[0] / 2}), 0);
    out.store(0, value);
  });
  expectContains(text, "tensor<2x2xf32> -> tensor<2xf32>");
}

TEST(Memory, UnusedLoadsAreNotWritten) {
  std::string text = textOf([](View x, View out) {
    [[maybe_unused]] Value unused = x.load(0, {4});
    out.store(0, 1.0);
  });
  EXPECT_EQ(occurrences(text, "tile.load"), 0) << text;
}

TEST(Memory, LoadsDoNotMovePastStores) {
  std::string text = textOf([](View, View out) {
    Value before = out.load(0, {4});
    out.store(0, fill({4}, 1.0));
    Value after = out.load(0, {4});
    out.store(4, after);
    out.store(8, before);
  });
  EXPECT_EQ(occurrences(text, "tile.load"), 2) << text;
  EXPECT_LT(text.find("tile.load"), text.find("tile.store")) << text;
}

TEST(Memory, LoadsDoNotMovePastLoops) {
  std::string text = textOf([](View, View out) {
    Value before = out.load(0, {4});
    for (Value i : range(0, 8))
      out.store(i, 0.0);
    out.store(8, before);
  });
  EXPECT_LT(text.find("tile.load"), text.find("scf.for")) << text;
}

TEST(Sharing, EqualExpressionsAreOneOperation) {
  std::string text = textOf([](View x, View out) {
    Value a = exp(x.load(0, {4})), b = exp(x.load(0, {4}));
    for (Value i : range(0, 8))
      out.store(i, a + b + exp(x.load(0, {4})));
  });
  EXPECT_EQ(occurrences(text, "math.exp"), 2) << text; // The loop loads again.
}

} // namespace
