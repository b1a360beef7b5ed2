// SPDX-License-Identifier: MIT
// Tests products that a variant adds to q k^T. variants_test.cpp compares them with the oracle.
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

Case base(std::string variant) {
  return {.variant = std::move(variant),
          .schedule = {.block_m = 32, .block_n = 32},
          .shape = {
              .batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 70, .seqlen_k = 50, .head_dim = 16, .value_dim = 24}};
}

TEST(Products, GoWithOtherOptions) {
  for (DType dtype : {f32, bf16}) {
    Case c = base("product");
    c.dtype = dtype;
    c.seed = 3; // Keys of each head; seed 4 has the same ones for all heads.
    EXPECT_EQ(runCase(c), "");
    c.seed = 4;
    c.causal = Causal::bottom_right;
    c.dropout_p = 0.25;
    EXPECT_EQ(runCase(c), "");
    c.dropout_p = 0;
    c.sinks = c.lse_gradient = c.contain_nonfinite = true;
    c.block_mask.source = BlockMask::Source::computed;
    EXPECT_EQ(runCase(c), "");
    c.variant = "product+softcap"; // The gradients of products then have no common factor of dropout.
    c.dropout_p = 0.25;
    EXPECT_EQ(runCase(c), "");
  }
}

/// Scores of two products are those of one product of longer rows.
TEST(Products, TwoAreOneOfLongerRows) {
  Case c = base("product_64");
  c.backward = false;
  Tensors t = makeTensors(c);
  ASSERT_EQ(launch(c, t).message(), "");
  const std::vector<float> q = t.q.numbers(), k = t.k.numbers(), more_q = t.variant.tensors[0].numbers(),
                           more_k = t.variant.tensors[1].numbers();
  auto joined = [](const std::vector<float> &first, const std::vector<float> &second) {
    std::vector<float> rows;
    for (size_t row = 0; row < first.size() / 16; ++row) {
      rows.insert(rows.end(), first.begin() + long(row * 16), first.begin() + long(row * 16 + 16));
      rows.insert(rows.end(), second.begin() + long(row * 64), second.begin() + long(row * 64 + 64));
    }
    return rows;
  };
  Case one = base("none");
  one.backward = false;
  one.shape.head_dim = 80;
  one.sharpness = std::sqrt(80.0 / 16); // The same scale.
  Tensors longer = makeTensors(one);
  longer.q = TestTensor(f32, {2, 4, 70, 80}, c.layout, c.poison, joined(q, more_q));
  longer.k = TestTensor(f32, {2, 2, 50, 80}, c.layout, c.poison, joined(k, more_k));
  longer.v = TestTensor(f32, {2, 2, 50, 24}, c.layout, c.poison, t.v.numbers());
  ASSERT_EQ(launch(one, longer).message(), "");
  const std::vector<float> o = t.o.numbers(), expected = longer.o.numbers();
  for (size_t n = 0; n < o.size(); ++n)
    ASSERT_NEAR(o[n], expected[n], 1e-4) << n;
}

/// A NaN in a hidden key reaches no gradient.
TEST(Products, ContainNan) {
  Case c = base("product");
  c.causal = Causal::top_left;
  c.contain_nonfinite = true;
  c.seed = 3;
  c.shape.seqlen_q = 20; // Queries 0 to 19 do not see keys 20 to 49.
  Tensors t = makeTensors(c);
  std::vector<float> k = t.variant.tensors[1].numbers();
  for (size_t row = 0; row < k.size() / 24; ++row)
    if (row % 50 >= 20)
      std::fill_n(k.begin() + long(row * 24), 24, std::numeric_limits<float>::quiet_NaN());
  t.variant.tensors[1] = TestTensor(f32, {2, 2, 50, 24}, c.layout, c.poison, k);
  ASSERT_EQ(launch(c, t).message(), "");
  EXPECT_EQ(check(t, measure(c, t)), "");
}

/// Returns the message of a plan.
std::string refusal(Variant variant, DType dtype = f32, int head_dim = 16, bool deterministic = false) {
  AttentionProblem problem{.dtype = dtype, .head_dim = head_dim, .value_dim = 16, .variant = std::move(variant)};
  problem.backward = true;
  problem.deterministic = deterministic;
  return AttentionPlan::make(problem, *machine().cache).status().message();
}

TEST(Products, AreRefused) {
  Variant good = addedProduct(f32, 8);
  EXPECT_EQ(refusal(good), "");
  EXPECT_EQ(refusal(good, bf16), "argument 'variant': 'q_added', an operand of a product, has the element type f32; it "
                                 "must be that of q, bf16");
  EXPECT_EQ(refusal(addedProduct(f32, 580)), "argument 'q_added.last_dim': it is 580; it must be from 1 to 576");
  EXPECT_EQ(refusal(addedProduct(f32, 72), f32, 512),
            "head_dim and last_dim of the products of 'added_product' are 584 together; at most 576 are "
            "supported");
  Variant unequal = good;
  unequal.tensors[1].last_dim = 16;
  EXPECT_EQ(refusal(unequal), "argument 'variant': the operands of a product differ in last_dim: 'q_added' has "
                              "8, 'k_added' has 16");
  Variant exchanged = good;
  exchanged.products = {{.queries = 1, .keys = 0}};
  EXPECT_EQ(refusal(exchanged), "argument 'variant': 'k_added', an operand of a product, must be [batch, heads, "
                                "seqlen_q, last_dim]: set its axes, and last_dim");
  Variant absent = good;
  absent.products = {{.queries = 0, .keys = 2}};
  EXPECT_EQ(refusal(absent), "argument 'variant': a product of 'added_product' has tensor 2, but there are 2");
  EXPECT_EQ(refusal(good, f32, 16, /*deterministic=*/true).substr(0, 86),
            "deterministic is true, but variant 'added_product' wants the gradient of 'q_added', of");
  EXPECT_EQ(refusal(addedProduct(f32, 8, /*wants_gradient=*/false), f32, 16, /*deterministic=*/true), "");
  EXPECT_EQ(either(good, documents()).status.message(), "either: 'added_product' has a mask, a score, a probability, a "
                                                        "product or a peak, which are no bands and ranges of keys; "
                                                        "combine the union with a variant that has them");
}

TEST(Products, SizesOfACallAreChecked) {
  Case c = base("product");
  c.seed = 4; // k_added is [2, 1, 50, 24].
  Tensors t = makeTensors(c);
  t.variant.tensors[1] = TestTensor(f32, {2, 3, 50, 24}, c.layout, c.poison);
  EXPECT_EQ(launch(c, t).message(),
            "argument 'k_added': its size 1 is 3; it must repeat to [batch, kv_heads, seqlen_k, 24] with kv_heads = 2: "
            "it must be 1 or 2");
  t.variant.tensors[1] = TestTensor(f32, {2, 1, 50, 16}, c.layout, c.poison);
  EXPECT_EQ(launch(c, t).message(), "argument 'k_added': its size 3 is 16; it must be [batch, kv_heads, seqlen_k, 24] "
                                    "with last size = 24");
}

} // namespace
} // namespace tegula::testing
