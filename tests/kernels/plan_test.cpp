// SPDX-License-Identifier: MIT
// Tests what a plan refuses, and with which messages.
#include "harness/case.h"
#include "harness/machine.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

Case base(std::string variant = "none") {
  return {
      .variant = std::move(variant),
      .schedule = {.block_m = 16, .block_n = 16},
      .shape = {.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 5, .seqlen_k = 6, .head_dim = 16, .value_dim = 8}};
}

/// A valid call, which tests make invalid.
struct Call {
  explicit Call(const std::string &variant = "none") : c(base(variant)), tensors(makeTensors(c)), plan(*planFor(c)) {
    views = tensors.variant.tensorRefs();
    gradients = tensors.variant.gradientRefs();
    forward = {.q = tensors.q.ref(),
               .k = tensors.k.ref(),
               .v = tensors.v.ref(),
               .o = tensors.o.ref(),
               .lse = tensors.lse.ref(),
               .scale = 1,
               .variant_tensors = views};
    backward = {.q = tensors.q.ref(),
                .k = tensors.k.ref(),
                .v = tensors.v.ref(),
                .o = tensors.o.ref(),
                .lse = tensors.lse.ref(),
                .d_o = tensors.d_o.ref(),
                .dq = tensors.dq.ref(),
                .dk = tensors.dk.ref(),
                .dv = tensors.dv.ref(),
                .scale = 1,
                .variant_tensors = views,
                .variant_gradients = gradients};
  }

  Case c;
  Tensors tensors;
  AttentionPlan plan;
  std::vector<TensorRef> views, gradients;
  AttentionForward forward;
  AttentionBackward backward;
};

/// Returns the message for a forward call that `spoil` has changed.
template <class Spoil> std::string refusal(Spoil spoil, const std::string &variant = "none") {
  Call call(variant);
  spoil(call.forward);
  Status status = call.plan.forward(call.forward);
  EXPECT_EQ(status.code(), status.ok() ? ErrorCode::ok : ErrorCode::invalid_argument);
  for (float x : call.tensors.o.numbers())
    EXPECT_TRUE(status.ok() || x != x) << "something ran";
  return status.message();
}

TEST(Plan, AcceptsWhatIsRight) {
  EXPECT_EQ(refusal([](auto &) {}), "");
}

TEST(Plan, RefusesWrongRanks) {
  EXPECT_EQ(refusal([](auto &call) { call.q.rank = 3; }),
            "argument 'q': it has rank 3; it must be [batch, heads, seqlen_q, 16], of rank 4");
  EXPECT_EQ(refusal([](auto &call) { call.lse.rank = 4; }),
            "argument 'lse': it has rank 4; it must be [batch, heads, seqlen_q], of rank 3");
}

TEST(Plan, RefusesWrongElementTypes) {
  EXPECT_EQ(refusal([](auto &call) { call.v.dtype = f16; }), "argument 'v': its element type is f16; it must be f32");
  EXPECT_EQ(refusal([](auto &call) { call.lse.dtype = bf16; }),
            "argument 'lse': its element type is bf16; it must be f32");
}

TEST(Plan, RefusesWrongSizes) {
  EXPECT_EQ(refusal([](auto &call) { call.q.shape[3] = 24; }),
            "argument 'q': its size 3 is 24; it must be [batch, heads, seqlen_q, 16] with last size = 16");
  EXPECT_EQ(refusal([](auto &call) { call.k.shape[0] = 3; }),
            "argument 'k': its size 0 is 3; it must be [batch, kv_heads, seqlen_k, 16] with batch = 2");
  EXPECT_EQ(refusal([](auto &call) { call.v.shape[2] = 7; }),
            "argument 'v': its size 2 is 7; it must be [batch, kv_heads, seqlen_k, 8] with seqlen_k = 6");
  EXPECT_EQ(refusal([](auto &call) { call.o.shape[1] = 2; }),
            "argument 'o': its size 1 is 2; it must be [batch, heads, seqlen_q, 8] with heads = 4");
  EXPECT_EQ(refusal([](auto &call) { call.lse.shape[2] = 4; }),
            "argument 'lse': its size 2 is 4; it must be [batch, heads, seqlen_q] with seqlen_q = 5");
}

TEST(Plan, RefusesNegativeSizes) {
  EXPECT_EQ(refusal([](auto &call) { call.k.shape[2] = -1; }), "argument 'k': size 2 is -1; it must be 0 or more");
}

TEST(Plan, RefusesHeadsThatCannotBeGrouped) {
  EXPECT_EQ(refusal([](auto &call) { call.k.shape[1] = call.v.shape[1] = 3; }),
            "argument 'kv_heads': it is 3, which does not divide the 4 heads of q");
  EXPECT_EQ(refusal([](auto &call) { call.k.shape[1] = call.v.shape[1] = 0; }),
            "argument 'kv_heads': it is 0, which does not divide the 4 heads of q");
}

TEST(Plan, RefusesOutputsThatOverlap) {
  EXPECT_EQ(refusal([](auto &call) { call.lse.data = call.o.data; }),
            "argument 'o': it is written, but shares memory with 'lse'; outputs need memory of their own");
  Call call;
  call.backward.dq.data = call.backward.q.data;
  EXPECT_EQ(call.plan.backward(call.backward).message(),
            "argument 'dq': it is written, but shares memory with 'q'; outputs need memory of their own");
}

/// If earlier kernels had run, a retry would add to the bias gradient again.
TEST(Plan, NothingOfABackwardPassRunsIfItsLastKernelIsRefused) {
  Call call("bias");
  ScratchMemory scratch(*call.plan.backwardWorkspace({2, 4, 2, 5, 6}));
  ASSERT_TRUE(call.plan.forward(call.forward).ok());
  call.backward.dq.data = nullptr;
  EXPECT_THAT(call.plan.backward(call.backward, scratch.get()).message(), ::testing::HasSubstr("'dq'"));
  for (float x : call.tensors.dk.numbers())
    EXPECT_TRUE(std::isnan(x)); // Still poison.
}

TEST(Plan, RefusesAWrongNumberOfVariantTensors) {
  EXPECT_EQ(refusal([](auto &call) { call.variant_tensors = {}; }, "documents"),
            "argument 'variant_tensors': it has 0 tensors; the plan's variant needs 4");
  Call call("bias");
  call.backward.variant_gradients = {};
  EXPECT_EQ(call.plan.backward(call.backward).message(),
            "argument 'variant_gradients': it has 0 tensors; the plan's variant needs 1");
}

TEST(Plan, ChecksTheSizesOfVariantTensors) {
  Call call("alibi_tl");
  call.views[0].shape[0] = 3;
  EXPECT_EQ(call.plan.forward(call.forward).message(),
            "argument 'slopes': its size 0 is 3; it must be [heads] with heads = 4");
}

TEST(Plan, AsksForAWorkspace) {
  Call call;
  AttentionShape shape{2, 4, 2, 5, 6};
  EXPECT_EQ(*call.plan.forwardWorkspace(shape), 0);
  EXPECT_EQ(*call.plan.backwardWorkspace(shape), 2 * 512 + 2560); // lse_term and dp_init in blocks of 16, and dq_acc
  EXPECT_EQ(call.plan.backward(call.backward).message(),
            "argument 'workspace': it has 0 bytes; 3584 are needed for these shapes");
  ScratchMemory scratch(3584 + 64);
  Workspace crooked{static_cast<char *>(scratch.get().data) + 4, 3584};
  EXPECT_EQ(call.plan.backward(call.backward, crooked).message(),
            "argument 'workspace': its address is null or not a multiple of 64");
}

TEST(Plan, CountsBlocksInItsWorkspace) {
  Case c = base();
  c.schedule.tile_scheduler = TileScheduler::dynamic_persistent;
  Expected<AttentionPlan> plan = planFor(c);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*plan->forwardWorkspace({2, 4, 2, 5, 6}), 64);
  EXPECT_EQ(*plan->backwardWorkspace({2, 4, 2, 5, 6}), 2 * 512 + 2560);
  Call call;
  EXPECT_EQ(plan->forward(call.forward).message(),
            "argument 'workspace': it has 0 bytes; 64 are needed for these shapes");
}

TEST(Plan, RefusesAnOrderOfBlocksThatDoesNotExist) {
  Case c = base();
  c.schedule = {.heads_in_l2 = 1025};
  EXPECT_EQ(planFor(c).status().message(), "argument 'heads_in_l2': it is 1025; it must be from 1 to 1024, or 0 for 1");
  c.schedule = {.heads_in_l2 = 2, .tile_scheduler = TileScheduler::static_persistent};
  EXPECT_EQ(planFor(c).status().message(),
            "argument 'heads_in_l2': it is 2, but tile_scheduler=static_persistent has an order of its own; it "
            "must be 0 or 1");
}

/// Returns the message of AttentionPlan::make for a problem with this causal mask and variant.
std::string refusalOf(Causal causal, const Variant &variant) {
  const AttentionProblem problem{
      .dtype = f32, .head_dim = 16, .value_dim = 16, .causal = causal, .variant = variant, .backward = false};
  const Status status = AttentionPlan::make(problem, *machine().cache).status();
  EXPECT_EQ(status.code(), status.ok() ? ErrorCode::ok : ErrorCode::invalid_argument);
  return status.message();
}

TEST(Plan, HasOneDiagonal) {
  constexpr Alignment first = Alignment::top_left, last = Alignment::bottom_right;
  const char *const advice = "; a problem has one diagonal: make all of them top_left, or all bottom_right";
  EXPECT_EQ(refusalOf(Causal::bottom_right, slidingWindow(3, 0, first)),
            std::string("argument 'variant': a band of 'sliding_window' counts from top_left, but 'causal' is "
                        "bottom_right") +
                advice);
  EXPECT_EQ(refusalOf(Causal::top_left, prefixLm(last)),
            std::string("argument 'variant': a range of 'prefix_lm' counts from bottom_right, but 'causal' is "
                        "top_left") +
                advice);
  EXPECT_EQ(refusalOf(Causal::top_left, alibi(last)),
            std::string("argument 'variant': the peak of 'alibi' is at bottom_right, but 'causal' is top_left") +
                advice);
  EXPECT_EQ(refusalOf(Causal::none, combine(slidingWindow(3, 0, first), alibi(last))),
            std::string("argument 'variant': the peak of 'sliding_window+alibi' is at bottom_right, but a band of it "
                        "counts from top_left") +
                advice);
  EXPECT_EQ(refusalOf(Causal::none, combine(alibi(first), combine(softcap(3), alibi(last)))),
            std::string("combine: the peak of 'alibi' is at top_left, that of 'softcap+alibi' at bottom_right") +
                advice);
  EXPECT_EQ(refusalOf(Causal::bottom_right, combine(slidingWindow(3, 0, last), alibi(last))), "");
  EXPECT_EQ(refusalOf(Causal::top_left, documents()), "");
}

TEST(Plan, AScaleOf0IsTheUsualOne) {
  Call usual, unset;
  usual.forward.scale = usual.backward.scale = 0.25f; // 1 / sqrt(16)
  unset.forward.scale = unset.backward.scale = 0;
  for (Call *call : {&usual, &unset}) {
    ScratchMemory scratch(*call->plan.backwardWorkspace({2, 4, 2, 5, 6}));
    ASSERT_EQ(call->plan.forward(call->forward).message(), "");
    ASSERT_EQ(call->plan.backward(call->backward, scratch.get()).message(), "");
  }
  EXPECT_EQ(unset.tensors.o.bits(), usual.tensors.o.bits());
  EXPECT_EQ(unset.tensors.lse.bits(), usual.tensors.lse.bits());
  EXPECT_EQ(unset.tensors.dq.bits(), usual.tensors.dq.bits());
  EXPECT_EQ(unset.tensors.dk.bits(), usual.tensors.dk.bits());
}

TEST(Plan, RefusesSizesThatAKernelCannotCount) {
  EXPECT_EQ(refusal([](auto &call) { call.k.shape[2] = call.v.shape[2] = int64_t{1} << 40; }),
            "argument 'seqlen_k': it is 1099511627776; it must be at most 1073740800, because sums of positions in a "
            "kernel have 32 bits");
}

/// A compiler that gives the first parameter of each kernel another name.
class Renames final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &request) override {
    Expected<Artifact> artifact = machine().compiler->compile(request);
    if (artifact)
      artifact->parameters[0].name = "queries";
    return artifact;
  }
  std::string identity(const Target &) const override { return ""; }
};

TEST(Plan, ChecksTheParametersOfKernelsWhenItIsMade) {
  Renames renames;
  KernelCache cache(renames, machine().device);
  const Status status =
      AttentionPlan::make({.dtype = f32, .head_dim = 16, .value_dim = 16}, cache, {.block_m = 16, .block_n = 16})
          .status();
  EXPECT_EQ(status.code(), ErrorCode::internal);
  EXPECT_THAT(status.message(),
              ::testing::StartsWith("program 'flash2_forward': its parameter 'queries' is no argument; "
                                    "the arguments of a launch are q, k, v, o, lse, scale\n"));
}

TEST(Plan, ErrorsOfCompilingNameTheKernel) {
  KernelCache cache(*machine().compiler, machine().device, {.policy = CompilePolicy::load_only});
  const AttentionProblem problem{
      .dtype = bf16, .head_dim = 16, .value_dim = 24, .causal = Causal::bottom_right, .variant = softcap(3)};
  const Status status = AttentionPlan::make(problem, cache, {.block_m = 16, .block_n = 32}).status();
  EXPECT_EQ(status.code(), ErrorCode::needs_compile);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("kernel flash2_forward\ntarget "));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("\nschedule block_m=16 block_n=32"));
  EXPECT_THAT(status.message(), ::testing::EndsWith("\nattention dtype=bf16 algorithm=flash2 head_dim=16 value_dim=24 "
                                                    "causal=bottom_right variant=softcap"));
}

TEST(Plan, ErrorsOfRecordingNameTheKernel) {
  AttentionProblem problem{.dtype = f32, .head_dim = 16, .value_dim = 16, .variant = {.name = "wide"}};
  for (int n = 0; n < 17; ++n)
    problem.variant.tensors.push_back({"x" + std::to_string(n), f32, {Axis::heads}});
  const Status status = AttentionPlan::make(problem, *machine().cache).status();
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(status.message(), ::testing::StartsWith("a variant has too many tensors and gradients: 17"));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("\nkernel flash2_forward\n"));
  EXPECT_THAT(status.message(), ::testing::EndsWith("variant=wide"));
}

TEST(Plan, RefusesWorkspacesBeyond63Bits) {
  Call call;
  Expected<int64_t> bytes = call.plan.backwardWorkspace({1 << 30, 1 << 30, 1 << 30, 1 << 29, 1});
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(call.plan.backwardWorkspace({1, 1, 1, -3, 1}).status().message(),
            "argument 'seqlen_q': it is -3; it must be 0 or more");
}

TEST(Plan, RefusesABackwardPassItWasNotMadeFor) {
  Case c = base();
  c.backward = false;
  Expected<AttentionPlan> plan = planFor(c);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->backward({}).message(),
            "argument 'backward': it is not set in the plan's problem; make the plan with 'backward' set");
}

TEST(Plan, KeepsItsProblemAndSchedule) {
  Expected<AttentionPlan> plan =
      AttentionPlan::make({.dtype = f32, .head_dim = 16, .value_dim = 8}, *machine().cache, {.block_m = 16});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->problem().value_dim, 8);
  EXPECT_EQ(plan->schedule("flash2_forward").block_m, 16);
  EXPECT_GT(plan->schedule("flash2_forward").block_n, 0);
  EXPECT_EQ(plan->schedule("flash2_backward"), Schedule());
}

} // namespace
} // namespace tegula::testing
