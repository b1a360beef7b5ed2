// SPDX-License-Identifier: MIT
// Every ready-made variant, and combinations of them, against the oracle.
#include "harness/case.h"

#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

Case caseOf(std::string variant) {
  return {.variant = std::move(variant),
          .schedule = {.block_m = 32, .block_n = 16},
          .shape = {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 16, .value_dim = 24}};
}

void runAllLengths(Case c) {
  for (auto [queries, keys] : {std::pair{50, 50}, {33, 70}, {70, 33}, {1, 40}}) {
    c.shape.seqlen_q = queries;
    c.shape.seqlen_k = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Variants, EachOneForwardAndBackward) {
  for (std::string_view part : variantParts())
    for (DType dtype : {f32, bf16}) {
      Case c = caseOf(std::string(part));
      c.dtype = dtype;
      runAllLengths(c);
    }
}

TEST(Variants, EachOneWithCausalMask) {
  for (std::string_view part : variantParts()) {
    Case c = caseOf(std::string(part));
    c.causal = Causal::bottom_right;
    runAllLengths(c);
  }
}

TEST(Variants, EachOneOnTheOtherAlgorithms) {
  for (std::string_view part : variantParts())
    for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1}) {
      Case c = caseOf(std::string(part));
      c.algorithm = algorithm;
      c.backward = false;
      runAllLengths(c);
    }
}

TEST(Variants, Combinations) {
  for (const char *name : {"softcap+alibi_br", "bias+softcap", "softcap+bias", "window_br+documents",
                           "prefix_tl+softcap+bias", "alibi_tl+window_tl+documents+bias"})
    runAllLengths(caseOf(name));
}

TEST(Variants, TheOrderOfScoreModificationsMatters) {
  Case c = caseOf("bias+softcap");
  c.shape.seqlen_q = c.shape.seqlen_k = 20;
  Tensors first = makeTensors(c);
  ASSERT_TRUE(launch(c, first).ok());
  c.variant = "softcap+bias";
  Tensors second = makeTensors(c);
  ASSERT_TRUE(launch(c, second).ok());
  EXPECT_NE(first.o.bits(), second.o.bits());
}

} // namespace
} // namespace tegula::testing
