// SPDX-License-Identifier: MIT
// Tests of recorded programs. Nothing is compiled.
#include "tegula/attention.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tegula {
namespace {

const AttentionConfig kConfig{.dtype = bf16, .head_dim = 64, .value_dim = 32, .block_m = 48, .block_n = 80};

std::vector<std::string> parameterNames(const Program &program) {
  std::vector<std::string> names;
  for (const Parameter &parameter : program.parameters)
    names.push_back((parameter.written ? "*" : "") + parameter.name);
  return names;
}

std::vector<Variant> readyMadeVariants() {
  return {softcap(30),
          alibi(Alignment::top_left),
          alibi(Alignment::bottom_right),
          slidingWindow(100, 0, Alignment::bottom_right),
          prefixLm(Alignment::top_left),
          documents(),
          packedSequences(),
          additiveBias(bf16),
          windowWithGlobals(100, 0, 16, Alignment::bottom_right),
          combine(either(documents(), prefixLm(Alignment::top_left)), softcap(30)),
          maskTensor(),
          givenWindow(Alignment::bottom_right),
          keyIntervals(),
          combine(combine(softcap(30), alibi(Alignment::top_left)), combine(documents(), additiveBias(f32)))};
}

TEST(Programs, EveryProgramRecordsForEveryVariantAndMask) {
  for (const AttentionProgram &entry : attentionPrograms())
    for (const Variant &variant : readyMadeVariants())
      for (Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right})
        for (DType dtype : {f32, f16, bf16}) {
          AttentionConfig config = kConfig;
          config.variant = variant;
          config.causal = causal;
          config.dtype = dtype;
          Expected<Program> program = entry.record(config);
          ASSERT_TRUE(program.ok()) << entry.name << ' ' << variant.name << ": " << program.status().message();
          EXPECT_EQ(program->name, entry.name);
          EXPECT_EQ(program->text, entry.record(config)->text) << "not reproducible";
        }
}

TEST(Programs, ParametersAreThoseOfTheDocumentation) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(parameterNames(*recordFlash2Forward(kConfig)), (Names{"q", "k", "v", "*o", "*lse", "scale"}));
  AttentionConfig packed = kConfig;
  packed.strips = true;
  EXPECT_EQ(parameterNames(*recordFlash2Forward(packed)),
            (Names{"q", "k", "v", "*o", "*lse", "scale", "query_strips"}));
  EXPECT_EQ(parameterNames(*recordFlash2Backward(packed)),
            (Names{"q", "k", "v", "d_o", "lse_term", "dp_init", "*dq_acc", "*dk", "*dv", "scale", "key_strips"}));
  EXPECT_EQ(parameterNames(*recordStripsOfQueries(packed)), (Names{"q", "*query_strips", "query_offsets"}));
  EXPECT_EQ(parameterNames(*recordStripsOfKeys(packed)), (Names{"k", "*key_strips", "key_offsets"}));
  AttentionConfig dynamic = kConfig;
  dynamic.tile_scheduler = TileScheduler::dynamic_persistent;
  EXPECT_EQ(parameterNames(*recordFlash2Forward(dynamic)), (Names{"q", "k", "v", "*o", "*lse", "scale", "*counter"}));
  EXPECT_EQ(parameterNames(*recordFlash2Backward(kConfig)),
            (Names{"q", "k", "v", "d_o", "lse_term", "dp_init", "*dq_acc", "*dk", "*dv", "scale"}));
  EXPECT_EQ(parameterNames(*recordFlash2BackwardPreprocess(kConfig)),
            (Names{"o", "d_o", "lse", "*lse_term", "*dp_init", "*dq_acc", "scale"}));
  AttentionConfig takesGradient = kConfig;
  takesGradient.lse_gradient = true;
  EXPECT_EQ(parameterNames(*recordFlash2BackwardPreprocess(takesGradient)),
            (Names{"o", "d_o", "lse", "*lse_term", "*dp_init", "*dq_acc", "scale", "d_lse"}));
  EXPECT_EQ(recordFlash2Backward(takesGradient)->text, recordFlash2Backward(kConfig)->text);
  EXPECT_EQ(recordFlash2Forward(takesGradient)->text, recordFlash2Forward(kConfig)->text);
  EXPECT_EQ(parameterNames(*recordFlash2BackwardPostprocess(kConfig)), (Names{"dq_acc", "*dq", "scale"}));
  EXPECT_EQ(parameterNames(*recordFlash1Forward(kConfig)),
            (Names{"q", "k", "v", "*o", "*lse", "*m", "*l", "*acc", "scale"}));
  EXPECT_EQ(parameterNames(*recordStandardScores(kConfig)), (Names{"q", "k", "*s", "scale"}));
  EXPECT_EQ(parameterNames(*recordStandardSoftmax(kConfig)), (Names{"s", "*p", "*lse"}));
  EXPECT_EQ(parameterNames(*recordStandardOutput(kConfig)), (Names{"p", "v", "*o"}));
}

TEST(Programs, VariantTensorsComeLastAndTheirGradientsAfterThem) {
  AttentionConfig config = kConfig;
  config.variant = combine(additiveBias(bf16), alibi(Alignment::top_left));
  std::vector<std::string> names = parameterNames(*recordFlash2Backward(config));
  EXPECT_EQ(std::vector(names.end() - 3, names.end()), (std::vector<std::string>{"bias", "slopes", "*dbias"}));
}

TEST(Programs, RefuseMoreTensorsThanTheyCanList) {
  AttentionConfig config = kConfig;
  config.variant.tensors.resize(16, {.name = "t", .dtype = f32, .axes = {Axis::heads}});
  config.tile_scheduler = TileScheduler::dynamic_persistent;
  EXPECT_EQ(
      recordFlash2Forward(config).status().message(),
      "a variant has too many tensors and gradients: 17 with the counter of blocks and the state of dropout, if there "
      "are any; at most 16 are supported");
}

TEST(Programs, AreFoundByName) {
  EXPECT_EQ(findAttentionProgram("flash1_forward")->name, "flash1_forward");
  Expected<AttentionProgram> unknown = findAttentionProgram("flash3_forward");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(
      unknown.status().message(),
      "there is no attention program 'flash3_forward', only standard_scores, standard_softmax, standard_output, "
      "flash1_forward, flash2_forward, flash2_forward_contain, flash2_backward_delta, flash2_backward_preprocess, "
      "flash2_backward, flash2_backward_postprocess, flash2_backward_sink, attention_scores, merge, merge_backward, "
      "block_states, tile_states_of_queries, tile_states_of_keys, visit_lists, visit_order, visit_ranks, "
      "strips_of_queries, strips_of_keys");
}

TEST(Resolve, FillsInBlockSizes) {
  Expected<KernelConfig> resolved =
      resolve({.dtype = f32, .head_dim = 128, .value_dim = 64}, "flash2_forward", {"cpu"});
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->schedule, (Schedule{.block_m = 96, .block_n = 96}));
  EXPECT_EQ(resolved->config.block_m, 96);
  EXPECT_EQ(resolved->config.block_n, 96);
  EXPECT_EQ(resolve({.dtype = f32, .head_dim = 136, .value_dim = 64}, "flash2_forward", {"cpu"})->config.block_m, 64);
  EXPECT_EQ(resolve({.dtype = f32, .head_dim = 64, .value_dim = 64}, "flash2_forward", {"cpu"}, {.block_n = 24})
                ->config.block_n,
            24);
}

TEST(Resolve, EveryProgramHasAScheduleOnEveryTarget) {
  for (const Target &target : {Target{"cpu"}, Target{"cuda"}, Target{"cuda", "sm_80"}, Target{"cuda", "sm_90"}})
    for (const AttentionProgram &entry : attentionPrograms())
      for (DType dtype : {f32, f16, bf16})
        for (int dim : {8, 64, 72, 128, 136, 256}) {
          Expected<KernelConfig> resolved =
              resolve({.dtype = dtype, .head_dim = dim, .value_dim = 8}, entry.name, target);
          ASSERT_TRUE(resolved.ok()) << resolved.status().message();
          EXPECT_GT(resolved->config.block_m, 0);
          EXPECT_GT(resolved->config.block_n, 0);
          EXPECT_EQ(resolved->schedule.num_warps > 0, target.name == "cuda");
        }
}

TEST(Resolve, ProgramsOfOnePlanHaveSchedulesOfTheirOwn) {
  AttentionProblem problem{.dtype = bf16, .head_dim = 128, .value_dim = 128};
  EXPECT_EQ(resolve(problem, "flash2_forward", {"cuda", "sm_90"})->schedule, (Schedule{128, 64, 4, 2, Roles::none}));
  EXPECT_EQ(resolve(problem, "flash2_backward", {"cuda", "sm_90"})->schedule, (Schedule{64, 128, 8, 2, Roles::none}));
  EXPECT_EQ(resolve(problem, "flash2_forward", {"cuda", "sm_90"}, {.block_n = 32})->schedule,
            (Schedule{128, 32, 4, 2, Roles::none}));
}

TEST(Resolve, ASmallerGpuHasASmallerSchedule) {
  AttentionProblem problem{.dtype = bf16, .head_dim = 128, .value_dim = 128};
  EXPECT_EQ(resolve(problem, "flash2_backward", {"cuda", "sm_86"})->schedule, (Schedule{64, 64, 8, 1, Roles::none}));
}

std::string refusal(const AttentionProblem &problem, const Schedule &schedule = {}) {
  Expected<KernelConfig> resolved = resolve(problem, "flash2_forward", {"cpu"}, schedule);
  return resolved.ok() ? "accepted" : resolved.status().message();
}

TEST(Resolve, NamesTheFieldItsValueAndWhatIsLegal) {
  AttentionProblem good{.dtype = f32, .head_dim = 64, .value_dim = 64};
  auto with = [&](auto change) {
    AttentionProblem problem = good;
    change(problem);
    return refusal(problem);
  };
  EXPECT_EQ(with([](auto &) {}), "accepted");
  EXPECT_EQ(with([](auto &p) { p.dtype = i8; }), "argument 'dtype': it is i8; it must be f32, f16 or bf16");
  EXPECT_EQ(with([](auto &p) { p.dtype = e4m3; }), "argument 'dtype': it is e4m3; it must be f32, f16 or bf16");
  EXPECT_EQ(with([](auto &p) { p.head_dim = -1; }), "argument 'head_dim': it is -1; it must be from 1 to 576");
  EXPECT_EQ(with([](auto &p) { p.head_dim = 577; }), "argument 'head_dim': it is 577; it must be from 1 to 576");
  EXPECT_EQ(with([](auto &p) { p.value_dim = 0; }), "argument 'value_dim': it is 0; it must be from 1 to 576");
  EXPECT_EQ(refusal(good, {.block_m = -1}),
            "argument 'block_m': it is -1; it must be from 1 to 1024, or 0 to have it chosen");
  EXPECT_EQ(refusal(good, {.block_n = 2048}),
            "argument 'block_n': it is 2048; it must be from 1 to 1024, or 0 to have it chosen");
  EXPECT_EQ(with([](auto &p) { p.variant = softcap(0); }),
            "argument 'softcap': it is 0; it must be from 1e-30 to 1e30");
  EXPECT_EQ(with([](auto &p) { p.variant = slidingWindow(3, -2, Alignment::top_left); }),
            "argument 'window_right': it is -2; it must be from 0 to 1073741824, or -1 for no bound");
  EXPECT_EQ(with([](auto &p) { p.variant = combine(softcap(-1), softcap(1)); }),
            "argument 'softcap': it is -1; it must be from 1e-30 to 1e30");
  EXPECT_EQ(with([](auto &p) { p.variant = combine(documents(), documents()); }),
            "argument 'variant': its tensor 'key_begin' has the name of another one");
  EXPECT_EQ(with([](auto &p) {
              p.variant = documents();
              p.variant.sequences = true;
            }),
            "argument 'variant': 'documents' has sequences, but no tensor 'query_offsets', i32 [any]; add it, or set "
            "sequences to false");
  EXPECT_EQ(
      with([](auto &p) {
        p.variant = packedQueries();
        p.backward = true;
      }),
      "argument 'variant': 'packed_queries' has sequences, but no tensor 'key_offsets', i32 [any]; add it, or set "
      "sequences or backward to false");
  EXPECT_EQ(with([](auto &p) {
              p.algorithm = Algorithm::flash1;
              p.backward = true;
            }),
            "this algorithm has no backward pass; flash2 has one");
}

} // namespace
} // namespace tegula
