// SPDX-License-Identifier: MIT
// Step lists that name other operations than dots, and the lists of the role that loads, on sm_90a. Lists change when
// things happen, never the results; the executor reports races.
#include "language/hopper.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tegula::language {
namespace {

using ::testing::HasSubstr;

/// A list of the role that computes, which may be empty, and one of the role that loads.
std::vector<Steps> listsOf(const char *compute, const char *load) {
  std::vector<Steps> lists{Steps(compute)};
  if (*load != 0)
    lists.emplace_back(load, "load");
  return lists;
}

constexpr int kRows = 128, kDepth = 64, kColumns = 128;

/// C = the sum of A B over the blocks of the depth that `blocks` lists.
Expected<Program> recordProductOfBlocks(const char *compute, const char *load) {
  auto kernel = [=](View A, View B, View Blocks, View C) {
    Var c = fill({kRows, kColumns}, 0.0);
    for (Value i : range(0, Blocks.dim(0), 1, listsOf(compute, load))) {
      Value k = label("block", Blocks.gather(i)) * kDepth;
      c = dot(label("a", A.load({0, k}, {kRows, kDepth})), label("b", B.load({k, 0}, {kDepth, kColumns})), c);
    }
    C.store(0, c);
  };
  return record("product_of_blocks", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                TensorArg{"blocks", i32, 1}, TensorArg{"c", bf16, 2});
}

struct ProductOfBlocks {
  static constexpr int64_t kBlocks = 5;
  Matrix a = Matrix::random({kRows, kBlocks *kDepth}, 1), b = Matrix::random({kBlocks * kDepth, kColumns}, 2);

  void runAndCheck(const Program &program, std::vector<int32_t> listed) {
    Array<int32_t> blocks({static_cast<int64_t>(listed.size())});
    blocks.data = listed;
    Matrix c({kRows, kColumns}, 7.0f);
    OnDevice<Bf16> on_a(a), on_b(b), on_c(c);
    OnDevice<int32_t> on_blocks(blocks);
    launch(program, {.x = 1}, {on_a.ref(), on_b.ref(), on_blocks.ref(), on_c.ref()});
    ASSERT_TRUE(on_c.readBack()) << "memory outside an array was written";
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) {
        double sum = 0, size = 0;
        for (int32_t block : listed)
          for (int64_t k = block * kDepth; k < (block + 1) * kDepth; ++k) {
            sum += double(a(i, k)) * double(b(k, j));
            size += std::abs(double(a(i, k)) * double(b(k, j)));
          }
        EXPECT_NEAR(c(i, j), sum, std::abs(sum) * 0x1p-8 + size * 0x1p-20);
      }
  }
};

/// Expects that no lane reads global memory between the wait for a slot and the copy to it.
void expectCopiesAfterSlots(const std::string &ptx) {
  const std::string copy = "cp.async.bulk.tensor";
  for (size_t at = ptx.find(copy); at != std::string::npos; at = ptx.find(copy, at + 1)) {
    const size_t slot = ptx.rfind("mbarrier.try_wait", at);
    ASSERT_NE(slot, std::string::npos);
    EXPECT_EQ(ptx.substr(slot, at - slot).find("ld.global"), std::string::npos);
  }
}

TEST(Steps, TheLoadRoleReadsAListOfBlocksAnIterationAhead) {
  // The tiles of A and B are parts of one slot. The third list itself puts a look-up between their copies.
  for (const auto &[load, readsBetween] : {std::pair("", false), std::pair("block a@1 b@1", false),
                                           std::pair("a@1 block b@1", true), std::pair("block b@1", false)}) {
    SCOPED_TRACE(load);
    Expected<Program> program = recordProductOfBlocks("", load);
    ASSERT_TRUE(program.ok()) << program.status().message();
    if (!readsBetween)
      expectCopiesAfterSlots(ptxOf(*program));
    for (const std::vector<int32_t> &listed : {std::vector<int32_t>{}, {3}, {4, 0}, {2, 2, 0, 4, 1, 3}})
      ProductOfBlocks().runAndCheck(*program, listed);
  }
}

TEST(Steps, TheOrderOfTheLoadRoleIsPrinted) {
  Expected<Program> program = recordProductOfBlocks("", "block a@1 b@1");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string order = textOf(*program, {}, "order");
  EXPECT_THAT(order, HasSubstr(" of the role load, steps \"block a@1 b@1\"\n  gather          block  "));
  EXPECT_THAT(order, HasSubstr("\n  producer_load   a@1  "));
  EXPECT_THAT(order, HasSubstr("\n  producer_load   b@1  "));
}

TEST(Steps, ListsOfTheLoadRoleAreRefusedAtTheLoop) {
  for (const auto &[load, message] :
       {std::pair("page a@1", "tile.steps = \"page a@1\": nothing in the loop has the label 'page'; legal are "),
        std::pair("a b@1", "a step that is not delayed loads a part of a slot, of which a delayed one loads another"),
        std::pair("b a.end@1", "'a' is no MMA; only MMAs have .end, .lhs and .rhs"),
        std::pair("b block@1", "a step that is not delayed needs the result of a delayed one")}) {
    SCOPED_TRACE(load);
    Expected<Program> program = recordProductOfBlocks("", load);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Expected<Artifact> artifact =
        makeInProcessCompiler()->compile({.program = program->text,
                                          .schedule = {.num_warps = 8, .num_stages = 2, .roles = Roles::load},
                                          .target = {.name = "cuda", .arch = "sm_90a"},
                                          .emit = "ptx"});
    ASSERT_FALSE(artifact.ok());
    EXPECT_THAT(artifact.status().message(), HasSubstr("steps_test.cpp:"));
    EXPECT_THAT(artifact.status().message(), HasSubstr(message));
  }
}

/// Attention of 128 queries to keys in pages of 64, whose numbers a table has.
Expected<Program> recordAttentionToPages(const char *load) {
  auto kernel = [=](View Q, View K, View V, View Table, View O) {
    Value q = Q.load(0, {128, 64});
    OnlineSoftmax softmax(128, 64);
    for (Value i : range(0, Table.dim(0), 1, listsOf("", load))) {
      Value page = label("page", Table.gather(i));
      Value k = label("k", K.at(page).load(0, {64, 64})), v = label("v", V.at(page).load(0, {64, 64}));
      softmax.update(dot(q, transpose(k)) * 0.125, v);
    }
    O.store(0, softmax.output());
  };
  return record("attention_to_pages", kernel, TensorArg{"q", bf16, 2}, TensorArg{"k", bf16, 3}, TensorArg{"v", bf16, 3},
                TensorArg{"table", i32, 1}, TensorArg{"o", bf16, 2});
}

/// Compares the first rows, because pages differ enough.
void checkAttention(Matrix &q, Matrix &k, Matrix &v, std::span<const int32_t> pages, Matrix &o) {
  for (int64_t i = 0; i < 8; ++i) {
    std::vector<double> sums(64);
    double sum = 0;
    for (int32_t page : pages)
      for (int64_t j = 0; j < 64; ++j) {
        double score = 0;
        for (int64_t d = 0; d < 64; ++d)
          score += double(q(i, d)) * double(k(page, j, d));
        const double weight = std::exp(score * 0.125);
        sum += weight;
        for (int64_t d = 0; d < 64; ++d)
          sums[d] += weight * double(v(page, j, d));
      }
    for (int64_t d = 0; d < 64; ++d)
      EXPECT_NEAR(o(i, d), sums[d] / sum, 0x1p-6);
  }
}

TEST(Steps, TheLoadRoleReadsATableOfPagesAnIterationAhead) {
  constexpr int32_t pages[] = {2, 0, 3, 1};
  Matrix q = Matrix::random({128, 64}, 1), k = Matrix::random({4, 64, 64}, 2), v = Matrix::random({4, 64, 64}, 3);
  Array<int32_t> table({4});
  table.data.assign(std::begin(pages), std::end(pages));
  for (const char *load : {"", "page k@1 v@1", "page k v@1"}) {
    SCOPED_TRACE(load);
    Expected<Program> program = recordAttentionToPages(load);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Matrix o({128, 64}, 7.0f);
    OnDevice<Bf16> on_q(q), on_k(k), on_v(v), on_o(o);
    OnDevice<int32_t> on_table(table);
    launch(*program, {.x = 1}, {on_q.ref(), on_k.ref(), on_v.ref(), on_table.ref(), on_o.ref()});
    ASSERT_TRUE(on_o.readBack()) << "memory outside an array was written";
    checkAttention(q, k, v, pages, o);
  }
}

/// X = A B^T times a weight for each row; U = X^T C and V += X B.
Expected<Program> recordWeightedRows(const char *steps) {
  auto kernel = [=](View A, View B, View Weights, View U, View V) {
    Value b = B.load({0, 0}, {128, 128});
    Var u = fill({128, 128}, 0.0);
    for (Value i : range(0, A.dim(0), 64, Steps(steps))) {
      Value a = A.load({i, 0}, {64, 128});
      Value w = label("w", Weights.load(i, {64}));
      Value x = label("x", dot(a, transpose(b))) * asColumn(w); // [64, 128]
      label("add", [&] { V.atomicAdd({i, 0}, x); });
      u = label("u", dot(transpose(a), cast(bf16, x), u)); // [128, 128]
    }
    U.store({0, 0}, u);
  };
  return record("weighted_rows", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"weights", f32, 1},
                TensorArg{"u", f32, 2}, TensorArg{"v", f32, 2});
}

TEST(Steps, AListNamesALoadAndAnAddition) {
  constexpr int64_t rows = 192;
  Matrix a = Matrix::random({rows, 128}, 1), b = Matrix::random({128, 128}, 2, -0.1, 0.1);
  Array<float> weights({rows});
  std::iota(weights.data.begin(), weights.data.end(), -3.0f);
  const Schedule lanes{.num_warps = 8, .num_stages = 2, .roles = Roles::load};
  Schedule tma = lanes;
  tma.add_by_tma = true;
  for (const char *steps : {"x u", "w x add u", "x w u add", "x w u add@1"})
    for (const Schedule &schedule : {lanes, tma}) {
      SCOPED_TRACE(steps);
      Expected<Program> program = recordWeightedRows(steps);
      ASSERT_TRUE(program.ok()) << program.status().message();
      EXPECT_THAT(textOf(*program, schedule, "order"), HasSubstr(steps));
      Array<float> u({128, 128}, 7.0f), v({rows, 128}, 0.0f);
      OnDevice<Bf16> on_a(a), on_b(b);
      OnDevice<float> on_weights(weights), on_u(u), on_v(v);
      launch(*program, {.x = 1}, {on_a.ref(), on_b.ref(), on_weights.ref(), on_u.ref(), on_v.ref()}, schedule);
      ASSERT_TRUE(on_u.readBack() && on_v.readBack()) << "memory outside an array was written";
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < 128; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < 128; ++k)
            sum += double(a(i, k)) * double(b(j, k));
          EXPECT_NEAR(v(i, j), sum * weights(i), std::abs(weights(i)) * 0x1p-10);
        }
    }
}

} // namespace
} // namespace tegula::language
