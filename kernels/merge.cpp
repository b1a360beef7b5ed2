// SPDX-License-Identifier: MIT
// Partial results of attention, merged by their LSE (FlashDecoding, Dao et al. 2023). A program instance works on a
// block of queries of one head.
#include "tegula/merge.h"

#include "arguments.h"
#include "launch_grid.h"
#include "tegula/attention.h"
#include "tegula/guard.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void merge(const AttentionConfig &c, View OParts, View LParts, View O, View L) {
  Value i = programId(0) * c.block_m, head = programId(1), batch = programId(2);
  OnlineSoftmax softmax(c.block_m, c.value_dim);
  for (Value part : range(0, OParts.dim(0))) {
    Value o = OParts.at(part, batch, head).load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
    softmax.merge(o, LParts.at(part, batch, head).load(i, {c.block_m}));
  }
  O.at(batch, head).store(i, softmax.output());    // [block_m, value_dim]
  L.at(batch, head).store(i, softmax.logSumExp()); // [block_m]
}

/// `dL` is the gradient of L, if there is one. The parts differ in p only by their lse, so -rowsum(dO O) + dL is
/// common.
void mergeBackward(const AttentionConfig &c, View OParts, View LParts, View O, View L, View dO, View dOParts,
                   View dLParts, std::span<const View> dL) {
  Value i = programId(0) * c.block_m, head = programId(1), batch = programId(2);
  Value lse = L.at(batch, head).load(i, {c.block_m});                                    // [block_m]
  Value do_i = cast(f32, dO.at(batch, head).load(i, {c.block_m, c.value_dim}));          // [block_m, value_dim]
  Value mean = rowSum(do_i * O.at(batch, head).load(i, {c.block_m, c.value_dim}));       // [block_m]
  Value common = dL.empty() ? -mean : dL[0].at(batch, head).load(i, {c.block_m}) - mean; // [block_m]
  for (Value part : range(0, OParts.dim(0))) {
    Value lse_part = LParts.at(part, batch, head).load(i, {c.block_m});            // [block_m]
    Value o_part = OParts.at(part, batch, head).load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
    Value hasNoKey = lse_part == -infinity;                                        // [block_m]
    Value p = exp(lse_part - lse);                                                 // [block_m]
    Value d_lse = select(hasNoKey, 0.0, p * (rowSum(do_i * o_part) + common));     // [block_m]
    Value d_o = select(asColumn(hasNoKey), 0.0, asColumn(p) * do_i);               // [block_m, value_dim]
    dOParts.at(part, batch, head).store(i, d_o);
    dLParts.at(part, batch, head).store(i, d_lse);
  }
}

TensorArg parts(const AttentionConfig &config, std::string name) { return {std::move(name), config.dtype, 5}; }
TensorArg partStatistic(std::string name) { return {std::move(name), f32, 4}; }

/// Returns the problem that has the schedule and the configuration of the programs.
AttentionProblem problemOf(const MergeProblem &merge) {
  return {.dtype = merge.dtype,
          .head_dim = 8, // The programs do not read it.
          .value_dim = merge.value_dim,
          .backward = true,
          .lse_gradient = merge.lse_gradient};
}

Expected<PlanSpec> specOf(const MergeProblem &merge, std::string_view program, const Target &target,
                          std::vector<ArgumentSpec> arguments) {
  Expected<RecordedKernel> recorded = recordKernel(problemOf(merge), program, target);
  if (!recorded)
    return recorded.status();
  const auto [x, y, z] = launchGrid(findAttentionProgram(program)->grid, recorded->schedule);
  const auto record = [program = recorded->program](const Sizes &) -> Expected<Program> { return program; };
  return PlanSpec(
      KernelSpec::ofPrograms(program, std::move(arguments), record).grid(x, y, z).defaults(recorded->schedule));
}

const Size kParts("parts"), kBatch("batch"), kHeads("heads"), kQueries("seqlen_q");

std::vector<Size> ofRows() { return {kBatch, kHeads, kQueries}; }
std::vector<Size> ofParts() { return {kParts, kBatch, kHeads, kQueries}; }

std::vector<Size> with(std::vector<Size> shape, int columns) {
  shape.emplace_back(columns);
  return shape;
}

} // namespace

Expected<Program> recordMerge(const AttentionConfig &config) {
  auto kernel = [&config](View o_parts, View lse_parts, View o, View lse) {
    merge(config, o_parts, lse_parts, o, lse);
  };
  return record("merge", kernel, parts(config, "o_parts"), partStatistic("lse_parts"), tensor(config, "o"),
                statistic("lse"));
}

Expected<Program> recordMergeBackward(const AttentionConfig &config) {
  auto kernel = [&config](View o_parts, View lse_parts, View o, View lse, View d_o, View d_o_parts, View d_lse_parts,
                          VariantViews d_lse) {
    mergeBackward(config, o_parts, lse_parts, o, lse, d_o, d_o_parts, d_lse_parts, d_lse);
  };
  std::vector<TensorArg> list;
  if (config.lse_gradient)
    list.push_back(statistic("d_lse"));
  return recordList("merge_backward", kernel, list, parts(config, "o_parts"), partStatistic("lse_parts"),
                    tensor(config, "o"), statistic("lse"), tensor(config, "d_o"), parts(config, "d_o_parts"),
                    partStatistic("d_lse_parts"));
}

Expected<PlanSpec> mergeAttention(const MergeProblem &problem, const Target &target) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    return specOf(problem, "merge", target,
                  {input("o_parts", problem.dtype, with(ofParts(), problem.value_dim)),
                   input("lse_parts", f32, ofParts()), output("o", problem.dtype, with(ofRows(), problem.value_dim)),
                   output("lse", f32, ofRows())});
  });
}

Expected<PlanSpec> mergeAttentionBackward(const MergeProblem &problem, const Target &target) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    std::vector<ArgumentSpec> arguments = {
        input("o_parts", problem.dtype, with(ofParts(), problem.value_dim)), input("lse_parts", f32, ofParts()),
        input("o", problem.dtype, with(ofRows(), problem.value_dim)), input("lse", f32, ofRows()),
        input("d_o", problem.dtype, with(ofRows(), problem.value_dim))};
    if (problem.lse_gradient)
      arguments.push_back(input("d_lse", f32, ofRows()));
    arguments.push_back(output("d_o_parts", problem.dtype, with(ofParts(), problem.value_dim)));
    arguments.push_back(output("d_lse_parts", f32, ofParts()));
    return specOf(problem, "merge_backward", target, std::move(arguments));
  });
}

} // namespace tegula
