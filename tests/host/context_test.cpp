// SPDX-License-Identifier: MIT
// Tests of options, versions of structures, policies and counters.
#include "host/host_fixture.h"

#include <cstring>
#include <gmock/gmock.h>
#include <string>

using namespace tegula::host;
using namespace tegula::test;
using ::testing::HasSubstr;

namespace {

/// A structure of an older or newer host.
template <class T> struct OtherVersion {
  T known{};
  char more[16] = {};
};

TEST(Versions, OfTheLibrary) {
  EXPECT_EQ(tegula_abi_version(), uint32_t{TEGULA_ABI_VERSION});
  EXPECT_THAT(tegula_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Versions, AnOlderHostHasFewerFields) {
  const Context context = makeContext();
  tegula_attention_problem old = problem();
  old.struct_size = offsetof(tegula_attention_problem, variants);
  old.variants = -1; // The library must not read this field.
  EXPECT_TRUE(isOk(context.supports(old)));
}

TEST(Versions, ANewerHostMayUseOnlyWhatThereIs) {
  const Context context = makeContext();
  OtherVersion<tegula_attention_problem> newer{problem()};
  newer.known.struct_size = sizeof newer;
  EXPECT_TRUE(isOk(context.supports(newer.known)));
  newer.more[3] = 1;
  const Status status = context.supports(newer.known);
  EXPECT_EQ(status.code(), ErrorCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("argument 'problem': its struct_size is " + std::to_string(sizeof newer) +
                                        "; this library knows " + std::to_string(sizeof newer.known) + " bytes"));
}

TEST(Versions, AForgottenSizeIsAnError) {
  const Context context = makeContext();
  tegula_attention_problem forgotten = problem();
  forgotten.struct_size = 0;
  EXPECT_EQ(context.supports(forgotten).code(), ErrorCode::invalid_argument);
}

TEST(Options, AreChecked) {
  auto expectRefused = [](auto change, const char *words) {
    tegula_context_options wrong = options();
    change(wrong);
    const Status status = Context::create(wrong).status();
    EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(status.message(), HasSubstr(words));
  };
  expectRefused([](auto &o) { o.device = 2; }, "argument 'device': it is 2");
  expectRefused([](auto &o) { o.policy = 3; }, "argument 'policy': it is 3");
  expectRefused([](auto &o) { o.check_finite = 3; }, "argument 'check_finite': it is 3; it must be from 0 to 2");
  expectRefused([](auto &o) { o.threads = -1; }, "threads is -1");
  expectRefused([](auto &o) { o.workers = -1; }, "argument 'workers': it is -1");
  expectRefused([](auto &o) { o.cache_limit_bytes = -1; }, "argument 'cache_limit_bytes': it is -1");
  expectRefused([](auto &o) { o.read_only_count = 1; }, "argument 'read_only': it is null");
  EXPECT_EQ(makeContext().setPolicy(-1).code(), ErrorCode::invalid_argument);
}

/// The lines that name the first kernel of problem() in a message.
const char *const kForwardKernel =
    "\nkernel flash2_forward\ntarget cpu\nschedule block_m=96 block_n=96\n"
    "attention dtype=f32 algorithm=flash2 head_dim=16 value_dim=16 causal=none variant=none";

TEST(Options, ThereMayBeNoCompiler) {
  tegula_context_options none = options();
  none.compiler = "/nowhere/tegula-cc";
  none.cache_directory = "";
  Sequence sequence(10);
  const Status status = makeContext(none).forward(problem(), sequence.forward());
  EXPECT_EQ(status.code(), ErrorCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("cannot be started"));
  EXPECT_THAT(status.message(), HasSubstr(kForwardKernel));
}

TEST(Options, LimitsAreKept) {
  tegula_context_options limited = options();
  limited.cache_directory = "";
  limited.compile_memory_bytes = 16 << 20;
  Status status = makeContext(limited).plan(problem()).status();
  EXPECT_EQ(status.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("the limit is 16 MiB; raise WorkerOptions::memory_bytes (in C: compile_memory_bytes)"));
  EXPECT_THAT(status.message(), HasSubstr(kForwardKernel));
  limited = options();
  limited.cache_directory = "";
  limited.compile_time_limit_ms = 1;
  status = makeContext(limited).plan(problem()).status();
  EXPECT_EQ(status.code(), ErrorCode::compile_timeout);
  EXPECT_THAT(status.message(),
              HasSubstr("the limit is 1 ms; raise WorkerOptions::time_limit (in C: compile_time_limit_ms)"));
  EXPECT_THAT(status.message(), HasSubstr(kForwardKernel));
}

TEST(Policy, DecidesHowFarACallGoes) {
  ASSERT_TRUE(isOk(makeContext().plan(problem()).status())); // The cache keeps the kernels.
  tegula_context_options strict = options();
  strict.policy = TEGULA_LOADED_ONLY;
  const Context context = makeContext(strict);
  const Status status = context.plan(problem()).status();
  EXPECT_EQ(status.code(), ErrorCode::needs_compile);
  EXPECT_THAT(status.message(), ::testing::StartsWith("a kernel is not loaded, and the policy is loaded_only (in C: "
                                                    "TEGULA_LOADED_ONLY)"));
  EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("bundle")));
  EXPECT_THAT(status.message(), HasSubstr(kForwardKernel));
  ASSERT_TRUE(isOk(context.setPolicy(TEGULA_LOAD_ONLY)));
  EXPECT_TRUE(isOk(context.plan(problem()).status()));
  EXPECT_EQ(context.counters()->compilations, 0);
  EXPECT_EQ(context.counters()->hits, 4);
  tegula_attention_problem other = problem();
  other.head_dim = 24;
  other.causal = TEGULA_CAUSAL_TOP_LEFT;
  other.variants = TEGULA_WINDOW | TEGULA_SOFTCAP;
  other.softcap = 30;
  const Status missing = context.plan(other).status();
  EXPECT_EQ(missing.code(), ErrorCode::needs_compile);
  EXPECT_THAT(missing.message(), ::testing::StartsWith("a kernel is not at hand, and the policy does not allow compiling "
                                                     "it; allow that, or bring the kernel in a bundle"));
  EXPECT_THAT(missing.message(),
              HasSubstr("\nattention dtype=f32 algorithm=flash2 head_dim=24 value_dim=24 causal=top_left "
                        "variant=sliding_window+softcap"));
}

TEST(Plans, AreMadeForPowersOfTwo) {
  const Context context = makeContext();
  auto plansAfter = [&](int64_t seqlen_q, int64_t seqlen_k) {
    tegula_attention_problem lengths = problem();
    lengths.seqlen_q = seqlen_q;
    lengths.seqlen_k = seqlen_k;
    EXPECT_TRUE(isOk(context.plan(lengths).status()));
    return context.counters()->plans;
  };
  EXPECT_EQ(plansAfter(0, 0), 1);
  EXPECT_EQ(plansAfter(300, 512), 2);
  EXPECT_EQ(plansAfter(512, 257), 2);
  EXPECT_EQ(plansAfter(513, 512), 3);
  EXPECT_EQ(plansAfter(0, 0), 3);
}

TEST(Plans, AreNotMadeForImpossibleLengths) {
  const Context context = makeContext();
  tegula_attention_problem wrong = problem();
  wrong.seqlen_k = -1;
  const Status status = context.plan(wrong).status();
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("argument 'seqlen_k': it is -1; it must be from 0 to 1099511627776"));
}

} // namespace
