// SPDX-License-Identifier: MIT
// The messages for wrong descriptions and wrong launches. They run on the cores.
#include "plan/programs.h"

#include "compiler/client/InProcessCompiler.h"
#include "tegula/dsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

using ::testing::EndsWith;

KernelCache &cache() {
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  static KernelCache kernels(*compiler, *cpuDevice());
  return kernels;
}

void copy(View X, View Y) {
  Value i = programId(0) * 16;
  Y.store(i, X.load(i, {16}));
}

const Size n("n");

std::string errorOf(const PlanSpec &spec) { return Plan::make(spec, cache()).status().message(); }

/// Returns "file:LINE: error: " for the line of a declaration.
std::string errorAt(Location where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": error: ";
}

TEST(PlanErrors, ASizeThatNoTensorGives) {
  const KernelSpec kernel("copy", copy, input("x", f32, {n}), output("y", f32, {n}));
  EXPECT_EQ(kernel.declared().line(), __LINE__ - 1);
  EXPECT_EQ(errorOf(KernelSpec(kernel).grid(Size("m"))),
            errorAt(kernel.declared()) + "plan 'copy': the size 'm' in 'm' is no dimension of a caller's tensor; give "
                                         "it to one, or make it a choice");
}

TEST(PlanErrors, TwoArgumentsOfOneNameThatDiffer) {
  const TensorSpec x = input("x", f32, {n}), y = output("y", f32, {n});
  const TensorSpec other = input("y", f32, {n, 4});
  EXPECT_EQ(other.where.line(), __LINE__ - 1);
  const PlanSpec spec("twice", {KernelSpec("copy", copy, x, y).grid(1), KernelSpec("again", copy, other, x).grid(1)});
  EXPECT_EQ(errorOf(spec), errorAt(other.where) + "plan 'twice': 'y' is f32 [n, 4] here, and f32 [n] at " + __FILE__ +
                               ":" + std::to_string(y.where.line()));
}

TEST(PlanErrors, AnInputThatIsWritten) {
  const TensorSpec y = input("y", f32, {n});
  EXPECT_EQ(errorOf(KernelSpec("copy", copy, input("x", f32, {n}), y).grid(1)),
            errorAt(y.where) + "kernel 'copy': 'y' is an input, but the kernel writes it; declare it output or inout");
}

TEST(PlanErrors, AnOutputThatIsNotWritten) {
  const TensorSpec x = output("x", f32, {n});
  EXPECT_EQ(errorOf(KernelSpec("copy", copy, x, output("y", f32, {n})).grid(1)),
            errorAt(x.where) + "kernel 'copy': 'x' is an output, but the kernel does not write it; declare it input");
}

TEST(PlanErrors, AWorkspaceThatNoKernelWrote) {
  const TensorSpec part = workspace("part", f32, {n});
  EXPECT_EQ(errorOf(KernelSpec("copy", copy, part, output("y", f32, {n})).grid(1)),
            errorAt(part.where) + "kernel 'copy': 'part' is a workspace that no kernel has written before; it may be "
                                  "zeroed(...)");
}

TEST(PlanErrors, ARankThatDoesNotExist) {
  const TensorSpec x = input("x", f32, {});
  EXPECT_EQ(errorOf(KernelSpec("copy", copy, x, output("y", f32, {n})).grid(1)),
            errorAt(x.where) + "plan 'copy': 'x' has rank 0; legal are 1 to 5");
}

TEST(PlanErrors, AKernelThatMisusesTheLanguage) {
  const auto wrong = [](View X, View Y) { Y.store(0, X.load(0, {16}) + X.load(0, {8})); };
  const std::string message = errorOf(KernelSpec("wrong", wrong, input("x", f32, {n}), output("y", f32, {n})).grid(1));
  EXPECT_NE(message.find("plan_errors_test.cpp:" + std::to_string(__LINE__ - 2)), std::string::npos) << message;
}

TEST(PlanErrors, AConfigurationOfNoKernel) {
  EXPECT_EQ(Plan::make(matmul(), cache(), {.configurations = {{"add", {}}}}).status().message(),
            "plan 'matmul' has no kernel 'add'");
}

TEST(PlanErrors, TunablesThatDisagreeAboutTheWorkspace) {
  const auto write = [](View X, View Part, int) { Part.store(0, X.load(0, {16})); };
  const auto read = [](View Part, View Y, int) { Y.store(0, Part.load(0, {16})); };
  Tunable block("block", {16, 32}, 16);
  const TensorSpec part = workspace("part", f32, {ceilDiv(n, block)});
  const PlanSpec spec("blocks", {KernelSpec("write", write, input("x", f32, {n}), part, block).grid(1),
                                 KernelSpec("read", read, part, output("y", f32, {n}), block).grid(1)});
  EXPECT_TRUE(Plan::make(spec, cache()).ok());
  EXPECT_EQ(Plan::make(spec, cache(), {.configurations = {{"read", {.tunables = {{"block", 32}}}}}}).status().message(),
            "plan 'blocks': a size of 'part' is ceildiv(n, 16) for one kernel and ceildiv(n, 32) for 'read'; give both "
            "the same tunables");
}

TEST(PlanErrors, TunablesThatDisagreeAboutACallersTensor) {
  const auto write = [](View X, View Part, int) { Part.store(0, X.load(0, {16})); };
  const auto read = [](View Part, View Y, int) { Y.store(0, Part.load(0, {16})); };
  Tunable block("block", {16, 32}, 16);
  const PlanSpec spec("blocks",
                      {KernelSpec("write", write, input("x", f32, {n}), output("part", f32, {block}), block).grid(1),
                       KernelSpec("read", read, inout("part", f32, {block}), output("y", f32, {n}), block).grid(1)});
  EXPECT_EQ(Plan::make(spec, cache(), {.configurations = {{"read", {.tunables = {{"block", 32}}}}}}).status().message(),
            "plan 'blocks': a size of 'part' is 16 for one kernel and 32 for 'read'; give both the same tunables");
}

TEST(PlanErrors, AWorkspaceThatOnlyALaterKernelZeroes) {
  const auto add = [](View X, View Sum) { Sum.atomicAdd(0, X.load(0, {16})); };
  const TensorSpec sum = workspace("sum", f32, {16}), again = zeroed(sum);
  const PlanSpec spec("sums", {KernelSpec("add", add, input("x", f32, {n}), sum).grid(1),
                               KernelSpec("copy", copy, again, output("y", f32, {n})).grid(1)});
  EXPECT_EQ(errorOf(spec), errorAt(again.where) +
                               "plan 'sums': 'sum' is f32 [16] of the zeroed workspace here, and "
                               "f32 [16] of the workspace at " +
                               __FILE__ + ":" + std::to_string(sum.where.line()));
}

TEST(PlanErrors, APreparationThatIsNotAlone) {
  const Size m("m");
  const TensorSpec x = input("x", f32, {n}), part = workspace("part", f32, {n}), y = output("y", f32, {m});
  const KernelSpec first("first", copy, x, part), second("second", copy, part, y);
  const auto error = [](const std::vector<KernelSpec> &kernels, size_t count) {
    return errorOf(PlanSpec("prepared", kernels).preparation(count));
  };
  EXPECT_EQ(error({first, second}, 1), "");
  EXPECT_EQ(error({first, second}, 3), "plan 'prepared': its preparation has 3 kernels, and the plan 2");
  EXPECT_EQ(error({first, second}, 2), errorAt(y.where) + "plan 'prepared': kernel 'second' of the preparation writes "
                                                          "'y', which is the caller's; it may only write a workspace");
  EXPECT_EQ(error({first, KernelSpec("again", copy, x, part)}, 1),
            errorAt(part.where) + "kernel 'again': 'part' belongs to the preparation, but a later kernel writes it");
  EXPECT_EQ(error({KernelSpec(first).grid(m), second}, 1),
            errorAt(first.declared()) + "plan 'prepared': its preparation needs the size 'm', which only arguments of "
                                        "other kernels give");
}

TEST(PlanErrors, ATunableThatIsNoNumberOfTheProgram) {
  const int64_t large = (int64_t(1) << 32) + 64;
  EXPECT_EQ(Plan::make(matmul(), cache(), {.configurations = {{"matmul", {.tunables = {{"block_m", large}}}}}})
                .status()
                .message(),
            "kernel 'matmul': the tunable 'block_m' is 4294967360; legal are 32-bit integers");
}

TEST(PlanErrors, NamesWithTwoMeanings) {
  const KernelSpec device("copy", copy, input("x", f32, {Size("concurrency")}), output("y", f32, {n}));
  EXPECT_EQ(errorOf(KernelSpec(device).grid(1)),
            errorAt(device.declared()) + "plan 'copy': a dimension is called 'concurrency', which is a size of the "
                                         "device; legal is any other name");
  const KernelSpec kernel("copy", copy, input("x", f32, {n}), output("y", f32, {n}));
  for (const char *name : {"x", "concurrency"})
    EXPECT_EQ(errorOf(PlanSpec(KernelSpec(kernel).grid(1)).choice(name, 1)),
              errorAt(kernel.declared()) + "plan 'copy': the choice '" + name +
                  "' has the name of an argument, of another choice, or of the size 'concurrency'");
  EXPECT_EQ(errorOf(PlanSpec(KernelSpec(kernel).grid(1)).choice("parts", concurrency(), "paste")),
            errorAt(kernel.declared()) +
                "plan 'copy': the choice 'parts' takes the concurrency of 'paste', which is no kernel of the plan");
}

/// A launch of matmul() with tensors that fit, unless a test changes them.
struct Call {
  std::vector<float> memory = std::vector<float>(64 * 64);
  TensorRef a = contiguous(memory.data(), bf16, {8, 4}), b = contiguous(memory.data(), bf16, {4, 6}),
            c = contiguous(memory.data() + 512, f32, {8, 6});

  std::string error() const { return Plan::make(matmul(), cache())->launch({{"a", a}, {"b", b}, {"c", c}}).message(); }
};

TEST(LaunchErrors, ShapesThatDoNotFit) {
  Call call;
  EXPECT_EQ(call.error(), "");
  call.b.shape[0] = 5;
  EXPECT_EQ(call.error(), "argument 'b': its dimension 0 is 5; it must be k, which is 4 from dimension 1 of 'a'");
}

TEST(LaunchErrors, KindsThatDoNotFit) {
  Call call;
  call.a.rank = 3;
  EXPECT_EQ(call.error(), "argument 'a': expected rank 2, got rank 3");
  call = {};
  call.c.dtype = bf16;
  EXPECT_EQ(call.error(), "kernel 'matmul': argument 'c': expected f32, got bf16");
  EXPECT_EQ(Plan::make(matmul(), cache())->launch({{"a", 1.0f}, {"b", call.b}, {"c", call.c}}).message(),
            "argument 'a': expected a tensor, got a scalar");
}

TEST(LaunchErrors, NamesThatDoNotFit) {
  const Call call;
  const Plan plan = *Plan::make(matmul(), cache());
  EXPECT_EQ(plan.launch({{"a", call.a}, {"b", call.b}}).message(), "argument 'c' is missing");
  EXPECT_EQ(plan.launch({{"a", call.a}, {"b", call.b}, {"c", call.c}, {"d", call.c}}).message(),
            "plan 'matmul' has no argument 'd'; it has a, b, c");
  EXPECT_EQ(plan.launch({{"a", call.a}, {"b", call.b}, {"c", call.c}, {"a", call.a}}).message(),
            "plan 'matmul': an argument is given twice, or a choice without the choices before it");
  const Argument one[] = {call.a};
  EXPECT_EQ(plan.launch(one).message(), "plan 'matmul': expected 3 arguments, got 1");
}

TEST(LaunchErrors, AWorkspaceThatIsTooSmall) {
  std::vector<float> memory(4096);
  const TensorRef x = contiguous(memory.data(), f32, {16, 200}), y = contiguous(memory.data() + 3500, f32, {16});
  const Plan plan = *Plan::make(splitSum(), cache());
  EXPECT_EQ(plan.launch({{"x", x}, {"y", y}}).message(),
            "argument 'workspace': it has 0 bytes; 256 are needed for these shapes");
  alignas(64) float own[64] = {};
  const TensorRef inside = contiguous(own + 60, f32, {16, 200});
  EXPECT_EQ(plan.launch({{"x", inside}, {"y", y}}, {own, sizeof own}).message(),
            "argument 'workspace': it shares memory with 'x'; it needs memory of its own");
  EXPECT_EQ(plan.launch({{"x", x}, {"y", y}, {"splits", int64_t(0)}}).message(),
            "plan 'split_sum': splits must be 1 or more");
  EXPECT_EQ(plan.launch({{"x", x}, {"y", y}, {"splits", 2}}).message(), "argument 'splits': a choice is an int64_t");
  EXPECT_EQ(plan.workspaceBytes({{"columns", 4}}).status().message(),
            "the size 'rows' is missing; sizes are rows, columns, splits");
  EXPECT_EQ(plan.workspaceBytes({{"rows", 4}, {"columns", 4}, {"x", 4}}).status().message(),
            "there is no size 'x'; sizes are rows, columns, splits");
  EXPECT_EQ(plan.workspaceBytes({{"rows", int64_t(1) << 62}, {"columns", 400}}).status().code(),
            ErrorCode::resource_exhausted);
}

TEST(LaunchErrors, WhatIsPreparedForOtherSizes) {
  alignas(64) float own[256] = {}, data[256] = {};
  const Plan plan = *Plan::make(packRows(), cache());
  const TensorRef counts = contiguous(data, i32, {20}), x = contiguous(data + 32, f32, {20, 8}),
                  y = contiguous(data + 200, f32, {32});
  const auto launch = [&](const Workspace &workspace, const Workspace &prepared) {
    return plan.launch({{"counts", counts}, {"x", x}, {"y", y}}, workspace, {}, prepared).message();
  };
  EXPECT_EQ(*plan.preparedBytes({{"rows", 20}}), 128);
  EXPECT_EQ(plan.prepare({{"counts", counts}}, {own, 64}).message(),
            "argument 'prepared': it has 64 bytes; that of these sizes has 128");
  EXPECT_EQ(launch({}, {own, 192}), "argument 'prepared': it has 192 bytes; that of these sizes has 128");
  EXPECT_EQ(launch({}, {own + 1, 128}), "argument 'prepared': its address is null or not a multiple of 64");
  EXPECT_EQ(launch({}, {data, 128}), "argument 'prepared': it shares memory with 'counts'; it needs memory of its own");
  EXPECT_EQ(launch({own, 256}, {own + 16, 128}),
            "argument 'workspace': it shares memory with 'prepared'; it needs memory of its own");
  EXPECT_EQ(plan.prepare({{"counts", counts}, {"x", x}}, {own, 128}).message(),
            "the preparation of plan 'pack_rows' has no argument 'x'; it has counts");
  EXPECT_EQ(plan.prepare(std::span<const Argument>(), {own, 128}).message(),
            "the preparation of plan 'pack_rows': expected 1 arguments, got 0");
  EXPECT_EQ(Plan::make(matmul(), cache())->prepare(std::span<const Argument>(), {own, 128}).message(),
            "plan 'matmul' has no preparation");
}

TEST(LaunchErrors, AWorkspaceOfANegativeSize) {
  const Status status = Plan::make(splitSum(), cache())->workspaceBytes({{"rows", -1}, {"columns", 200}}).status();
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(), "the workspace 'parts': its dimension 1 would be -1; it must be 0 or more");
}

} // namespace
} // namespace tegula::testing
