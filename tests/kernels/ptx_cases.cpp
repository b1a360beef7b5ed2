// SPDX-License-Identifier: MIT
#include "kernels/ptx_cases.h"

#include "bench/own_kernels/programs.h"
#include "bench/products/programs.h"
#include "kernels/schedules.h"
#include "language/hopper_programs.h"
#include "tegula/attention.h"
#include "tegula/decode.h"
#include "tegula/packed.h"

namespace tegula {
namespace {

using testing::PtxCase;

const Target kHopper = {"cuda", "sm_90a", ""};

std::string nameOf(const Target &target, std::string_view program, const AttentionProblem &problem) {
  return target.arch + " " + std::string(program) + " " + std::string(toString(problem.dtype)) + " D" +
         std::to_string(problem.head_dim) + (problem.causal == Causal::none ? " " : " causal ") + problem.variant.name;
}

PtxCase caseOf(std::string name, const Target &target, Expected<RecordedKernel> kernel) {
  if (!kernel)
    return {std::move(name), target, kernel.status(), {}};
  return {std::move(name), target, std::move(kernel->program), kernel->schedule};
}

/// Adds all programs of a plan.
void addPlan(std::vector<PtxCase> &cases, const std::string &option, const AttentionProblem &problem) {
  for (const char *arch : {"sm_80", "sm_90a"})
    for (std::string_view program : programsOf(problem)) {
      const Target target = {"cuda", arch, ""};
      cases.push_back(
          caseOf(nameOf(target, program, problem) + " " + option, target, recordKernel(problem, program, target)));
    }
}

AttentionProblem backwardOf(int head_dim, Causal causal) {
  return {.head_dim = head_dim, .value_dim = head_dim, .causal = causal, .backward = true};
}

void addOptions(std::vector<PtxCase> &cases, const AttentionProblem &plain) {
  const auto add = [&](const char *option, auto change) {
    AttentionProblem problem = plain;
    change(problem);
    addPlan(cases, option, problem);
  };
  add("plain", [](AttentionProblem &) {});
  add("deterministic", [](AttentionProblem &problem) { problem.deterministic = true; });
  add("contain_nonfinite", [](AttentionProblem &problem) { problem.contain_nonfinite = true; });
  add("lse_gradient", [](AttentionProblem &problem) { problem.lse_gradient = true; });
  add("dropout", [](AttentionProblem &problem) { problem.dropout_p = 0.25; });
  add("sinks", [](AttentionProblem &problem) { problem.sinks = true; });
  add("diagonal_offset", [](AttentionProblem &problem) { problem.diagonal_offset = true; });
  add("block_mask", [](AttentionProblem &problem) { problem.block_mask.source = BlockMask::Source::computed; });
}

void addVariants(std::vector<PtxCase> &cases, AttentionProblem problem) {
  const Alignment corner = Alignment::bottom_right;
  for (const Variant &variant :
       {softcap(30), alibi(corner), slidingWindow(1024, 0, corner), givenWindow(corner), globalTokens(64, corner),
        windowWithGlobals(1024, 0, 64, corner), prefixLm(corner), documents(), packedSequences(), keyIntervals(),
        additiveBias(problem.dtype), maskTensor(), addedProduct(problem.dtype, 64)}) {
    problem.variant = variant;
    addPlan(cases, "variant", problem);
  }
}

void addKernels(std::vector<PtxCase> &cases, const std::string &name, const Expected<PlanSpec> &plan) {
  if (!plan)
    return cases.push_back({name, kHopper, plan.status(), {}});
  for (const KernelSpec &kernel : plan->kernels()) {
    Expected<Configuration> configuration = kernel.resolved();
    if (!configuration)
      cases.push_back({name + kernel.name(), kHopper, configuration.status(), {}});
    else
      cases.push_back({name + kernel.name(), kHopper, kernel.record(*configuration), configuration->schedule});
  }
}

void addDecoding(std::vector<PtxCase> &cases, const DecodeProblem &problem) {
  const std::string name = "sm_90a decode pages=" + std::to_string(problem.page_size) +
                           " rows=" + std::to_string(problem.expected_rows) + (problem.latent ? " latent" : "") +
                           (problem.prefix ? " prefix " : " ");
  addKernels(cases, name, decodeAttention(problem, kHopper));
}

} // namespace

std::vector<PtxCase> testing::shippedCases() {
  std::vector<PtxCase> cases;
  for (const char *arch : {"sm_80", "sm_86", "sm_90a", "sm_100"})
    for (const AttentionProgram &program : attentionPrograms()) {
      const Target target = {"cuda", arch, ""};
      for (const ShippedSchedule &shipped : shippedSchedules(target, program.name))
        cases.push_back(caseOf(nameOf(target, program.name, shipped.problem) + " " + toString(shipped.schedule), target,
                               recordKernel(shipped.problem, program.name, target, shipped.schedule)));
    }
  return cases;
}

std::vector<PtxCase> testing::optionCases() {
  std::vector<PtxCase> cases;
  for (int head_dim : {64, 128})
    addOptions(cases, backwardOf(head_dim, Causal::bottom_right));
  for (int head_dim : {64, 128})
    addVariants(cases, backwardOf(head_dim, Causal::none));
  for (int page_size : {0, 1, 8, 64})
    for (int rows : {8, 64})
      addDecoding(cases, {.head_dim = 128, .value_dim = 128, .page_size = page_size, .expected_rows = rows});
  for (int page_size : {0, 64}) {
    addDecoding(cases, {.head_dim = 128, .value_dim = 128, .page_size = page_size, .prefix = true});
    addDecoding(cases, {.dtype = bf16, .head_dim = 576, .value_dim = 512, .latent = true, .page_size = page_size});
  }
  addKernels(cases, "sm_90a ", packedIntervals());
  for (int page_size : {16, 256}) {
    addKernels(cases, "sm_90a pages=" + std::to_string(page_size) + " ", packedPages({.page_size = page_size}));
    for (int head_dim : {64, 128})
      addPlan(cases, "pages=" + std::to_string(page_size),
              {.head_dim = head_dim, .value_dim = head_dim, .variant = packedQueries(), .page_size = page_size});
  }
  return cases;
}

std::vector<PtxCase> testing::userCases() {
  std::vector<PtxCase> cases;
  const auto add = [&](const std::string &name, Expected<Program> program, const Schedule &schedule = {}) {
    cases.push_back({"sm_90a user " + name, kHopper, std::move(program), schedule});
  };
  const Schedule loads{.num_warps = 8, .num_stages = 2, .roles = Roles::load}, adds = [&] {
    Schedule with_tma = loads;
    with_tma.add_by_tma = true;
    return with_tma;
  }();
  add("product", bench::recordMatrixProduct(bf16, {128, 256, 64}));
  add("persistent product", bench::recordPersistentMatrixProduct(bf16, {128, 128, 64}));
  add("two products", bench::recordTwoProducts(bf16, {128, 64, 64}, 128));
  add("linear attention", bench::recordLinearAttention(bf16, 128, 128));
  add("sink attention", bench::recordSinkAttention(bf16, 128, 128, 128));
  add("sigmoid forward", bench::recordSigmoidForward(bf16, 128, 128, 64));
  add("sigmoid backward of heads", bench::recordSigmoidBackward(bf16, 64, 128, 64));
  for (const char *steps : {"", "s dp < dq.lhs > dq@1 dv dk"})
    add(std::string("sigmoid backward ") + steps, language::recordSigmoidBackward(steps));
  for (const char *steps : {"x v u", "x v.lhs v u", "x < v.lhs > v@1 u", "x v@1 u"})
    for (const Schedule &schedule : {loads, adds})
      add(std::string("both sides ") + steps + " " + toString(schedule), language::recordBothSides(steps), schedule);
  for (const char *steps : {"hidden out", "hidden out@1", "< hidden out@1 >"})
    add(std::string("in steps ") + steps, language::recordInSteps(steps));
  add("row sums", language::recordProductAndRowSums());
  add("after a loop", language::recordProductAfterALoop());
  add("bias f32", language::recordWithBias(f32, 64));
  add("bias bf16", language::recordWithBias(bf16, 64));
  add("tiles", language::recordWithTiles());
  for (DType dtype : {f32, bf16, i8})
    add("stores " + std::string(toString(dtype)), language::recordStores(dtype));
  for (int block_n : {128, 256})
    add("tf32 product " + std::to_string(block_n), language::recordTf32Product(128, block_n), loads);
  add("tf32 square", language::recordTf32Square(), loads);
  add("drawn tf32 product", language::recordDrawnTf32Product(), loads);
  add("split product", language::recordSplitProduct(64, 0), adds);
  add("split product in turns", language::recordSplitProductInTurns(), adds);
  return cases;
}

} // namespace tegula
