// SPDX-License-Identifier: MIT
// A program without a schedule is refused for lack of shared memory only if every legal schedule is.
#include "compiler/client/InProcessCompiler.h"
#include "sass/fences.h"
#include "support/missing_tool.h"
#include "support/test_device.h"
#include "tegula/dsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

namespace tegula::language {
namespace {

using ::testing::ContainsRegex, ::testing::HasSubstr, ::testing::Not;

/// Sizes of a program's tiles: rows and columns of a result, and the rows of the tiles that a loop loads.
struct Sizes {
  int64_t rows, columns, more_columns, block;
};

/// Attention without the maximum of a row: O = exp(Q K^T) V, with [rows, columns] of Q and more_columns of V.
void attention(View Q, View K, View O, DType dtype, const Sizes &sizes) {
  Value i = programId(0) * sizes.rows, q = Q.load({i, 0}, {sizes.rows, sizes.columns});
  Var o = fill({sizes.rows, sizes.more_columns}, 0.0);
  for (Value j : range(0, K.dim(0), sizes.block)) {
    Value s = dot(q, transpose(K.load({j, 0}, {sizes.block, sizes.columns}))); // [rows, block]
    o = dot(cast(dtype, exp(s)), K.load({j, 0}, {sizes.block, sizes.more_columns}), o);
  }
  O.store({i, 0}, o);
}

/// A matrix product.
void product(View A, View B, View C, DType, const Sizes &sizes) {
  Value i = programId(0) * sizes.rows;
  Var c = fill({sizes.rows, sizes.columns}, 0.0);
  for (Value k : range(0, B.dim(0), sizes.block))
    c = dot(A.load({i, k}, {sizes.rows, sizes.block}), B.load({k, 0}, {sizes.block, sizes.columns}), c);
  C.store({i, 0}, c);
}

/// A sum of products whose left operand is computed and transposed.
void gradient(View A, View B, View C, DType dtype, const Sizes &sizes) {
  Value a = A.load({programId(0) * sizes.rows, 0}, {sizes.rows, sizes.columns});
  Var c = fill({sizes.rows, sizes.columns}, 0.0);
  for (Value j : range(0, B.dim(0), sizes.block)) {
    Value b = B.load({j, 0}, {sizes.block, sizes.columns});
    c = dot(transpose(cast(dtype, dot(b, transpose(a)))), b, c);
  }
  C.store({programId(0) * sizes.rows, 0}, c);
}

using Body = void (*)(View, View, View, DType, const Sizes &);

std::string textOf(Body body, DType dtype, const Sizes &sizes) {
  auto kernel = [&](View a, View b, View c) { body(a, b, c, dtype, sizes); };
  return testing::valueOf(
             record("kernel", kernel, TensorArg{"a", dtype, 2}, TensorArg{"b", dtype, 2}, TensorArg{"c", f32, 2}))
      .text;
}

Expected<Artifact> compiled(const std::string &program, const std::string &arch, const Schedule &schedule = {}) {
  static std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  return compiler->compile({program, schedule, {"cuda", arch}, "order"});
}

void softmax(View Q, View K, View O, DType, const Sizes &sizes) {
  Value q = Q.load({0, 0}, {sizes.rows, sizes.columns});
  OnlineSoftmax softmax(int(sizes.rows), int(sizes.columns));
  for (Value j : range(0, K.dim(0), sizes.block)) {
    Value k = K.load({j, 0}, {sizes.block, sizes.columns});
    softmax.update(dot(q, transpose(k)), Q.load({j, 0}, {sizes.block, sizes.columns}));
  }
  O.store({0, 0}, softmax.output());
}

/// Softmax of each row, without a dot.
void rowSoftmax(View A, View, View C, DType, const Sizes &sizes) {
  Value row = programId(0) * sizes.rows, e = exp(A.load({row, 0}, {sizes.rows, sizes.columns}));
  C.store({row, 0}, e / asColumn(rowSum(e)));
}

bool isRefused(const Expected<Artifact> &artifact) {
  return !artifact && artifact.status().code() == ErrorCode::resource_exhausted;
}

/// Returns a schedule with the given fields that the compiler accepts; "" if there is none.
std::string legalSchedule(const std::string &program, const std::string &arch, const Schedule &given = {}) {
  for (int warps : {1, 2, 4, 8, 16})
    for (auto [roles, overlap] : {std::pair(Roles::none, Overlap::none), std::pair(Roles::load, Overlap::none),
                                  std::pair(Roles::load, Overlap::pingpong)})
      for (bool in_registers : {false, true}) {
        const Schedule schedule{.num_warps = warps,
                                .num_stages = 1,
                                .roles = roles,
                                .overlap = overlap,
                                .lhs_in_registers = in_registers,
                                .add_by_tma = false};
        if (compiled(program, arch, filled(given, schedule)).ok())
          return toString(filled(given, schedule));
      }
  return "";
}

TEST(Defaults, NothingIsRefusedThatALegalScheduleMeets) {
  const std::string archs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_120"};
  std::mt19937 random(1);
  auto oneOf = [&](auto &&choices) { return choices[random() % std::size(choices)]; };
  int refused = 0, smaller = 0;
  for (int i = 0; i < 60; ++i) {
    const Body body = oneOf(std::array{attention, product, gradient});
    const DType dtype = oneOf(std::array{f32, f16, bf16});
    const Sizes sizes{oneOf(std::array{16, 32, 64}), oneOf(std::array{64, 128, 224, 256, 512, 576}),
                      oneOf(std::array{64, 128, 256}), oneOf(std::array{16, 32, 64, 128})};
    const std::string arch = oneOf(archs), program = textOf(body, dtype, sizes);
    SCOPED_TRACE(arch + "\n" + program);
    const Expected<Artifact> artifact = compiled(program, arch);
    smaller += artifact.ok() && artifact->remarks.find("the compiler chooses") != std::string::npos;
    if (artifact.ok())
      continue;
    ++refused;
    ASSERT_TRUE(isRefused(artifact)) << artifact.status().message();
    EXPECT_EQ(legalSchedule(program, arch), "");
  }
  EXPECT_GE(refused, 5);
  EXPECT_GE(smaller, 5);
}

/// Schedules with one field each.
const Schedule kOneField[] = {
    {.num_warps = 1},
    {.num_warps = 4},
    {.num_warps = 8},
    {.num_warps = 16},
    {.num_stages = 1},
    {.num_stages = 3},
    {.num_stages = 6},
    {.roles = Roles::none},
    {.roles = Roles::load},
    {.overlap = Overlap::none},
    {.overlap = Overlap::pingpong},
    {.optimistic_softmax = false},
    {.lhs_in_registers = false},
    {.lhs_in_registers = true},
    {.add_by_tma = false},
    {.add_by_tma = true},
    {.instances_per_sm = 2},
};

TEST(Defaults, AGivenFieldIsNotRefusedForWhatALegalScheduleMeets) {
  std::mt19937 random(2);
  auto oneOf = [&](auto &&choices) { return choices[random() % std::size(choices)]; };
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    const Body body = oneOf(std::array{attention, product, gradient, rowSoftmax});
    const Sizes sizes{oneOf(std::array{64, 128}), oneOf(std::array{64, 128, 256}), oneOf(std::array{64, 128}),
                      oneOf(std::array{64, 128})};
    const Schedule given = oneOf(kOneField);
    const std::string program = textOf(body, oneOf(std::array{f16, bf16, f32}), sizes);
    SCOPED_TRACE(toString(given) + "\n" + program);
    const Expected<Artifact> artifact = compiled(program, "sm_90a", given);
    if (artifact.ok() || !compiled(program, "sm_90a").ok())
      continue;
    ++refused;
    EXPECT_EQ(legalSchedule(program, "sm_90a", given), "") << artifact.status().message();
  }
  EXPECT_LE(refused, 20);
}

/// Returns the schedule with which the compiler compiles the program for sm_90a.
Schedule completed(const std::string &program, const Schedule &given) {
  const Expected<Artifact> artifact = compiled(program, "sm_90a", given);
  return artifact ? testing::valueOf(parseSchedule(artifact->schedule)) : Schedule();
}

TEST(Defaults, NumStagesAloneKeepsRoles) {
  for (const std::string &program :
       {textOf(attention, bf16, {128, 64, 64, 64}), textOf(product, bf16, {128, 128, 64, 64}),
        textOf(softmax, bf16, {128, 64, 64, 64}), textOf(gradient, bf16, {64, 64, 64, 64})}) {
    SCOPED_TRACE(program);
    Schedule expected = completed(program, {});
    EXPECT_EQ(expected.roles, Roles::load);
    expected.num_stages = 3;
    EXPECT_EQ(toString(completed(program, {.num_stages = 3})), toString(expected));
    const Expected<Artifact> artifact = compiled(program, "sm_90a", {.num_stages = 3});
    EXPECT_THAT(artifact->remarks, Not(HasSubstr("roles=none")));
  }
}

TEST(Defaults, AGivenFieldStaysAndTheOthersAreChosen) {
  for (const std::string &program :
       {textOf(attention, bf16, {128, 64, 64, 64}), textOf(product, bf16, {128, 128, 64, 64}),
        textOf(softmax, bf16, {128, 64, 64, 64})})
    for (const Schedule &given : kOneField) {
      SCOPED_TRACE(toString(given) + "\n" + program);
      const Schedule schedule = completed(program, given);
      EXPECT_EQ(toString(schedule), toString(filled(given, schedule)));
      const bool fits = (given.num_warps == 0 || given.num_warps == 8) && given.roles != Roles::none;
      EXPECT_EQ(schedule.roles, fits ? Roles::load : Roles::none);
      if (given.lhs_in_registers == true)
        EXPECT_EQ(schedule.overlap, Overlap::pingpong);
    }
}

TEST(Defaults, AProgramWithoutDotsTakesEachField) {
  const std::string program = textOf(rowSoftmax, f32, {16, 128, 64, 64});
  for (const Schedule &given : kOneField) {
    SCOPED_TRACE(toString(given));
    const Schedule schedule = completed(program, given);
    EXPECT_EQ(toString(schedule), toString(filled(given, schedule)));
  }
  EXPECT_EQ(completed(program, {.num_stages = 3}).roles, Roles::none);
}

TEST(Defaults, ColumnsOfALatentHaveRoomWithOneStage) {
  const std::string program = textOf(attention, bf16, {64, 576, 512, 64});
  const Expected<Artifact> artifact = compiled(program, "sm_90a");
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->remarks, HasSubstr("defaults_test.cpp:"));
  EXPECT_THAT(artifact->remarks, HasSubstr(": the compiler chooses num_warps=8 num_stages=1 "));
}

/// Expects a remark at a line of this file that says why mma.sync computes a dot.
void expectReason(const std::string &program, const std::string &reason, const Schedule &given = {}) {
  const Expected<Artifact> artifact = compiled(program, "sm_90a", given);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_THAT(artifact->remarks, ContainsRegex("defaults_test.cpp:[0-9]+: mma.sync computes this dot and all warps "
                                               "copy its operands, because the compiler chooses roles=none: "));
  EXPECT_THAT(artifact->remarks, HasSubstr(reason));
}

void oneProduct(View A, View B, View C, DType, const Sizes &sizes) {
  C.store({0, 0}, dot(A.load({0, 0}, {sizes.rows, sizes.columns}), B.load({0, 0}, {sizes.columns, sizes.columns})));
}

/// Squares a matrix again and again.
void power(View A, View, View C, DType dtype, const Sizes &sizes) {
  Value a = A.load({0, 0}, {sizes.rows, sizes.columns});
  Var c = fill({sizes.rows, sizes.columns}, 0.0);
  for ([[maybe_unused]] Value j : range(0, A.dim(0), sizes.block))
    c = dot(cast(dtype, c), a);
  C.store({0, 0}, c);
}

TEST(Defaults, EachReasonAgainstRolesIsARemark) {
  const std::string rows = "legal are 64, 128 or 192 rows and at most 256 columns in all dots of innermost loops";
  expectReason(textOf(attention, bf16, {32, 64, 64, 32}), "neither 32 rows nor 32 columns are a multiple of 64");
  expectReason(textOf(softmax, f16, {256, 64, 64, 64}),
               "a warp has whole rows of an online softmax, whose output has 256 rows; " + rows);
  expectReason(textOf(softmax, f16, {256, 64, 64, 64}), " prevents roles=load for all");
  expectReason(textOf(attention, bf16, {256, 64, 128, 128}), "accumulators of its loop need 384 registers of a thread");
  expectReason(textOf(oneProduct, bf16, {64, 64, 64, 64}), "it is in no innermost loop");
  expectReason(textOf(power, bf16, {64, 64, 64, 64}), "its loop loads no operand of a dot");
  expectReason(textOf(product, bf16, {128, 256, 64, 256}), "two stages of the tiles that an iteration loads need");
}

/// Adds each tile of scores to memory, which TMA would do from shared memory.
void scatter(View A, View B, View C, DType, const Sizes &sizes) {
  Value a = A.load({0, 0}, {sizes.rows, sizes.columns});
  for (Value j : range(0, B.dim(0), sizes.block))
    C.atomicAdd({0, j}, dot(a, transpose(B.load({j, 0}, {sizes.block, sizes.columns}))));
}

TEST(Defaults, AGivenFieldAgainstRolesIsNamed) {
  const std::string program = textOf(softmax, f16, {128, 64, 64, 64});
  expectReason(program, "num_warps=4 is given, and whole warpgroups compute it with num_warps=8", {.num_warps = 4});
  expectReason(textOf(gradient, bf16, {64, 64, 64, 64}),
               "num_warps=2 is given, and whole warpgroups compute it with num_warps=4", {.num_warps = 2});
  const std::string adds = textOf(scatter, bf16, {128, 128, 128, 128});
  expectReason(adds, "need 196608 bytes of shared memory with num_stages=6, and ", {.num_stages = 6});
  expectReason(adds, "use smaller tiles, or lower num_stages", {.num_stages = 6});
  expectReason(textOf(product, bf16, {128, 128, 64, 64}), "use smaller tiles, or lower instances_per_sm",
               {.instances_per_sm = 3});
  expectReason(program, "roles=load keeps operands in registers with overlap=pingpong only",
               {.overlap = Overlap::none, .lhs_in_registers = true});
  EXPECT_EQ(compiled(program, "sm_90a", {.num_warps = 4, .roles = Roles::none})->remarks, "");
}

/// Computes the difference of two attentions with the same values: two accumulators of scores, and two of outputs.
std::string differential(int rows, int block, int columns) {
  auto kernel = [&](View Q, View R, View K, View L, View V, View O) {
    Value row = programId(0) * rows, q = Q.load({row, 0}, {rows, columns}), r = R.load({row, 0}, {rows, columns});
    OnlineSoftmax first(rows, columns), second(rows, columns);
    for (Value j : range(0, K.dim(0), block)) {
      Value v = V.load({j, 0}, {block, columns});
      first.update(dot(q, transpose(K.load({j, 0}, {block, columns}))), v);
      second.update(dot(r, transpose(L.load({j, 0}, {block, columns}))), v);
    }
    O.store({row, 0}, first.output() - 0.5 * second.output());
  };
  return testing::valueOf(record("differential", kernel, TensorArg{"q", bf16, 2}, TensorArg{"r", bf16, 2},
                                 TensorArg{"k", bf16, 2}, TensorArg{"l", bf16, 2}, TensorArg{"v", bf16, 2},
                                 TensorArg{"o", f32, 2}))
      .text;
}

std::string wideProduct(int rows, int columns) { return textOf(product, bf16, {rows, columns, 0, 64}); }

int spillsOf(const std::string &program, const std::string &arch, const Schedule &schedule) {
  const Expected<Artifact> artifact = makeInProcessCompiler()->compile({program, schedule, {"cuda", arch}});
  return artifact ? artifact->report.spill_bytes : std::numeric_limits<int>::max();
}

class SpillingTiles : public ::testing::TestWithParam<const char *> {};

TEST_P(SpillingTiles, DoNotSpillWhereANeighbourDoesNot) {
  if (!testing::hasAssembler())
    return missingTool("ptxas");
  const std::string arch = GetParam();
  for (const std::string &program :
       {differential(128, 128, 128), differential(128, 64, 128), differential(128, 128, 64), differential(64, 64, 128),
        textOf(softmax, f16, {256, 64, 0, 64}), textOf(softmax, bf16, {128, 128, 0, 128}),
        textOf(softmax, bf16, {128, 192, 0, 128}), textOf(attention, bf16, {64, 64, 64, 256}), wideProduct(256, 128)}) {
    SCOPED_TRACE(program);
    const int spills = spillsOf(program, arch, {});
    for (int warps : {4, 8, 16})
      for (int stages : {1, 2})
        for (Roles roles : {Roles::none, Roles::load})
          if (spills != 0 && (roles == Roles::none || arch == "sm_90a"))
            EXPECT_GE(spillsOf(program, arch, {.num_warps = warps, .num_stages = stages, .roles = roles}), spills);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, SpillingTiles, ::testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Defaults, DifferentialAttentionGetsAScheduleThatDoesNotSpill) {
  if (!testing::hasAssembler())
    return missingTool("ptxas");
  for (auto [block, columns] : {std::pair(64, 128), std::pair(128, 64)}) {
    const std::string program = differential(128, block, columns);
    Expected<Artifact> artifact = makeInProcessCompiler()->compile({program, {}, {"cuda", "sm_90a"}});
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    EXPECT_EQ(artifact->report.spill_bytes, 0);
    EXPECT_EQ(artifact->report.notes, "");
    // The texts are those of the same schedule.
    const Expected<Artifact> order = compiled(program, "sm_90a");
    ASSERT_TRUE(order.ok()) << order.status().message();
    EXPECT_EQ(order->threads, artifact->threads);
    EXPECT_EQ(order->remarks, artifact->remarks);
  }
}

TEST(Defaults, TilesThatSpillWithEachScheduleGetARemark) {
  if (!testing::hasAssembler())
    return missingTool("ptxas");
  EXPECT_THAT(compiled(differential(128, 128, 128), "sm_90a")->remarks,
              ContainsRegex("defaults_test.cpp:[0-9]+: registers spill [0-9]+ bytes with the best schedule of the "
                            "compiler; use smaller tiles"));
}

TEST(Defaults, RemarksSayWhichFieldsTheCompilerChose) {
  const std::string program = differential(128, 64, 64);
  EXPECT_THAT(compiled(program, "sm_90a")->remarks,
              HasSubstr("overlap=pingpong, which the compiler chose, has no effect on this loop"));
  const Schedule given{.num_warps = 8, .num_stages = 2, .roles = Roles::load, .overlap = Overlap::pingpong};
  EXPECT_THAT(compiled(program, "sm_90a", given)->remarks, HasSubstr("overlap=pingpong has no effect on this loop"));
}

/// wgmma reads such operands K-major only. A role transposes the right one, if it may; if not, all warps copy it.
TEST(Defaults, OperandsThatMustBeTransposed) {
  const auto remarksOf = [](DType dtype, const Sizes &sizes) {
    const Body body = [](View A, View B, View C, DType dtype, const Sizes &sizes) {
      Var c = fill({sizes.rows, sizes.columns}, 0.0);
      for (Value k : range(0, B.dim(0), sizes.block)) {
        Value a = A.load({0, k}, {sizes.rows, sizes.block}), b = B.load({k, 0}, {sizes.block, sizes.columns});
        c = dtype == f32 ? dot(a, b, c, Precision::tf32) : dot(a, b, c);
      }
      C.store({0, 0}, c);
    };
    return compiled(textOf(body, dtype, sizes), "sm_90a")->remarks;
  };
  EXPECT_EQ(remarksOf(f32, {128, 64, 0, 32}), "");
  EXPECT_EQ(remarksOf(e4m3, {128, 128, 0, 128}), "");
  EXPECT_EQ(remarksOf(e4m3, {128, 64, 0, 128}), "");
  EXPECT_THAT(remarksOf(f32, {128, 64, 0, 16}),
              HasSubstr("its depth of 16 and its 64 columns must be multiples of 32 for operands of f32"));
  EXPECT_THAT(remarksOf(e4m3, {128, 32, 0, 128}),
              HasSubstr("its depth of 128 and its 32 columns must be multiples of 128 for operands of f8E4M3FN"));
  EXPECT_THAT(remarksOf(f32, {128, 128, 0, 64}), HasSubstr("all warps copy this tile, not the producer: a role "
                                                           "transposes tiles of at most 16384 bytes, in registers"));
}

TEST(Defaults, NoReasonIsGivenWhereAllIsWell) {
  EXPECT_EQ(compiled(textOf(softmax, f16, {32, 64, 64, 64}), "sm_80")->remarks, "");
  EXPECT_EQ(compiled(textOf(softmax, f16, {128, 64, 64, 64}), "sm_90a")->remarks, "");
  EXPECT_THAT(compiled(textOf(product, f32, {64, 64, 64, 64}), "sm_90a")->remarks, Not(HasSubstr("roles")));
}

} // namespace
} // namespace tegula::language
