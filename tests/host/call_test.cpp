// SPDX-License-Identifier: MIT
// Tests of attention in one call.
#include "host/host_fixture.h"

#include <cstddef>
#include <gmock/gmock.h>
#include <limits>

using namespace tegula::host;
using namespace tegula::test;
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
/// value of each key is another unit vector. If the call fails, returns its message.
std::string seenKeys(const tegula_attention_problem &problem, int64_t queries, int64_t keys) {
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
  if (const Status status = makeContext().forward(problem, args); !status)
    return status.message;
  std::string picture;
  for (int64_t query = 0; query < queries; ++query, picture += ' ')
    for (int64_t key = 0; key < keys; ++key)
      picture += o[query * dim + key] > 0 ? 'x' : '.';
  return picture;
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
  EXPECT_THAT(context.backward(problem(), backward).message,
              HasSubstr("argument 'd_lse': it is given, but 'lse_gradient' is not set"));
  backward.struct_size = offsetof(tegula_backward_args, d_lse); // The size of a host without d_lse.
  EXPECT_TRUE(isOk(context.backward(problem(), backward)));
  tegula_attention_problem both = problem();
  both.lse_gradient = 1;
  EXPECT_THAT(context.backward(both, backward).message,
              HasSubstr("argument 'd_lse': it is missing, but 'lse_gradient' is set"));
  both.backward = 0;
  EXPECT_THAT(context.supports(both).message, HasSubstr("argument 'lse_gradient': it is set, but 'backward' is not"));
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
  ordered.reserved = 1;
  EXPECT_THAT(context.supports(ordered).message, HasSubstr("argument 'reserved': it is 1; it must be from 0 to 0"));
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
  EXPECT_THAT(context.forward(biased, forward).message, HasSubstr("argument 'variant_tensors': it has 0 tensors"));
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
  auto expectRefused = [&](const tegula_attention_problem &problem, const tegula_forward_args &args, tegula_status code,
                           const char *words) {
    const Status status = context.forward(problem, args);
    EXPECT_EQ(status.code, code);
    EXPECT_THAT(status.message, HasSubstr(words));
  };
  tegula_attention_problem odd = problem();
  odd.head_dim = 7;
  expectRefused(odd, sequence.forward(), TEGULA_INVALID_ARGUMENT, "argument 'head_dim': it is 7");
  odd = problem();
  odd.dtype = TEGULA_I8;
  expectRefused(odd, sequence.forward(), TEGULA_INVALID_ARGUMENT, "argument 'dtype': it is 5");
  odd = problem();
  odd.causal = -1;
  expectRefused(odd, sequence.forward(), TEGULA_INVALID_ARGUMENT, "argument 'causal': it is -1");
  odd = problem();
  odd.variants = 64;
  expectRefused(odd, sequence.forward(), TEGULA_INVALID_ARGUMENT, "argument 'variants': it is 64");
  odd = problem();
  odd.variants = TEGULA_SOFTCAP;
  expectRefused(odd, sequence.forward(), TEGULA_INVALID_ARGUMENT,
                "argument 'softcap': it is 0; it must be from 1e-30 to 1e30");
  tegula_forward_args args = sequence.forward();
  args.k.rank = 6;
  expectRefused(problem(), args, TEGULA_INVALID_ARGUMENT, "argument 'k.rank': it is 6");
  args = sequence.forward();
  args.v.dtype = 100;
  expectRefused(problem(), args, TEGULA_INVALID_ARGUMENT, "argument 'v.dtype': it is 100");
  args = sequence.forward();
  args.o.shape[2] = 11;
  expectRefused(problem(), args, TEGULA_INVALID_ARGUMENT, "argument 'o'");
  args = sequence.forward();
  args.variant_tensor_count = 1;
  expectRefused(problem(), args, TEGULA_INVALID_ARGUMENT, "argument 'variant_tensors': it is null");
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
  EXPECT_EQ(context.supports(windows).message,
            "argument 'window_left': it is 1073741825; it must be from 0 to 1073741824");
  windows.window_left = 0;
  windows.window_right = -1;
  EXPECT_EQ(context.supports(windows).message, "argument 'window_right': it is -1; it must be from 0 to 1073741824");
  tegula_attention_problem capped = problem();
  capped.variants = TEGULA_SOFTCAP;
  capped.softcap = 1e30;
  EXPECT_TRUE(isOk(context.supports(capped)));
  capped.softcap = 1e31;
  EXPECT_EQ(context.supports(capped).message, "argument 'softcap': it is 1e+31; it must be from 1e-30 to 1e30");
  tegula_attention_problem biased = problem();
  biased.variants = TEGULA_BIAS;
  tegula_tensor bias{};
  bias.dtype = 9;
  tegula_forward_args forward = sequence.forward();
  forward.variant_tensors = &bias;
  forward.variant_tensor_count = 1;
  EXPECT_EQ(context.forward(biased, forward).message,
            "argument 'variant_tensors[0].dtype': it is 9; it must be from 0 to 5");
  tegula_backward_args backward = sequence.backward();
  backward.d_o.data = static_cast<char *>(backward.d_o.data) + 1;
  EXPECT_THAT(context.backward(problem(), backward).message, HasSubstr("argument 'd_o': the data is not aligned"));
  backward = sequence.backward();
  alignas(64) static char memory[1 << 20];
  backward.q.data = backward.workspace = memory;
  backward.workspace_bytes = sizeof memory;
  EXPECT_THAT(context.backward(problem(), backward).message,
              HasSubstr("argument 'workspace': it shares memory with 'q'; it needs memory of its own"));
  tegula_attention_problem forwardOnly = problem();
  forwardOnly.backward = 0;
  EXPECT_EQ(context.backward(forwardOnly, sequence.backward()).message,
            "argument 'backward': it is not set in the plan's problem; make the plan with 'backward' set");
}

TEST(Call, AScaleThatIsNotFiniteIsRefused) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args forward = sequence.forward();
  forward.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(context.forward(problem(), forward).message,
            "argument 'scale': it is nan; it must be finite, or 0 for 1 / sqrt(head_dim)");
  tegula_backward_args backward = sequence.backward();
  backward.scale = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(context.backward(problem(), backward).message,
            "argument 'scale': it is -inf; it must be finite, or 0 for 1 / sqrt(head_dim)");
}

TEST(Call, SizesThatAKernelCannotCountAreNamed) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args args = sequence.forward();
  args.k.shape[2] = args.v.shape[2] = int64_t{1} << 40;
  const Status status = context.forward(problem(), args);
  EXPECT_EQ(status.code, TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(status.message, "argument 'seqlen_k': it is 1099511627776; it must be at most 1073740800, because sums of "
                            "positions in a kernel have 32 bits");
  tegula_backward_args backward = sequence.backward();
  for (tegula_tensor *tensor : {&backward.q, &backward.o, &backward.lse, &backward.d_o, &backward.dq})
    tensor->shape[2] = int64_t{1} << 40;
  EXPECT_THAT(context.backward(problem(), backward).message, HasSubstr("argument 'seqlen_q': it is 1099511627776"));
}

TEST(Call, StridesThatReachBeyondAddressesAreNamed) {
  const Context context = makeContext();
  Sequence sequence(10);
  tegula_forward_args args = sequence.forward();
  args.k.strides[2] = int64_t{1} << 62;
  const Status status = context.forward(problem(), args);
  EXPECT_EQ(status.code, TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(status.message, "argument 'k': the offset of an element exceeds 63 bits; its sizes and strides must stay "
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
  wide.head_dim = 512;
  const Status status = context.supports(wide);
  EXPECT_EQ(status.code, TEGULA_INVALID_ARGUMENT);
  EXPECT_EQ(status.message, "argument 'head_dim': it is 512; it must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(context.counters()->compilations, 0);
}

} // namespace
