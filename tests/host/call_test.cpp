// SPDX-License-Identifier: MIT
// Tests of attention in one call.
#include "host/host_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <gmock/gmock.h>
#include <limits>
#include <memory>

using namespace tegula::host;
using namespace tegula::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

TEST(Call, ComputesAttention) {
  const Context context = makeContext();
  tegula_attention_problem causal = problem();
  causal.causal = TEGULA_CAUSAL_TOP_LEFT;
  Sequence sequence(50);
  ASSERT_TRUE(isOk(context.forward(causal, sequence.forward())));
  EXPECT_TRUE(sequence.isRight(causal));
  ASSERT_TRUE(isOk(context.backward(causal, sequence.backward())));
  EXPECT_NE(sequence.dq, std::vector<float>(sequence.dq.size()));
}

TEST(Call, ComputesVariants) {
  const Context context = makeContext();
  tegula_attention_problem capped = problem();
  capped.variants = TEGULA_SOFTCAP;
  capped.softcap = 0.5;
  Sequence sequence(40);
  ASSERT_TRUE(isOk(context.forward(capped, sequence.forward())));
  EXPECT_TRUE(sequence.isRight(capped));
}

/// Returns a picture of the keys that each query sees: a row of 'x' and '.' for each query. All scores are 0, and the
/// value of each key is another unit vector. `numbers` are the bounds of a given window, if there is one, then the
/// offset of the diagonal. If the call fails, returns its message.
std::string seenKeys(const tegula_attention_problem &problem, int64_t queries, int64_t keys,
                     const tegula_block_mask *blocks = nullptr, std::vector<int32_t> numbers = {},
                     const Context &context = makeContext()) {
  constexpr int64_t dim = 16; // At least as many as there are keys.
  std::vector<float> q(queries * dim), k(keys * dim), v(keys * dim), o(queries * dim), lse(queries);
  for (int64_t key = 0; key < keys; ++key)
    v[key * dim + key] = 1;
  auto args = make<tegula_forward_args>();
  args.q = tensor(q.data(), TEGULA_F32, {1, 1, queries, dim});
  args.k = tensor(k.data(), TEGULA_F32, {1, 1, keys, dim});
  args.v = tensor(v.data(), TEGULA_F32, {1, 1, keys, dim});
  args.o = tensor(o.data(), TEGULA_F32, {1, 1, queries, dim});
  args.lse = tensor(lse.data(), TEGULA_F32, {1, 1, queries});
  args.blocks = blocks;
  std::vector<tegula_tensor> variant; // Of a given window.
  for (size_t n = 0; n + 1 < numbers.size(); ++n)
    variant.push_back(tensor(&numbers[n], TEGULA_I32, {1}));
  args.variant_tensors = variant.data();
  args.variant_tensor_count = variant.size();
  if (!numbers.empty())
    args.diagonal_offset = tensor(&numbers.back(), TEGULA_I32, {1});
  if (const Status status = context.forward(problem, args); !status.ok())
    return status.message();
  std::string picture;
  for (int64_t query = 0; query < queries; ++query, picture += ' ')
    for (int64_t key = 0; key < keys; ++key)
      picture += o[query * dim + key] > 0 ? 'x' : '.';
  return picture;
}

TEST(Call, VisitsTheBlocksThatACallGives) {
  tegula_attention_problem blocks = problem();
  blocks.backward = 0;
  blocks.causal = TEGULA_CAUSAL_TOP_LEFT;
  blocks.block_mask = TEGULA_BLOCK_MASK_GIVEN;
  blocks.block_q = 2;
  blocks.block_k = 3;
  std::vector<int32_t> partial = {1, 0}, partial_blocks = {0, -1, -1, -1, -1, -1}, full = {0, 2},
                       full_blocks = {7, 7, 7, 2, 0, 7};
  const tegula_block_mask mask = {.kv_num_blocks = tensor(partial.data(), TEGULA_I32, {1, 1, 2}),
                                  .kv_indices = tensor(partial_blocks.data(), TEGULA_I32, {1, 1, 2, 3}),
                                  .full_kv_num_blocks = tensor(full.data(), TEGULA_I32, {1, 1, 2}),
                                  .full_kv_indices = tensor(full_blocks.data(), TEGULA_I32, {1, 1, 2, 3})};
  EXPECT_EQ(seenKeys(blocks, 4, 8, &mask), "x....... xx...... xxx..... xxx..... ");
  blocks.causal = TEGULA_CAUSAL_NONE;
  EXPECT_EQ(seenKeys(blocks, 4, 8, &mask), "xxx..... xxx..... xxx...xx xxx...xx ");
  EXPECT_THAT(seenKeys(blocks, 4, 8), HasSubstr("kv_num_blocks and kv_indices are missing"));
}

TEST(Call, AMaskAndAVariantHaveOneDiagonal) {
  tegula_attention_problem window = problem();
  window.backward = 0;
  window.variants = TEGULA_WINDOW;
  window.window_left = 2;
  window.window_right = 1;
  window.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  EXPECT_EQ(seenKeys(window, 2, 9), ".....xxx. ......xxx ");
  window.bottom_right = 1;
  EXPECT_EQ(seenKeys(window, 2, 9), ".....xxx. ......xxx ");
  window.causal = TEGULA_CAUSAL_NONE;
  EXPECT_EQ(seenKeys(window, 2, 9), ".....xxxx ......xxx ");
  window.bottom_right = 0;
  EXPECT_EQ(seenKeys(window, 2, 9), "xx....... xxx...... ");
  window.causal = TEGULA_CAUSAL_TOP_LEFT;
  EXPECT_EQ(seenKeys(window, 2, 9), "x........ xx....... ");
  window.bottom_right = 1;
  EXPECT_EQ(seenKeys(window, 2, 9),
            "argument 'bottom_right': it is 1, but 'causal' is TEGULA_CAUSAL_TOP_LEFT (1); a problem has one diagonal: "
            "set bottom_right = 0 to count from the first query, or causal = TEGULA_CAUSAL_BOTTOM_RIGHT (2) to count "
            "from the last one");
}

TEST(Call, ASideOfAWindowMayHaveNoBound) {
  tegula_attention_problem window = problem();
  window.backward = 0;
  window.variants = TEGULA_WINDOW;
  window.window_left = TEGULA_NO_BOUND;
  window.window_right = 1;
  EXPECT_EQ(seenKeys(window, 2, 6), "xx.... xxx... ");
  window.window_left = 0;
  window.window_right = TEGULA_NO_BOUND;
  EXPECT_EQ(seenKeys(window, 2, 6), "xxxxxx .xxxxx ");
}

/// Decoding with a past compiles once: no length of the past, and no window.
TEST(Call, TakesTheDiagonalAndTheWindowFromEachCall) {
  const Context context = makeContext();
  tegula_attention_problem moved = problem();
  moved.backward = 0;
  moved.causal = TEGULA_CAUSAL_TOP_LEFT;
  moved.diagonal_offset = 1;
  const auto seen = [&](std::vector<int32_t> numbers) {
    return seenKeys(moved, 2, 6, nullptr, std::move(numbers), context);
  };
  EXPECT_EQ(seen({3}), "xxxx.. xxxxx. ");
  EXPECT_EQ(seen({-1}), "...... x..... ");
  EXPECT_EQ(seen({}), "argument 'diagonal_offset': it is missing, but 'diagonal_offset' is set in the plan's problem; "
                      "pass it, or make the plan without 'diagonal_offset'");
  moved.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  EXPECT_EQ(seen({-1}), "xxxx.. xxxxx. ");
  moved.causal = TEGULA_CAUSAL_NONE;
  EXPECT_EQ(seen({3}), "argument 'diagonal_offset': it is 1, but nothing counts from a diagonal; set it to 0, or set a "
                       "causal mask, TEGULA_WINDOW, TEGULA_GIVEN_WINDOW, TEGULA_ALIBI, TEGULA_PREFIX_LM or "
                       "TEGULA_GLOBAL_TOKENS");
  moved.variants = TEGULA_GIVEN_WINDOW;
  EXPECT_EQ(seen({1, 0, 2}), ".xx... ..xx.. ");
  ASSERT_TRUE(isOk(context.setPolicy(TEGULA_LOADED_ONLY)));
  EXPECT_EQ(seen({-1, 1, 2}), "xxxx.. xxxxx. ");
  EXPECT_EQ(seen({1, TEGULA_NO_BOUND, 2}), ".xxxxx ..xxxx ");
  EXPECT_EQ(seen({-1, -1, 0}), "xxxxxx xxxxxx ");
}

TEST(Call, AddsAProductToTheScores) {
  tegula_attention_problem added = problem();
  added.backward = 0;
  added.product_dim = 8;
  std::vector<float> q(2 * 16), k(3 * 16), v(3 * 16), o(2 * 16), lse(2), more_q(2 * 8), more_k(3 * 8);
  more_q[8] = 2; // Of query 1.
  more_k[8] = 3; // Of key 1.
  auto args = make<tegula_forward_args>();
  args.q = tensor(q.data(), TEGULA_F32, {1, 1, 2, 16});
  args.k = tensor(k.data(), TEGULA_F32, {1, 1, 3, 16});
  args.v = tensor(v.data(), TEGULA_F32, {1, 1, 3, 16});
  args.o = tensor(o.data(), TEGULA_F32, {1, 1, 2, 16});
  args.lse = tensor(lse.data(), TEGULA_F32, {1, 1, 2});
  args.scale = 0.5F;
  tegula_tensor operands[] = {tensor(more_q.data(), TEGULA_F32, {1, 1, 2, 8}),
                              tensor(more_k.data(), TEGULA_F32, {1, 1, 3, 8})};
  args.variant_tensors = operands;
  args.variant_tensor_count = 2;
  const Context context = makeContext();
  ASSERT_TRUE(isOk(context.forward(added, args)));
  EXPECT_NEAR(lse[0], std::log(3), 1e-6);
  EXPECT_NEAR(lse[1], std::log(2 + std::exp(3)), 1e-5);
  added.product_dim = 600;
  EXPECT_EQ(context.forward(added, args).message().substr(0, 65),
            "argument 'q_added.last_dim': it is 600; it must be from 1 to 576");
}

TEST(Call, TakesAnIntervalOfKeysForEachQuery) {
  tegula_attention_problem intervals = problem();
  intervals.backward = 0;
  intervals.variants = TEGULA_KEY_INTERVALS;
  std::vector<int32_t> begin = {1, 3}, end = {4};
  std::vector<float> q(2 * 16), k(6 * 16), v(6 * 16), o(2 * 16), lse(2);
  auto args = make<tegula_forward_args>();
  args.q = tensor(q.data(), TEGULA_F32, {1, 1, 2, 16});
  args.k = tensor(k.data(), TEGULA_F32, {1, 1, 6, 16});
  args.v = tensor(v.data(), TEGULA_F32, {1, 1, 6, 16});
  args.o = tensor(o.data(), TEGULA_F32, {1, 1, 2, 16});
  args.lse = tensor(lse.data(), TEGULA_F32, {1, 1, 2});
  tegula_tensor bounds[] = {tensor(begin.data(), TEGULA_I32, {2}), tensor(end.data(), TEGULA_I32, {1, 1})};
  args.variant_tensors = bounds;
  args.variant_tensor_count = 2;
  const Context context = makeContext();
  ASSERT_TRUE(isOk(context.forward(intervals, args)));
  EXPECT_NEAR(lse[0], std::log(3), 1e-6); // All scores are 0.
  EXPECT_NEAR(lse[1], 0, 1e-6);
  bounds[0] = tensor(begin.data(), TEGULA_I32, {3});
  EXPECT_EQ(
      context.forward(intervals, args).message(),
      "argument 'interval_begin': its size 0 is 3; it must repeat to [batch, seqlen_q] with seqlen_q = 2: it must "
      "be 1 or 2");
}

/// Returns a problem in which a query sees a window or global tokens.
tegula_attention_problem windowOrGlobals(int64_t window_left, int64_t global_tokens) {
  tegula_attention_problem united = problem();
  united.any_of[0].variants = TEGULA_WINDOW;
  united.any_of[0].window_left = window_left;
  united.any_of[1].variants = TEGULA_GLOBAL_TOKENS;
  united.any_of[1].global_tokens = global_tokens;
  return united;
}

TEST(Call, AQuerySeesTheKeysOfAnySetOfAUnion) {
  const Context context = makeContext();
  tegula_attention_problem united = windowOrGlobals(1, 2);
  united.backward = 0;
  EXPECT_EQ(seenKeys(united, 6, 6), "xxxxxx xxxxxx xxx... xxxx.. xx.xx. xx..xx ");
  united.causal = TEGULA_CAUSAL_TOP_LEFT;
  EXPECT_EQ(seenKeys(united, 6, 6), "x..... xx.... xxx... xxxx.. xx.xx. xx..xx ");
  united.variants = TEGULA_WINDOW; // Holds besides the union.
  united.window_left = 4;
  EXPECT_EQ(seenKeys(united, 6, 6), "x..... xx.... xxx... xxxx.. xx.xx. .x..xx ");
  united.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  united.variants = 0;
  EXPECT_EQ(seenKeys(united, 2, 6), "xx.xx. xx..xx ");
  united.any_of[0] = {}; // Sets may lie anywhere.
  EXPECT_EQ(seenKeys(united, 2, 6), "xx.... xx.... ");
  united.any_of[3].variants = TEGULA_WINDOW | TEGULA_GIVEN_WINDOW; // The keys of both windows.
  united.any_of[3].window_left = 3;
  united.diagonal_offset = 1;
  EXPECT_EQ(seenKeys(united, 2, 6, nullptr, {1, 0, 0}, context), "xx.xx. xx..xx ");
  ASSERT_TRUE(isOk(context.setPolicy(TEGULA_LOADED_ONLY)));
  EXPECT_EQ(seenKeys(united, 2, 6, nullptr, {4, 0, -1}, context), "xxxx.. xxxxx. ");
}

/// A mask of the same keys has the same gradients.
TEST(Call, AUnionHasABackwardPass) {
  const Context context = makeContext();
  const auto sees = [](int64_t query, int64_t key) {
    return query < 3 || key < 3 || (query - 20 <= key && key <= query);
  };
  Sequence united(200), masked(200);
  for (int32_t deterministic : {0, 1}) {
    tegula_attention_problem problem = windowOrGlobals(20, 3);
    problem.deterministic = deterministic;
    ASSERT_TRUE(isOk(context.forward(problem, united.forward())));
    EXPECT_TRUE(united.isRight(problem, sees));
    ASSERT_TRUE(isOk(context.backward(problem, united.backward())));
    std::vector<int8_t> mask;
    for (int64_t query = 0; query < 200; ++query)
      for (int64_t key = 0; key < 200; ++key)
        mask.push_back(sees(query, key));
    const tegula_tensor tensor = tegula::host::tensor(mask.data(), TEGULA_I8, {200, 200});
    problem = tegula::test::problem();
    problem.variants = TEGULA_MASK;
    tegula_forward_args forward = masked.forward();
    tegula_backward_args backward = masked.backward();
    forward.variant_tensors = backward.variant_tensors = &tensor;
    forward.variant_tensor_count = backward.variant_tensor_count = 1;
    ASSERT_TRUE(isOk(context.forward(problem, forward)));
    ASSERT_TRUE(isOk(context.backward(problem, backward)));
    EXPECT_THAT(united.dq, ::testing::Pointwise(::testing::FloatNear(1e-5f), masked.dq));
    EXPECT_THAT(united.dk, ::testing::Pointwise(::testing::FloatNear(1e-5f), masked.dk));
    EXPECT_THAT(united.dv, ::testing::Pointwise(::testing::FloatNear(1e-5f), masked.dv));
  }
}

TEST(Call, SaysWhatIsWrongWithAUnion) {
  const Context context = makeContext();
  const auto refusal = [&](auto change) {
    tegula_attention_problem united = windowOrGlobals(1, 2);
    change(united);
    return context.supports(united).message();
  };
  EXPECT_EQ(refusal([](auto &) {}), "");
  EXPECT_EQ(refusal([](auto &p) { p.any_of[1].global_tokens = -1; }),
            "any_of[1]: argument 'global_tokens': it is -1; it must be from 0 to 1073741824");
  EXPECT_EQ(refusal([](auto &p) { p.any_of[0].window_right = -2; }),
            "any_of[0]: argument 'window_right': it is -2; it must be from 0 to 1073741824, or -1 for no bound");
  EXPECT_EQ(refusal([](auto &p) { p.any_of[2].variants = TEGULA_WINDOW | TEGULA_ALIBI; }),
            "argument 'any_of[2].variants': it is 5; a set may have TEGULA_WINDOW, TEGULA_PREFIX_LM, TEGULA_DOCUMENTS, "
            "TEGULA_GIVEN_WINDOW, TEGULA_KEY_INTERVALS and TEGULA_GLOBAL_TOKENS, or-ed");
  EXPECT_EQ(
      refusal([](auto &p) { p.variants = p.any_of[2].variants = TEGULA_DOCUMENTS; }),
      "argument 'any_of[2].variants': it is 16, but 'variants' or a set before has the variant 16, too; a variant "
      "that reads tensors may appear once");
  EXPECT_EQ(refusal([](auto &p) { p.any_of[2].variants = p.any_of[3].variants = TEGULA_WINDOW; }),
            "argument 'any_of': its sets take the room of 5, because TEGULA_GLOBAL_TOKENS counts as two; there is room "
            "for 4");
  EXPECT_EQ(refusal([](auto &p) { p.variants = TEGULA_GLOBAL_TOKENS; }),
            "argument 'variants': it is 512; it must be variants, or-ed, but not TEGULA_GLOBAL_TOKENS, which sets of "
            "'any_of' have");
  EXPECT_THAT(refusal([](auto &p) {
                p.causal = TEGULA_CAUSAL_TOP_LEFT;
                p.bottom_right = 1;
              }),
              HasSubstr("argument 'bottom_right': it is 1, but 'causal' is TEGULA_CAUSAL_TOP_LEFT (1)"));
}

/// Variants of the user's own, as text.
TEST(Call, AVariantIsText) {
  const Context context = makeContext();
  tegula_attention_problem text = problem();
  text.backward = 0;
  text.variant_text = "variant 1\nmask = key <= query & (query - key) % 2 == 0\n";
  EXPECT_EQ(seenKeys(text, 4, 4, nullptr, {}, context), "x... .x.. x.x. .x.x ");
  std::string copy = "variant 1\nmask = key == query\n"; // Plans are found by the text, not by its address.
  text.variant_text = copy.c_str();
  EXPECT_EQ(seenKeys(text, 2, 4, nullptr, {}, context), "x... .x.. ");
  copy = "variant 1\nmask = key != query\n";
  EXPECT_EQ(seenKeys(text, 2, 4, nullptr, {}, context), ".xxx x.xx ");
  text.variants = TEGULA_WINDOW; // Both hold.
  text.window_right = 2;
  EXPECT_EQ(seenKeys(text, 2, 4, nullptr, {}, context), ".xx. ..xx ");
  text.variant_text = "variant 1\nmask = key <= qeury\n";
  EXPECT_EQ(context.supports(text).code(), ErrorCode::invalid_argument);
  EXPECT_THAT(seenKeys(text, 2, 4), HasSubstr("variant text, line 2, column 15: 'qeury' is not defined"));
}

/// A text has the tensors that follow those of `variants`, and the gradient of a table whose elements many scores read.
TEST(Call, ATextHasTensorsAndGradients) {
  const Context context = makeContext();
  tegula_attention_problem text = problem();
  text.variants = TEGULA_ALIBI;
  text.variant_text = "variant 1\n"
                      "tensor table f32[any] gradient\n"
                      "score = score + table[(query + key) % 3]\n";
  Sequence sequence(20);
  std::vector<float> slopes = {0.25f}, table = {-1, 0.5f, 2}, d_table(3);
  const tegula_tensor tensors[] = {tensor(slopes.data(), TEGULA_F32, {1}), tensor(table.data(), TEGULA_F32, {3})};
  const tegula_tensor gradient = tensor(d_table.data(), TEGULA_F32, {3});
  tegula_forward_args forward = sequence.forward();
  tegula_backward_args backward = sequence.backward();
  forward.variant_tensors = backward.variant_tensors = tensors;
  forward.variant_tensor_count = backward.variant_tensor_count = 2;
  backward.variant_gradients = &gradient;
  backward.variant_gradient_count = 1;
  const auto loss = [&] {
    EXPECT_TRUE(isOk(context.forward(text, forward)));
    double sum = 0;
    for (size_t n = 0; n < sequence.o.size(); ++n)
      sum += double(sequence.o[n]) * sequence.d_o[n];
    return sum;
  };
  loss();
  ASSERT_TRUE(isOk(context.backward(text, backward)));
  for (size_t n = 0; n < 3; ++n) {
    const float before = table[n];
    table[n] = before + 1e-2f;
    const double above = loss();
    table[n] = before - 1e-2f;
    EXPECT_NEAR((above - loss()) / 2e-2, d_table[n], 2e-3) << n;
    table[n] = before;
  }
}

TEST(Call, ADiagonalThatNoVariantCountsFromIsNoContradiction) {
  tegula_attention_problem plain = problem();
  plain.backward = 0;
  plain.causal = TEGULA_CAUSAL_TOP_LEFT;
  plain.bottom_right = 1;
  EXPECT_EQ(seenKeys(plain, 2, 4), "x... xx.. ");
}

TEST(Call, AScaleOf0IsTheUsualOne) {
  const Context context = makeContext();
  Sequence usual(40), unset(40);
  ASSERT_TRUE(isOk(context.forward(problem(), usual.forward())));
  ASSERT_TRUE(isOk(context.backward(problem(), usual.backward())));
  tegula_forward_args forward = unset.forward();
  forward.scale = 0;
  ASSERT_TRUE(isOk(context.forward(problem(), forward)));
  tegula_backward_args backward = unset.backward();
  backward.scale = 0;
  ASSERT_TRUE(isOk(context.backward(problem(), backward)));
  EXPECT_EQ(unset.o, usual.o);
  EXPECT_EQ(unset.lse, usual.lse);
  EXPECT_EQ(unset.dq, usual.dq);
  EXPECT_EQ(unset.dk, usual.dk);
}

/// Returns sum(o * d_o) + sum(lse * d_lse) after a forward call.
double lossOf(const Context &context, Sequence &sequence, const std::vector<float> &d_lse) {
  EXPECT_TRUE(isOk(context.forward(problem(), sequence.forward())));
  double sum = 0;
  for (size_t n = 0; n < sequence.o.size(); ++n)
    sum += double(sequence.o[n]) * sequence.d_o[n];
  for (size_t n = 0; n < sequence.lse.size(); ++n)
    sum += double(sequence.lse[n]) * d_lse[n];
  return sum;
}

TEST(Call, TakesTheGradientOfLse) {
  const Context context = makeContext();
  tegula_attention_problem both = problem();
  both.lse_gradient = 1;
  Sequence sequence(20);
  std::vector<float> d_lse(20);
  for (int i = 0; i < 20; ++i)
    d_lse[i] = float(i % 7) - 3;
  lossOf(context, sequence, d_lse);
  tegula_backward_args backward = sequence.backward();
  backward.d_lse = tensor(d_lse.data(), TEGULA_F32, {1, 1, 20});
  ASSERT_TRUE(isOk(context.backward(both, backward)));
  const auto expectSlope = [&](std::vector<float> &x, const std::vector<float> &dx, size_t place) {
    constexpr float step = 1e-2f;
    const float before = x[place];
    x[place] = before + step;
    const double above = lossOf(context, sequence, d_lse);
    x[place] = before - step;
    EXPECT_NEAR((above - lossOf(context, sequence, d_lse)) / (2 * step), dx[place], 2e-3) << place;
    x[place] = before;
  };
  for (size_t place = 3; place < 320; place += 61) {
    expectSlope(sequence.q, sequence.dq, place);
    expectSlope(sequence.k, sequence.dk, place);
    expectSlope(sequence.v, sequence.dv, place);
  }
}

TEST(Call, AGradientOfLseIsNeverDropped) {
  const Context context = makeContext();
  Sequence sequence(20);
  std::vector<float> d_lse(20, 1);
  tegula_backward_args backward = sequence.backward();
  backward.d_lse = tensor(d_lse.data(), TEGULA_F32, {1, 1, 20});
  EXPECT_THAT(context.backward(problem(), backward).message(),
              HasSubstr("argument 'd_lse': it is given, but 'lse_gradient' is not set"));
  backward.struct_size = offsetof(tegula_backward_args, d_lse); // The size of a host without d_lse.
  EXPECT_TRUE(isOk(context.backward(problem(), backward)));
  tegula_attention_problem both = problem();
  both.lse_gradient = 1;
  EXPECT_THAT(context.backward(both, backward).message(),
              HasSubstr("argument 'd_lse': it is missing, but 'lse_gradient' is set"));
  both.backward = 0;
  EXPECT_THAT(context.supports(both).message(), HasSubstr("argument 'lse_gradient': it is set, but 'backward' is not"));
}

/// Seed and offset decide which elements are dropped. The gradients are those of the output, because both passes drop
/// the same elements.
TEST(Call, TakesTheStateOfDropout) {
  const Context context = makeContext();
  tegula_attention_problem dropping = problem();
  dropping.dropout_p = 0.5;
  Sequence sequence(20);
  int64_t state[] = {5, 1};
  const auto output = [&] {
    tegula_forward_args forward = sequence.forward();
    forward.dropout_state = tensor(state, TEGULA_I64, {2});
    EXPECT_TRUE(isOk(context.forward(dropping, forward)));
    return sequence.o;
  };
  const std::vector<float> first = output();
  state[1] = 2;
  EXPECT_NE(output(), first);
  state[1] = 1;
  EXPECT_EQ(output(), first);
  tegula_backward_args backward = sequence.backward();
  EXPECT_THAT(context.backward(dropping, backward).message(),
              HasSubstr("argument 'dropout_state': it is missing, but 'dropout_p' is set"));
  backward.dropout_state = tensor(state, TEGULA_I64, {2});
  ASSERT_TRUE(isOk(context.backward(dropping, backward)));
  const auto loss = [&] {
    double sum = 0;
    const std::vector<float> o = output();
    for (size_t n = 0; n < o.size(); ++n)
      sum += double(o[n]) * sequence.d_o[n];
    return sum;
  };
  for (size_t place = 3; place < 320; place += 61) {
    constexpr float step = 1e-2f;
    const float before = sequence.k[place], slope = sequence.dk[place];
    sequence.k[place] = before + step;
    const double above = loss();
    sequence.k[place] = before - step;
    EXPECT_NEAR((above - loss()) / (2 * step), slope, 4e-3) << place;
    sequence.k[place] = before;
  }
}

/// The sink takes probability from the keys, and both passes know it.
TEST(Call, TakesSinks) {
  const Context context = makeContext();
  tegula_attention_problem sinking = problem();
  sinking.sinks = 1;
  Sequence sequence(20);
  std::vector<float> sink = {0.5f}, slope = {7};
  const auto loss = [&] {
    tegula_forward_args forward = sequence.forward();
    forward.sinks = tensor(sink.data(), TEGULA_F32, {1});
    EXPECT_TRUE(isOk(context.forward(sinking, forward)));
    double sum = 0;
    for (size_t n = 0; n < sequence.o.size(); ++n)
      sum += double(sequence.o[n]) * sequence.d_o[n];
    return sum;
  };
  loss();
  tegula_backward_args backward = sequence.backward();
  EXPECT_THAT(context.backward(sinking, backward).message(),
              HasSubstr("argument 'sinks': it is missing, but 'sinks' is set"));
  backward.sinks = tensor(sink.data(), TEGULA_F32, {1});
  backward.d_sinks = tensor(slope.data(), TEGULA_F32, {1});
  ASSERT_TRUE(isOk(context.backward(sinking, backward)));
  constexpr float step = 1e-2f;
  sink[0] += step;
  const double above = loss();
  sink[0] -= 2 * step;
  EXPECT_NEAR((above - loss()) / (2 * step), slope[0], 1e-3);
  EXPECT_GT(std::abs(slope[0]), 1e-2);
  backward.struct_size = offsetof(tegula_backward_args, sinks); // The size of a host without sinks.
  EXPECT_TRUE(isOk(context.backward(problem(), backward)));
}

/// The last query of a sequence, decoded on its keys in two pages, has the results of the whole with a causal mask.
TEST(Call, Decodes) {
  const Context context = makeContext();
  constexpr int64_t length = 20, dim = 16, page = 16;
  Sequence sequence(length);
  tegula_attention_problem attention = problem();
  attention.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  ASSERT_TRUE(isOk(context.forward(attention, sequence.forward())));

  // The second page comes first, and holds NaN after the last key.
  std::vector<float> k(2 * page * dim, std::nanf("")), v = k, o(dim), lse(1);
  for (int64_t key = 0; key < length; ++key)
    for (int64_t column = 0; column < dim; ++column) {
      const int64_t from = key * dim + column, to = ((1 - key / page) * page + key % page) * dim + column;
      k[to] = sequence.k[from];
      v[to] = sequence.v[from];
    }
  int32_t lengths[] = {length}, pages[] = {1, 0};
  attention.backward = 0;
  auto decoding = make<tegula_decode_problem>();
  decoding.page_size = page;
  decoding.attention = &attention;
  Expected<Plan> plan = context.decodePlan(decoding);
  ASSERT_TRUE(isOk(plan.status()));
  const tegula_tensor q = tensor(&sequence.q[(length - 1) * dim], TEGULA_F32, {1, 1, 1, dim}),
                      k_view = tensor(k.data(), TEGULA_F32, {2, 1, page, dim}),
                      v_view = tensor(v.data(), TEGULA_F32, {2, 1, page, dim}),
                      length_view = tensor(lengths, TEGULA_I32, {1}), table = tensor(pages, TEGULA_I32, {1, 2}),
                      o_view = tensor(o.data(), TEGULA_F32, {1, 1, 1, dim}),
                      lse_view = tensor(lse.data(), TEGULA_F32, {1, 1, 1});
  constexpr float scale = 0.25f; // 1 / sqrt(dim)
  std::vector<tegula_argument> arguments = {argument(q),      argument(k_view),  argument(length_view),
                                            argument(table),  argument(v_view),  argument(scale),
                                            argument(o_view), argument(lse_view)};
  const Expected<int64_t> bytes = plan->workspace({{"batch", 1}, {"heads", 1}, {"kv_heads", 1}, {"seqlen_q", 1}});
  ASSERT_TRUE(isOk(bytes.status()));
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (*bytes + 63) / 64 * 64),
                                                              &std::free);
  const auto run = [&](const Plan &plan) {
    auto args = make<tegula_launch_args>();
    args.arguments = arguments.data();
    args.argument_count = uint32_t(arguments.size());
    args.workspace = workspace.get();
    args.workspace_bytes = *bytes;
    std::ranges::fill(o, 0);
    EXPECT_TRUE(isOk(plan.launch(args)));
    return o;
  };
  const auto expectRight = [&](const std::vector<float> &found) {
    for (int64_t column = 0; column < dim; ++column)
      EXPECT_NEAR(found[column], sequence.o[(length - 1) * dim + column], 1e-6);
  };
  const std::vector<float> cut_itself = run(*plan);
  expectRight(cut_itself);
  EXPECT_NEAR(lse[0], sequence.lse[length - 1], 1e-6);

  // How sequences are cut may be computed before.
  const Expected<int64_t> prepared_bytes =
      plan->preparedBytes({{"batch", 1}, {"heads", 1}, {"kv_heads", 1}, {"seqlen_q", 1}});
  ASSERT_TRUE(isOk(prepared_bytes.status()));
  const std::unique_ptr<void, decltype(&std::free)> prepared(std::aligned_alloc(64, *prepared_bytes), &std::free);
  auto args = make<tegula_launch_args>();
  args.arguments = arguments.data();
  args.argument_count = 4; // Those before v.
  args.prepared = prepared.get();
  args.prepared_bytes = *prepared_bytes;
  ASSERT_TRUE(isOk(plan->prepare(args)));
  std::ranges::fill(o, 0);
  args.argument_count = uint32_t(arguments.size());
  args.workspace = workspace.get();
  args.workspace_bytes = *bytes - *prepared_bytes;
  ASSERT_TRUE(isOk(plan->launch(args)));
  EXPECT_EQ(o, cut_itself);

  // Values whose pages have a table of their own, and lengths without the query.
  decoding.page_table_v = 1;
  decoding.lengths = TEGULA_LENGTHS_BEFORE;
  const Expected<Plan> separate = context.decodePlan(decoding);
  decoding.page_table_v = 0;
  decoding.lengths = TEGULA_LENGTHS_USUAL;
  ASSERT_TRUE(isOk(separate.status()));
  std::vector<float> swapped(v.begin() + page * dim, v.end());
  swapped.insert(swapped.end(), v.begin(), v.begin() + page * dim);
  int32_t before[] = {length - 1}, pages_v[] = {0, 1};
  const tegula_tensor before_view = tensor(before, TEGULA_I32, {1}), table_v = tensor(pages_v, TEGULA_I32, {1, 2}),
                      swapped_view = tensor(swapped.data(), TEGULA_F32, {2, 1, page, dim});
  const std::vector<tegula_argument> usual = arguments;
  arguments[2] = argument(before_view);
  arguments[4] = argument(swapped_view);
  arguments.insert(arguments.begin() + 4, argument(table_v));
  expectRight(run(*separate));

  // A table without gaps, after an entry that no sequence has.
  int32_t entries[] = {7, 1, 0}, offsets[] = {1, 3};
  decoding.page_offsets = 1;
  const Expected<Plan> csr = context.decodePlan(decoding);
  decoding.page_offsets = 0;
  ASSERT_TRUE(isOk(csr.status()));
  const tegula_tensor entry_view = tensor(entries, TEGULA_I32, {3}), offset_view = tensor(offsets, TEGULA_I32, {2});
  arguments = usual;
  arguments[3] = argument(entry_view);
  arguments.insert(arguments.begin() + 4, argument(offset_view));
  expectRight(run(*csr));

  // Values that are columns of the keys are no argument.
  decoding.latent = 1;
  const Expected<Plan> latent = context.decodePlan(decoding);
  decoding.latent = 0;
  ASSERT_TRUE(isOk(latent.status()));
  arguments = {argument(q),     argument(k_view), argument(length_view), argument(table),
               argument(scale), argument(o_view), argument(lse_view)};
  const auto found = run(*latent);
  arguments.insert(arguments.begin() + 4, argument(k_view));
  const auto expected = run(*plan);
  for (int64_t column = 0; column < dim; ++column)
    EXPECT_NEAR(found[column], expected[column], 1e-6);

  const auto refusal = [&] { return context.decodePlan(decoding).status().message(); };
  attention.backward = 1;
  EXPECT_EQ(refusal(), "argument 'attention.backward': decoding does not have it");
  attention.backward = 0;
  attention.causal = TEGULA_CAUSAL_TOP_LEFT;
  EXPECT_THAT(refusal(), HasSubstr("argument 'attention.causal': it is TEGULA_CAUSAL_TOP_LEFT (1)"));
  attention.causal = TEGULA_CAUSAL_NONE;
  decoding.page_size = -8;
  decoding.lengths = TEGULA_LENGTHS_LAST_PAGE + 1;
  EXPECT_THAT(refusal(), HasSubstr("argument 'lengths': it is 5"));
  decoding.lengths = TEGULA_LENGTHS_USUAL;
  EXPECT_THAT(refusal(), HasSubstr("argument 'page_size': it is -8; it must be at least 0"));
  decoding.attention = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("'attention'"));
}

/// The last query of a sequence, whose first keys are a prefix, has the results of the whole with a causal mask.
TEST(Call, DecodesWithAPrefix) {
  const Context context = makeContext();
  constexpr int64_t length = 20, shared = 13, dim = 16;
  Sequence sequence(length);
  tegula_attention_problem attention = problem();
  attention.causal = TEGULA_CAUSAL_BOTTOM_RIGHT;
  ASSERT_TRUE(isOk(context.forward(attention, sequence.forward())));

  attention.backward = 0;
  auto decoding = make<tegula_decode_problem>();
  decoding.prefix = 1;
  decoding.attention = &attention;
  const Expected<Plan> plan = context.decodePlan(decoding);
  ASSERT_TRUE(isOk(plan.status()));
  const auto keys = [&](std::vector<float> &x, int64_t first, int64_t count) {
    return tensor(&x[size_t(first * dim)], TEGULA_F32, {1, 1, count, dim});
  };
  int32_t own[] = {length - shared}, before[] = {shared};
  std::vector<float> o(dim), lse(1);
  const tegula_tensor q = keys(sequence.q, length - 1, 1), k = keys(sequence.k, shared, length - shared),
                      v = keys(sequence.v, shared, length - shared), prefix_k = keys(sequence.k, 0, shared),
                      prefix_v = keys(sequence.v, 0, shared), lengths = tensor(own, TEGULA_I32, {1}),
                      prefix_lengths = tensor(before, TEGULA_I32, {1}), o_view = keys(o, 0, 1),
                      lse_view = tensor(lse.data(), TEGULA_F32, {1, 1, 1});
  constexpr float scale = 0.25f; // 1 / sqrt(dim)
  const std::vector<tegula_argument> arguments = {
      argument(q), argument(k),     argument(lengths),  argument(prefix_lengths), argument(prefix_k),
      argument(v), argument(scale), argument(prefix_v), argument(o_view),         argument(lse_view)};
  const Expected<int64_t> bytes =
      plan->workspace({{"batch", 1}, {"heads", 1}, {"kv_heads", 1}, {"seqlen_q", 1}, {"prefix_keys", shared}});
  ASSERT_TRUE(isOk(bytes.status()));
  auto args = make<tegula_launch_args>();
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (*bytes + 63) / 64 * 64),
                                                              &std::free);
  args.workspace = workspace.get();
  args.workspace_bytes = *bytes;
  args.arguments = arguments.data();
  args.argument_count = uint32_t(arguments.size());
  EXPECT_TRUE(isOk(plan->launch(args)));
  for (int64_t column = 0; column < dim; ++column)
    EXPECT_NEAR(o[column], sequence.o[(length - 1) * dim + column], 1e-6);
  EXPECT_NEAR(lse[0], sequence.lse[length - 1], 1e-6);
}

/// Decoding in a context with assertions. A tile lies in one page of 16 keys, and in several of 5 and of 2.
class Assertions : public ::testing::TestWithParam<int> {
protected:
  static constexpr int64_t dim = 8;

  /// Decodes one query for each length. Each sequence has a row of `pages`, of which two exist. All values are 1.
  Status decode(const tegula_attention_problem &attention, std::vector<int32_t> &lengths, std::vector<int32_t> &pages) {
    auto decoding = make<tegula_decode_problem>();
    decoding.page_size = GetParam();
    decoding.attention = &attention;
    const Expected<Plan> plan = context_.decodePlan(decoding);
    if (!plan)
      return plan.status();
    const auto batch = int64_t(lengths.size());
    std::vector<float> q(size_t(batch * dim), 1), k(size_t(2 * GetParam() * dim), 1), lse(size_t(batch), 0);
    o.assign(size_t(batch * dim), 0);
    const tegula_tensor k_view = tensor(k.data(), TEGULA_F32, {2, 1, GetParam(), dim});
    const std::vector<tegula_tensor> tensors = {
        tensor(q.data(), TEGULA_F32, {batch, 1, 1, dim}),
        k_view,
        tensor(lengths.data(), TEGULA_I32, {batch}),
        tensor(pages.data(), TEGULA_I32, {batch, int64_t(pages.size()) / batch}),
        k_view,
        tensor(o.data(), TEGULA_F32, {batch, 1, 1, dim}),
        tensor(lse.data(), TEGULA_F32, {batch, 1, 1})};
    std::vector<tegula_argument> arguments;
    for (const tegula_tensor &each : tensors)
      arguments.push_back(argument(each));
    arguments.insert(arguments.end() - 2, argument(1.0f)); // The factor of the scores.
    const Expected<int64_t> bytes = plan->workspace({{"batch", batch}, {"heads", 1}, {"kv_heads", 1}, {"seqlen_q", 1}});
    if (!bytes)
      return bytes.status();
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (*bytes + 63) / 64 * 64),
                                                                &std::free);
    auto args = make<tegula_launch_args>();
    args.workspace = workspace.get();
    args.workspace_bytes = *bytes;
    args.arguments = arguments.data();
    args.argument_count = uint32_t(arguments.size());
    return plan->launch(args);
  }

  static tegula_attention_problem attention() {
    tegula_attention_problem made = problem();
    made.head_dim = dim;
    made.backward = 0;
    return made;
  }

  std::vector<float> o; ///< The results of the last call.

private:
  static Context contextWithAssertions() {
    tegula_context_options options = tegula::test::options();
    options.device_asserts = 1;
    return makeContext(options);
  }

  Context context_ = contextWithAssertions();
};

/// The message names the entry of a page table that no page has, and a length that is too long.
TEST_P(Assertions, DecodingTestsPagesAndLengths) {
  const int page = GetParam(), columns = 32 / page, last = 16 / page; // The entry of key 16.
  std::vector<int32_t> pages(size_t(2 * columns), 1), lengths = { 20, 17 };
  int32_t &missing = pages[size_t(columns + last)];
  missing = 5;
  Status status = decode(attention(), lengths, pages);
  EXPECT_EQ(status.code(), ErrorCode::launch_failed);
  EXPECT_THAT(status.message(), HasSubstr("assertion failed: sequence, entry of page_table, and its page, which does "
                                          "not exist: i32 [3]"));
  EXPECT_THAT(status.message(), HasSubstr("[0] 1 " + std::to_string(last) + " 5"));
  missing = 1;
  EXPECT_TRUE(isOk(decode(attention(), lengths, pages)));
  lengths[0] = 33;
  status = decode(attention(), lengths, pages);
  EXPECT_THAT(status.message(), HasSubstr("assertion failed: sequence, its length, and the keys that it has room for: "
                                          "i32 [3]"));
  EXPECT_THAT(status.message(), HasSubstr("[0] 0 33 " + std::to_string(columns * page)));
}

/// Pages that lie before the window of all queries may be absent, such as those that a server has freed.
TEST_P(Assertions, PagesBeforeAWindowMayBeAbsent) {
  std::vector<int32_t> pages(size_t(80 / GetParam()), 1), lengths = { 80 };
  std::fill_n(pages.begin(), 70 / GetParam(), -1); // The query sees key 70 and those after it.
  tegula_attention_problem window = attention();
  window.variants = TEGULA_WINDOW;
  window.bottom_right = 1;
  window.window_left = 9;
  window.window_right = TEGULA_NO_BOUND;
  EXPECT_TRUE(isOk(decode(window, lengths, pages)));
  EXPECT_NEAR(o[0], 1, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(PageSizes, Assertions, ::testing::Values(16, 5, 2));

/// Launches a plan that needs no workspace.
Status launch(const Plan &plan, const std::vector<tegula_argument> &arguments) {
  auto args = make<tegula_launch_args>();
  args.arguments = arguments.data();
  args.argument_count = uint32_t(arguments.size());
  return plan.launch(args);
}

TEST(Call, PackedSequencesAssertOffsets) {
  tegula_context_options options = tegula::test::options();
  options.device_asserts = 1;
  const Context context = makeContext(options);
  const Expected<Plan> plan = context.packedPlan();
  ASSERT_TRUE(isOk(plan.status()));
  int32_t of_q[] = {0, 3, 2, 4}, of_k[] = {0, 1, 2, 4}, numbers[4][4];
  const tegula_tensor q = tensor(of_q, TEGULA_I32, {4}), k = tensor(of_k, TEGULA_I32, {4});
  std::vector<tegula_tensor> written;
  for (auto &row : numbers)
    written.push_back(tensor(row, TEGULA_I32, {4}));
  std::vector<tegula_argument> arguments = {argument(q), argument(k), argument(int32_t(-1)), argument(int32_t(0))};
  for (const tegula_tensor &row : written)
    arguments.push_back(argument(row));
  Status status = launch(*plan, arguments);
  EXPECT_EQ(status.code(), ErrorCode::launch_failed);
  EXPECT_THAT(status.message(), HasSubstr("assertion failed: the number of the first offset that is less than the one "
                                          "before it = 2 (program instance 0, 0, 0"));
  of_q[1] = 2;
  EXPECT_TRUE(isOk(launch(*plan, arguments)));
  of_k[3] = 5;
  EXPECT_THAT(launch(*plan, arguments).message(),
              HasSubstr("assertion failed: the last offset, and the positions that there are: i32 [2]"));
}

/// Two new keys rotate, and end up in pages of 3.
TEST(Call, AppendsToPages) {
  const Context context = makeContext();
  constexpr int64_t added = 2, dim = 4, page = 3;
  std::vector<float> k_new = {1, 2, 3, 4, 5, 6, 7, 8}, v_new = {9, 10}, k(2 * page * dim, 0), v(2 * page, 0),
                     cos = {1, 1, 1, 1, 0, 1, 1, 0}, sin = {0, 0, 0, 0, 1, 0, 0, 1};
  int32_t lengths[] = {2}, pages[] = {1, 0};
  auto problem = make<tegula_append_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = dim;
  problem.value_dim = 1;
  problem.has_pages = 1;
  problem.rotary_dim = dim;
  const Expected<Plan> plan = context.appendPlan(problem);
  ASSERT_TRUE(isOk(plan.status()));
  const tegula_tensor tensors[] = {tensor(k_new.data(), TEGULA_F32, {1, 1, added, dim}),
                                   tensor(k.data(), TEGULA_F32, {2, 1, page, dim}),
                                   tensor(lengths, TEGULA_I32, {1}),
                                   tensor(pages, TEGULA_I32, {1, 2}),
                                   tensor(cos.data(), TEGULA_F32, {4, dim / 2}),
                                   tensor(sin.data(), TEGULA_F32, {4, dim / 2}),
                                   tensor(v_new.data(), TEGULA_F32, {1, 1, added, 1}),
                                   tensor(v.data(), TEGULA_F32, {2, 1, page, 1})};
  std::vector<tegula_argument> arguments;
  for (const tegula_tensor &each : tensors)
    arguments.push_back(argument(each));
  ASSERT_TRUE(isOk(launch(*plan, arguments)));
  // Position 2 turns the pair (1, 3) by a quarter, position 3 the pair (6, 8).
  EXPECT_THAT(std::vector<float>(k.begin() + (page + 2) * dim, k.end()), ElementsAre(-3, 2, 1, 4));
  EXPECT_THAT(std::vector<float>(k.begin(), k.begin() + dim), ElementsAre(5, -8, 7, 6));
  EXPECT_THAT(v, ElementsAre(10, 0, 0, 0, 0, 9));
  // The same, if the length is the number of the last new key.
  problem.lengths = TEGULA_LENGTHS_LAST_KEY;
  const Expected<Plan> after = context.appendPlan(problem);
  ASSERT_TRUE(isOk(after.status()));
  const std::vector<float> expected = k;
  std::ranges::fill(k, 0);
  lengths[0] = 3;
  ASSERT_TRUE(isOk(launch(*after, arguments)));
  EXPECT_EQ(k, expected);
  problem.rotary_dim = 3;
  EXPECT_THAT(context.appendPlan(problem).status().message(), HasSubstr("argument 'rotary_dim': it is 3"));
}

TEST(Call, RotatesAndFindsIntervals) {
  const Context context = makeContext();
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6), cos = {1, 0}, sin = {0, 1};
  int32_t positions[] = {1, 0};
  auto problem = make<tegula_rotary_problem>();
  problem.dtype = TEGULA_F32;
  problem.head_dim = 3;
  problem.rotary_dim = 2;
  problem.interleaved = 1;
  const Expected<Plan> rotary = context.rotaryPlan(problem);
  ASSERT_TRUE(isOk(rotary.status()));
  const tegula_tensor of_rotary[] = {tensor(x.data(), TEGULA_F32, {1, 1, 2, 3}), tensor(positions, TEGULA_I32, {1, 2}),
                                     tensor(y.data(), TEGULA_F32, {1, 1, 2, 3}), tensor(cos.data(), TEGULA_F32, {2, 1}),
                                     tensor(sin.data(), TEGULA_F32, {2, 1})};
  std::vector<tegula_argument> arguments;
  for (const tegula_tensor &each : of_rotary)
    arguments.push_back(argument(each));
  ASSERT_TRUE(isOk(launch(*rotary, arguments)));
  EXPECT_THAT(y, ElementsAre(-2, 1, 3, 4, 5, 6)); // Position 1 turns by a quarter.

  // Two sequences of 1 and 2 queries, and of 2 and 2 keys, with a causal mask.
  int32_t of_q[] = {0, 1, 3}, of_k[] = {0, 2, 4}, begin[3], end[3], query_begin[4], query_end[4];
  const Expected<Plan> packed = context.packedPlan();
  ASSERT_TRUE(isOk(packed.status()));
  const tegula_tensor of_packed[] = {tensor(of_q, TEGULA_I32, {3}),        tensor(of_k, TEGULA_I32, {3}),
                                     tensor(begin, TEGULA_I32, {3}),       tensor(end, TEGULA_I32, {3}),
                                     tensor(query_begin, TEGULA_I32, {4}), tensor(query_end, TEGULA_I32, {4})};
  arguments = {argument(of_packed[0]), argument(of_packed[1]), argument(int32_t(-1)),  argument(int32_t(0)),
               argument(of_packed[2]), argument(of_packed[3]), argument(of_packed[4]), argument(of_packed[5])};
  ASSERT_TRUE(isOk(launch(*packed, arguments)));
  EXPECT_THAT(begin, ElementsAre(0, 2, 2));
  EXPECT_THAT(end, ElementsAre(2, 3, 4));
  EXPECT_THAT(query_begin, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(query_end, ElementsAre(1, 1, 3, 3));
}

/// Sequences of 1 and 2 queries, and of 3 and 2 keys, in pages of 2 keys, with a causal mask. All scores are 0, so that
/// outputs are means of values.
TEST(Call, SequencesWithKeysInPages) {
  const Context context = makeContext();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  int32_t lengths[] = {3, 2}, table[] = {4, 0, 2, -1}, of_q[] = {0, 1, 3}, begin[3], end[3], pages[4], page_lengths[4];
  std::vector<float> q(3, 0), k = {0, nan, nan, nan, 0, 0, nan, nan, 0, 0},
                              v = {6, nan, nan, nan, 10, 20, nan, nan, 1, 2}, o(3), lse(3);
  auto packing = make<tegula_packed_pages_problem>();
  EXPECT_THAT(context.packedPagesPlan(packing).status().message(), HasSubstr("argument 'page_size': it is 0"));
  packing.page_size = 2;
  const Expected<Plan> plan = context.packedPagesPlan(packing);
  ASSERT_TRUE(isOk(plan.status()));
  const tegula_tensor tensors[] = {tensor(lengths, TEGULA_I32, {2}),     tensor(table, TEGULA_I32, {2, 2}),
                                   tensor(of_q, TEGULA_I32, {3}),        tensor(begin, TEGULA_I32, {3}),
                                   tensor(end, TEGULA_I32, {3}),         tensor(pages, TEGULA_I32, {4}),
                                   tensor(page_lengths, TEGULA_I32, {4})};
  const std::vector<tegula_argument> arguments = {argument(tensors[0]),  argument(tensors[1]), argument(tensors[2]),
                                                  argument(int32_t(-1)), argument(int32_t(0)), argument(tensors[3]),
                                                  argument(tensors[4]),  argument(tensors[5]), argument(tensors[6])};
  alignas(64) std::byte workspace[64];
  const Expected<int64_t> bytes = plan->workspace({{"sequences", 2}});
  ASSERT_TRUE(isOk(bytes.status()));
  ASSERT_EQ(*bytes, int64_t(sizeof workspace));
  auto launching = make<tegula_launch_args>();
  launching.arguments = arguments.data();
  launching.argument_count = uint32_t(arguments.size());
  launching.workspace = workspace;
  launching.workspace_bytes = sizeof workspace;
  ASSERT_TRUE(isOk(plan->launch(launching)));
  EXPECT_THAT(begin, ElementsAre(0, 4, 4));
  EXPECT_THAT(end, ElementsAre(3, 5, 6));
  EXPECT_THAT(pages, ElementsAre(4, 0, 2, -1));
  EXPECT_THAT(page_lengths, ElementsAre(2, 1, 2, 0));

  auto attention = make<tegula_attention_problem>();
  attention.dtype = TEGULA_F32;
  attention.head_dim = 1;
  attention.variants = TEGULA_PACKED_QUERIES;
  attention.page_size = 2;
  const tegula_tensor of_queries[] = {tensor(begin, TEGULA_I32, {1, 3}), tensor(end, TEGULA_I32, {1, 3}), tensors[3]};
  auto args = make<tegula_forward_args>();
  args.q = tensor(q.data(), TEGULA_F32, {1, 1, 3, 1});
  args.k = tensor(k.data(), TEGULA_F32, {5, 1, 2, 1});
  args.v = tensor(v.data(), TEGULA_F32, {5, 1, 2, 1});
  args.o = tensor(o.data(), TEGULA_F32, {1, 1, 3, 1});
  args.lse = tensor(lse.data(), TEGULA_F32, {1, 1, 3});
  args.variant_tensors = of_queries;
  args.variant_tensor_count = 3;
  args.page_table = tensors[5];
  args.page_lengths = tensors[6];
  ASSERT_TRUE(isOk(context.forward(attention, args)));
  EXPECT_THAT(o, ElementsAre(3, 10, 15));
  attention.backward = 1;
  EXPECT_THAT(context.supports(attention).message(), HasSubstr("page_size is 2 and the problem has a backward pass"));
}

TEST(Call, PackedPagesAssertRoom) {
  tegula_context_options options = tegula::test::options();
  options.device_asserts = 1;
  const Context context = makeContext(options);
  auto problem = make<tegula_packed_pages_problem>();
  problem.page_size = 4;
  problem.page_offsets = 1;
  const Expected<Plan> plan = context.packedPagesPlan(problem);
  ASSERT_TRUE(isOk(plan.status()));
  int32_t lengths[] = {4, 5}, table[] = {0, 1, 2}, page_offsets[] = {0, 1, 2}, of_q[] = {0, 1, 2}, numbers[4][3];
  const tegula_tensor tensors[] = {tensor(lengths, TEGULA_I32, {2}), tensor(table, TEGULA_I32, {3}),
                                   tensor(page_offsets, TEGULA_I32, {3}), tensor(of_q, TEGULA_I32, {3})};
  std::vector<tegula_argument> arguments;
  for (const tegula_tensor &each : tensors)
    arguments.push_back(argument(each));
  arguments.push_back(argument(int32_t(-1)));
  arguments.push_back(argument(int32_t(0)));
  std::vector<tegula_tensor> written;
  for (auto &row : numbers)
    written.push_back(tensor(row, TEGULA_I32, {written.size() < 2 ? 2 : 3}));
  for (const tegula_tensor &row : written)
    arguments.push_back(argument(row));
  alignas(64) std::byte workspace[64];
  auto args = make<tegula_launch_args>();
  args.arguments = arguments.data();
  args.argument_count = uint32_t(arguments.size());
  args.workspace = workspace;
  args.workspace_bytes = sizeof workspace;
  EXPECT_THAT(plan->launch(args).message(),
              HasSubstr("assertion failed: the number of the first sequence whose keys have too few pages = 1"));
  page_offsets[2] = 3;
  EXPECT_TRUE(isOk(plan->launch(args)));
}

/// The keys of a sequence are split in two. Merged, the parts are the whole.
TEST(Call, MergesParts) {
  const Context context = makeContext();
  constexpr int64_t length = 20, dim = 16, half = length / 2;
  Sequence sequence(length);
  ASSERT_TRUE(isOk(context.forward(problem(), sequence.forward())));
  std::vector<float> o_parts(2 * length * dim), lse_parts(2 * length), o(length * dim), lse(length);
  for (int64_t part = 0; part < 2; ++part) {
    tegula_forward_args args = sequence.forward();
    args.k = tensor(&sequence.k[part * half * dim], TEGULA_F32, {1, 1, half, dim});
    args.v = tensor(&sequence.v[part * half * dim], TEGULA_F32, {1, 1, half, dim});
    args.o = tensor(&o_parts[part * length * dim], TEGULA_F32, {1, 1, length, dim});
    args.lse = tensor(&lse_parts[part * length], TEGULA_F32, {1, 1, length});
    ASSERT_TRUE(isOk(context.forward(problem(), args)));
  }
  auto merging = make<tegula_merge_problem>();
  merging.dtype = TEGULA_F32;
  merging.value_dim = dim;
  Expected<Plan> plan = context.mergePlan(merging);
  ASSERT_TRUE(isOk(plan.status()));
  const tegula_tensor tensors[] = {tensor(o_parts.data(), TEGULA_F32, {2, 1, 1, length, dim}),
                                   tensor(lse_parts.data(), TEGULA_F32, {2, 1, 1, length}),
                                   tensor(o.data(), TEGULA_F32, {1, 1, length, dim}),
                                   tensor(lse.data(), TEGULA_F32, {1, 1, length})};
  std::vector<tegula_argument> arguments;
  for (const tegula_tensor &each : tensors)
    arguments.push_back(argument(each));
  ASSERT_TRUE(isOk(launch(*plan, arguments)));
  for (size_t n = 0; n < o.size(); ++n)
    ASSERT_NEAR(o[n], sequence.o[n], 1e-6) << n;
  for (size_t n = 0; n < lse.size(); ++n)
    ASSERT_NEAR(lse[n], sequence.lse[n], 1e-6) << n;
  EXPECT_THAT(plan->forward(sequence.forward()).message(), HasSubstr("_create_packed or _create_packed_pages made it"));
  merging.value_dim = 600;
  EXPECT_THAT(context.mergePlan(merging).status().message(), HasSubstr("argument 'value_dim': it is 600"));
  merging.dtype = TEGULA_I8;
  EXPECT_THAT(context.mergePlan(merging).status().message(), HasSubstr("argument 'dtype': it is 5"));
}

TEST(Call, HasTheSameBitsEachTimeIfItIsDeterministic) {
  const Context context = makeContext();
  tegula_attention_problem ordered = problem();
  ordered.deterministic = 1;
  Sequence sequence(300);
  lossOf(context, sequence, std::vector<float>(300));
  ASSERT_TRUE(isOk(context.backward(ordered, sequence.backward())));
  const std::vector<float> dq = sequence.dq;
  for (int repetition = 0; repetition < 5; ++repetition) {
    std::fill(sequence.dq.begin(), sequence.dq.end(), 7.0f);
    ASSERT_TRUE(isOk(context.backward(ordered, sequence.backward())));
    EXPECT_EQ(sequence.dq, dq);
  }
  ordered.block_mask = 3;
  EXPECT_THAT(context.supports(ordered).message(), HasSubstr("argument 'block_mask': it is 3; it must be from 0 to 2"));
}

TEST(Call, TakesTheTensorsOfVariants) {
  const Context context = makeContext();
  tegula_attention_problem biased = problem();
  biased.variants = TEGULA_SOFTCAP | TEGULA_BIAS;
  biased.softcap = 5;
  Sequence sequence(20);
  std::vector<float> bias(20 * 20, -1e9f), gradient(bias.size());
  for (int i = 0; i < 20; ++i)
    bias[i * 20 + i] = 0; // Each query sees only its own key.
  const tegula_tensor tensor = tegula::host::tensor(bias.data(), TEGULA_F32, {1, 1, 20, 20});
  const tegula_tensor dbias = tegula::host::tensor(gradient.data(), TEGULA_F32, {1, 1, 20, 20});
  tegula_forward_args forward = sequence.forward();
  EXPECT_THAT(context.forward(biased, forward).message(), HasSubstr("argument 'variant_tensors': it has 0 tensors"));
  forward.variant_tensors = &tensor;
  forward.variant_tensor_count = 1;
  ASSERT_TRUE(isOk(context.forward(biased, forward)));
  EXPECT_EQ(sequence.o, sequence.v);
  tegula_backward_args backward = sequence.backward();
  backward.variant_tensors = &tensor;
  backward.variant_tensor_count = 1;
  backward.variant_gradients = &dbias;
  backward.variant_gradient_count = 1;
  ASSERT_TRUE(isOk(context.backward(biased, backward)));
  EXPECT_EQ(sequence.dv, sequence.d_o);
}

/// Masks of every rank, and a mask that ends before the last key.
TEST(Call, TakesAMaskThatSelectsKeys) {
  const Context context = makeContext();
  tegula_attention_problem masked = problem();
  masked.variants = TEGULA_MASK;
  Sequence sequence(20);
  std::vector<int8_t> mask(20 * 20);
  for (int i = 0; i < 20; ++i)
    mask[size_t(i * 20 + i)] = i % 2 ? 1 : -128; // Each query sees only its own key.
  tegula_tensor tensor = tegula::host::tensor(mask.data(), TEGULA_I8, {20, 20});
  tegula_forward_args forward = sequence.forward();
  forward.variant_tensors = &tensor;
  forward.variant_tensor_count = 1;
  ASSERT_TRUE(isOk(context.forward(masked, forward)));
  EXPECT_EQ(sequence.o, sequence.v);
  tegula_backward_args backward = sequence.backward();
  backward.variant_tensors = &tensor;
  backward.variant_tensor_count = 1;
  ASSERT_TRUE(isOk(context.backward(masked, backward)));
  EXPECT_EQ(sequence.dv, sequence.d_o);
  std::vector<int8_t> ones(20, 1);
  tensor = tegula::host::tensor(ones.data(), TEGULA_I8, {1, 1, 20});
  ASSERT_TRUE(isOk(context.forward(masked, forward)));
  EXPECT_TRUE(sequence.isRight(problem()));
  ones[0] = 0;
  ones[1] = 1;
  tensor = tegula::host::tensor(ones.data(), TEGULA_I8, {2}); // All queries see key 1 alone.
  ASSERT_TRUE(isOk(context.forward(masked, forward)));
  EXPECT_EQ(std::vector(sequence.o.begin(), sequence.o.begin() + 16),
            std::vector(sequence.v.begin() + 16, sequence.v.begin() + 32));
  EXPECT_EQ(context.counters()->plans, 1);
  tensor = tegula::host::tensor(ones.data(), TEGULA_I8, {1, 19, 20});
  EXPECT_THAT(context.forward(masked, forward).message(),
              HasSubstr("argument 'mask': its size 1 is 19; it must repeat to [batch, heads, seqlen_q, up_to_seqlen_k] "
                        "with seqlen_q = 20: it must be 1 or 20"));
}

TEST(Call, TakesABiasInF32BesideQOf16Bits) {
  const Context context = makeContext();
  tegula_attention_problem biased = problem();
  biased.dtype = TEGULA_BF16;
  biased.backward = 0;
  biased.variants = TEGULA_BIAS;
  biased.bias_f32 = 1;
  constexpr int64_t keys = 3, dim = 16;
  std::vector<uint16_t> q(dim), k(keys * dim), v(keys * dim), o(dim);
  std::vector<float> bias = {5, 5, 5 + 0x1p-9f}, lse(1); // The last one has no bf16.
  tegula_tensor tensor = tegula::host::tensor(bias.data(), TEGULA_F32, {keys});
  auto args = make<tegula_forward_args>();
  args.q = tegula::host::tensor(q.data(), TEGULA_BF16, {1, 1, 1, dim});
  args.k = tegula::host::tensor(k.data(), TEGULA_BF16, {1, 1, keys, dim});
  args.v = tegula::host::tensor(v.data(), TEGULA_BF16, {1, 1, keys, dim});
  args.o = tegula::host::tensor(o.data(), TEGULA_BF16, {1, 1, 1, dim});
  args.lse = tegula::host::tensor(lse.data(), TEGULA_F32, {1, 1, 1});
  args.variant_tensors = &tensor;
  args.variant_tensor_count = 1;
  ASSERT_TRUE(isOk(context.forward(biased, args)));
  EXPECT_NEAR(lse[0], 5 + std::log(2 + std::exp(0x1p-9)), 1e-6);
  biased.bias_f32 = 0;
  EXPECT_THAT(context.forward(biased, args).message(),
              HasSubstr("argument 'bias': its element type is f32; it must be bf16"));
}

TEST(Call, AConstantBiasHasNoGradient) {
  const Context context = makeContext();
  Sequence sequence(20), other(20);
  std::vector<float> bias(20 * 20), dbias(20 * 20);
  for (size_t n = 0; n < bias.size(); ++n)
    bias[n] = float(n % 7) / 4;
  const tegula_tensor tensor = tegula::host::tensor(bias.data(), TEGULA_F32, {20, 20});
  tegula_attention_problem biased = problem();
  biased.variants = TEGULA_BIAS;
  auto run = [&](Sequence &s, const tegula_tensor *gradients, size_t count) {
    tegula_forward_args forward = s.forward();
    forward.variant_tensors = &tensor;
    forward.variant_tensor_count = 1;
    tegula_backward_args backward = s.backward();
    backward.variant_tensors = &tensor;
    backward.variant_tensor_count = 1;
    backward.variant_gradients = gradients;
    backward.variant_gradient_count = count;
    const auto result = context.forward(biased, forward);
    return isOk(result) ? context.backward(biased, backward) : result;
  };
  tegula_tensor gradient = tegula::host::tensor(dbias.data(), TEGULA_F32, {1, 1, 20, 20});
  ASSERT_TRUE(isOk(run(sequence, &gradient, 1)));
  EXPECT_NE(dbias, std::vector<float>(dbias.size()));
  biased.constant_bias = 1;
  ASSERT_TRUE(isOk(run(other, nullptr, 0)));
  EXPECT_EQ(other.dq, sequence.dq);
  EXPECT_EQ(other.dk, sequence.dk);
  EXPECT_EQ(other.dv, sequence.dv);
  EXPECT_THAT(run(other, &gradient, 1).message(), HasSubstr("argument 'variant_gradients'"));
}

TEST(Call, ANewLengthCompilesNothing) {
  const Context context = makeContext();
  Sequence first(30);
  ASSERT_TRUE(isOk(context.forward(problem(), first.forward())));
  ASSERT_TRUE(isOk(context.setPolicy(TEGULA_LOADED_ONLY)));
  for (int64_t length : {0, 1, 31, 97, 200}) {
    Sequence next(length);
    ASSERT_TRUE(isOk(context.forward(problem(), next.forward()))) << length;
    EXPECT_TRUE(next.isRight(problem())) << length;
    ASSERT_TRUE(isOk(context.backward(problem(), next.backward()))) << length;
  }
  EXPECT_EQ(context.counters()->plans, 1);
}

TEST(Call, SaysWhatIsWrong) {
  const Context context = makeContext();
  Sequence sequence(10);
  auto expectRefused = [&](const tegula_attention_problem &problem, const tegula_forward_args &args, ErrorCode code,
                           const char *words) {
    const Status status = context.forward(problem, args);
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.message(), HasSubstr(words));
  };
  tegula_attention_problem odd = problem();
  odd.head_dim = -7;
  expectRefused(odd, sequence.forward(), ErrorCode::invalid_argument, "argument 'head_dim': it is -7");
  odd = problem();
  odd.dtype = TEGULA_I8;
  expectRefused(odd, sequence.forward(), ErrorCode::invalid_argument, "argument 'dtype': it is 5");
  odd = problem();
  odd.causal = -1;
  expectRefused(odd, sequence.forward(), ErrorCode::invalid_argument, "argument 'causal': it is -1");
  odd = problem();
  odd.variants = 512;
  expectRefused(
      odd, sequence.forward(), ErrorCode::invalid_argument,
      "argument 'variants': it is 512; it must be variants, or-ed, but not TEGULA_GLOBAL_TOKENS, which sets of "
      "'any_of' have");
  odd = problem();
  odd.variants = TEGULA_SOFTCAP;
  expectRefused(odd, sequence.forward(), ErrorCode::invalid_argument,
                "argument 'softcap': it is 0; it must be from 1e-30 to 1e30");
  tegula_forward_args args = sequence.forward();
  args.k.rank = 6;
  expectRefused(problem(), args, ErrorCode::invalid_argument, "argument 'k.rank': it is 6");
  args = sequence.forward();
  args.v.dtype = 100;
  expectRefused(problem(), args, ErrorCode::invalid_argument, "argument 'v.dtype': it is 100");
  args = sequence.forward();
  args.o.shape[2] = 11;
  expectRefused(problem(), args, ErrorCode::invalid_argument, "argument 'o'");
  args = sequence.forward();
  args.variant_tensor_count = 1;
  expectRefused(problem(), args, ErrorCode::invalid_argument, "argument 'variant_tensors': it is null");
}

TEST(Call, NamesFieldsAsTheHeaderDoes) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_attention_problem windows = problem();
  windows.variants = TEGULA_WINDOW;
  windows.window_left = int64_t{1} << 30;
  windows.window_right = windows.window_left;
  EXPECT_TRUE(isOk(context.supports(windows)));
  ++windows.window_left;
  EXPECT_EQ(context.supports(windows).message(),
            "argument 'window_left': it is 1073741825; it must be from 0 to 1073741824, or -1 for no bound");
  windows.window_left = 0;
  windows.window_right = -2;
  EXPECT_EQ(context.supports(windows).message(),
            "argument 'window_right': it is -2; it must be from 0 to 1073741824, or -1 for no bound");
  tegula_attention_problem capped = problem();
  capped.variants = TEGULA_SOFTCAP;
  capped.softcap = 1e30;
  EXPECT_TRUE(isOk(context.supports(capped)));
  capped.softcap = 1e31;
  EXPECT_EQ(context.supports(capped).message(), "argument 'softcap': it is 1e+31; it must be from 1e-30 to 1e30");
  tegula_attention_problem biased = problem();
  biased.variants = TEGULA_BIAS;
  tegula_tensor bias{};
  bias.dtype = 9;
  tegula_forward_args forward = sequence.forward();
  forward.variant_tensors = &bias;
  forward.variant_tensor_count = 1;
  EXPECT_EQ(context.forward(biased, forward).message(),
            "argument 'variant_tensors[0].dtype': it is 9; it must be from 0 to 6");
  tegula_backward_args backward = sequence.backward();
  backward.d_o.data = static_cast<char *>(backward.d_o.data) + 1;
  EXPECT_THAT(context.backward(problem(), backward).message(), HasSubstr("argument 'd_o': the data is not aligned"));
  backward = sequence.backward();
  alignas(64) static char memory[1 << 20];
  backward.q.data = backward.workspace = memory;
  backward.workspace_bytes = sizeof memory;
  EXPECT_THAT(context.backward(problem(), backward).message(),
              HasSubstr("argument 'workspace': it shares memory with 'q'; it needs memory of its own"));
  tegula_attention_problem forwardOnly = problem();
  forwardOnly.backward = 0;
  EXPECT_EQ(context.backward(forwardOnly, sequence.backward()).message(),
            "argument 'backward': it is not set in the plan's problem; make the plan with 'backward' set");
}

TEST(Call, AScaleThatIsNotFiniteIsRefused) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args forward = sequence.forward();
  forward.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(context.forward(problem(), forward).message(),
            "argument 'scale': it is nan; it must be finite, or 0 for 1 / sqrt(head_dim)");
  tegula_backward_args backward = sequence.backward();
  backward.scale = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(context.backward(problem(), backward).message(),
            "argument 'scale': it is -inf; it must be finite, or 0 for 1 / sqrt(head_dim)");
}

TEST(Call, SizesThatAKernelCannotCountAreNamed) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args args = sequence.forward();
  args.k.shape[2] = args.v.shape[2] = int64_t{1} << 40;
  const Status status = context.forward(problem(), args);
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(),
            "argument 'seqlen_k': it is 1099511627776; it must be at most 1073740800, because sums of "
            "positions in a kernel have 32 bits");
  tegula_backward_args backward = sequence.backward();
  for (tegula_tensor *tensor : {&backward.q, &backward.o, &backward.lse, &backward.d_o, &backward.dq})
    tensor->shape[2] = int64_t{1} << 40;
  EXPECT_THAT(context.backward(problem(), backward).message(), HasSubstr("argument 'seqlen_q': it is 1099511627776"));
}

TEST(Call, StridesThatReachBeyondAddressesAreNamed) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args args = sequence.forward();
  args.k.strides[2] = int64_t{1} << 62;
  const Status status = context.forward(problem(), args);
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(), "argument 'k': the offset of an element exceeds 63 bits; its sizes and strides must stay "
                              "inside of the memory that it lies in");
}

TEST(Call, NullIsAnArgumentLikeAnother) {
  const Context context = makeContext();
  const tegula_attention_problem some = problem();
  Sequence sequence(10);
  const tegula_forward_args args = sequence.forward();
  const tegula_backward_args backward = sequence.backward();
  EXPECT_EQ(tegula_attention_forward(nullptr, &some, &args, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_attention_forward(context.get(), nullptr, &args, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_attention_forward(context.get(), &some, nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_attention_backward(nullptr, &some, &backward, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_plan_create(context.get(), &some, nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_plan_forward(nullptr, &args, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_plan_backward(nullptr, &backward, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_plan_workspace(nullptr, nullptr, nullptr, nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_supports(context.get(), nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_context_create(nullptr, nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_context_counters(context.get(), nullptr, nullptr), TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(tegula_context_set_policy(nullptr, 0, nullptr), TEGULA_INVALID_ARGUMENT);
  tegula_context_destroy(nullptr);
  tegula_plan_destroy(nullptr);
  tegula_error_free(nullptr);
}

TEST(Call, SupportsAnswersWithAReason) {
  const Context context = makeContext();
  EXPECT_TRUE(isOk(context.supports(problem())));
  tegula_attention_problem wide = problem();
  wide.head_dim = 600;
  const Status status = context.supports(wide);
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(), "argument 'head_dim': it is 600; it must be from 1 to 576");
  EXPECT_EQ(context.counters()->compilations, 0);
}

} // namespace
