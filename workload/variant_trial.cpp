// SPDX-License-Identifier: MIT
#include "tegula/variant_trial.h"

#include "tegula/guard.h"
#include "workload/attention_check.h"
#include "workload/attention_run.h"
#include "workload/given_blocks.h"
#include "workload/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula {
namespace {

using tools::AttentionCase, tools::AttentionRun;

ScorePosition positionOf(const oracle::Position &p) { return {p.batch, p.head, p.query, p.key}; }

/// Returns the step of the oracle that modifies scores. Where the plain formula computes in f32, modified scores are
/// rounded to f32 once, and gradients of tensors are sums of f32 numbers.
oracle::ScoreStep stepOf(const PlainVariant &plain, std::span<std::vector<double>> gradients) {
  auto forward = [score = plain.score](auto s, const oracle::Position &p) {
    return decltype(s)(score ? score(s, positionOf(p)) : s);
  };
  auto backward = [=, backward = plain.backward](auto s, const oracle::Position &p, double gradient) {
    TensorGradients tensors(gradients, std::is_same_v<decltype(s), float>);
    return decltype(s)(backward ? backward(s, positionOf(p), gradient, tensors) : gradient);
  };
  return {forward, backward};
}

void addRules(oracle::Rules &rules, const PlainVariant &plain, std::span<std::vector<double>> gradients) {
  if (plain.sees)
    rules.visible.push_back([sees = plain.sees](const oracle::Position &p) { return sees(positionOf(p)); });
  if (plain.score || plain.backward)
    rules.steps.push_back(stepOf(plain, gradients));
}

Status refused(const std::string &problem) { return {ErrorCode::invalid_argument, "variant trial: " + problem}; }

Status checkTensor(const VariantTensor &tensor, const VariantValues &given, const AttentionShape &shape) {
  std::vector<int64_t> expected = tools::shapeOf(tensor, shape);
  const bool hasRank = given.shape.size() == expected.size();
  for (size_t axis = 0; hasRank && axis < tensor.axes.size(); ++axis)
    if (tensor.axes[axis] == Axis::any)
      expected[axis] = given.shape[axis];
  int64_t elements = 1;
  for (int64_t size : given.shape)
    elements *= size;
  if (given.shape == expected && elements == int64_t(given.values.size()))
    return {};
  return refused(
      fmt::format("tensor '{}': it has the shape [{}] and {} values; it must have the shape [{}] and a value "
                  "for each element",
                  tensor.name, fmt::join(given.shape, ", "), given.values.size(), fmt::join(expected, ", ")));
}

Status checkBlocks(const tools::GivenBlocks::Lists &lists, const char *kind, int64_t count, int64_t columns) {
  if (std::ssize(lists) != count)
    return refused(fmt::format("there are {} lists of {} blocks; there must be {}", lists.size(), kind, count));
  for (const std::vector<int32_t> &list : lists)
    for (int32_t block : list)
      if (block < 0 || block >= columns)
        return refused(
            fmt::format("a list of {} blocks has the block {}; it must be from 0 to {}", kind, block, columns - 1));
  return {};
}

/// Returns null if the problem has no given blocks.
Expected<std::shared_ptr<const tools::GivenBlocks>> blocksOf(const VariantTrial &trial) {
  const BlockMask &mask = trial.problem.block_mask;
  if (mask.source != BlockMask::Source::given)
    return std::shared_ptr<const tools::GivenBlocks>();
  if (mask.block_q < 1 || mask.block_k < 1)
    return refused(
        fmt::format("a block has {} queries and {} keys; it must have at least 1 of each", mask.block_q, mask.block_k));
  const AttentionShape &shape = trial.shape;
  tools::GivenBlocks blocks{.batch = mask.per_batch ? shape.batch : 1,
                            .heads = mask.per_head ? shape.heads : 1,
                            .rows = (shape.seqlen_q + mask.block_q - 1) / mask.block_q,
                            .block_q = mask.block_q,
                            .block_k = mask.block_k,
                            .partial = trial.blocks.partial,
                            .full = trial.blocks.full};
  const int64_t count = blocks.batch * blocks.heads * blocks.rows;
  const int64_t columns = (shape.seqlen_k + mask.block_k - 1) / mask.block_k;
  TEGULA_RETURN_IF_ERROR(checkBlocks(blocks.partial, "partial", count, columns));
  TEGULA_RETURN_IF_ERROR(checkBlocks(blocks.full, "full", count, columns));
  return std::make_shared<const tools::GivenBlocks>(std::move(blocks));
}

Expected<AttentionCase> caseOf(const VariantTrial &trial) {
  const AttentionProblem &problem = trial.problem;
  if (problem.dropout_p != 0 || problem.sinks || problem.diagonal_offset || problem.lse_gradient)
    return refused("a trial has no dropout, no sinks, no offset of the diagonal and no gradient of lse");
  const Expected<std::shared_ptr<const tools::GivenBlocks>> blocks = blocksOf(trial);
  if (!blocks)
    return blocks.status();
  const std::vector<VariantTensor> &tensors = problem.variant.tensors;
  if (trial.tensors.size() != tensors.size())
    return refused(
        fmt::format("there are values for {} tensors; the variant has {}", trial.tensors.size(), tensors.size()));
  AttentionCase attention{.problem = problem, .shape = trial.shape};
  attention.blocks = *blocks;
  attention.scale = scoreFactor(0, problem.head_dim);
  attention.schedule = trial.schedule;
  for (size_t n = 0; n < tensors.size(); ++n) {
    TEGULA_RETURN_IF_ERROR(checkTensor(tensors[n], trial.tensors[n], trial.shape));
    attention.variant_shapes.push_back(trial.tensors[n].shape);
  }
  attention.variant_values = [&trial](std::string_view name, const std::vector<int64_t> &) {
    const std::vector<VariantTensor> &tensors = trial.problem.variant.tensors;
    return trial.tensors[size_t(std::ranges::find(tensors, name, &VariantTensor::name) - tensors.begin())].values;
  };
  attention.own_rules = [&trial](oracle::Rules &rules, const tools::RuleInputs &inputs) {
    addRules(rules, trial.plain, inputs.gradients);
    addProducts(rules, trial.problem.variant, inputs);
  };
  return attention;
}

/// Runs the passes of a problem, and returns what they computed.
Expected<tools::AttentionArrays> resultsOf(const AttentionRun &run) {
  const bool isBackward = run.plan().problem().backward;
  TEGULA_RETURN_IF_ERROR(run.forward());
  if (isBackward)
    TEGULA_RETURN_IF_ERROR(run.backward());
  TEGULA_RETURN_IF_ERROR(run.device().synchronize());
  return readArrays(run.data(), isBackward);
}

std::vector<TensorRef> variantTensors(const AttentionRun &run) {
  std::vector<TensorRef> views;
  for (const tools::DeviceTensor &tensor : run.tensors().variant)
    views.push_back(tensor.view);
  return views;
}

Expected<VisitedTiles> tilesOf(const VariantTrial &trial, Pass pass, const AttentionRun &run, KernelCache &cache) {
  const std::vector<TensorRef> tensors = variantTensors(run);
  return visitedTiles(trial.problem, pass,
                      {.shape = trial.shape, .variant_tensors = tensors, .block_mask = blockMaskTensors(run.tensors())},
                      cache, run.device(), trial.schedule);
}

Expected<VariantReport> runTrial(const VariantTrial &trial, KernelCache &cache, const std::shared_ptr<Device> &device) {
  const Expected<AttentionCase> attention = caseOf(trial);
  if (!attention)
    return attention.status();
  const Expected<AttentionRun> run = AttentionRun::make(*attention, device, cache);
  if (!run)
    return run.status();
  const Expected<tools::AttentionArrays> results = resultsOf(*run);
  if (!results)
    return results.status();
  VariantReport report;
  const tools::AttentionErrors errors = checkAttention(*attention, *results);
  for (const auto *list : {&errors.forward, &errors.backward})
    for (const tools::TensorError &tensor : *list)
      report.ratios.push_back({tensor.name, tensor.ratio()});
  for (auto [pass, tiles] : {std::pair{Pass::forward, &report.forward}, {Pass::backward, &report.backward}}) {
    if (pass == Pass::backward && !trial.problem.backward)
      continue;
    Expected<VisitedTiles> visited = tilesOf(trial, pass, *run, cache);
    if (!visited)
      return visited.status();
    *tiles = std::move(*visited);
  }
  return report;
}

/// The lists of a problem.
struct KeptLists {
  Buffer memory = {}; ///< Empty if the problem has no lists.
  double ms = 0;      ///< The time that making them takes.
};

Expected<KeptLists> timeLists(const AttentionRun &run, const AttentionShape &shape) {
  const Expected<int64_t> bytes = run.plan().listBytes(shape), making = run.plan().listWorkspace(shape);
  if (!bytes || !making)
    return (bytes ? making : bytes).status();
  if (*bytes == 0)
    return KeptLists();
  Expected<Buffer> memory = run.device().allocate(*bytes);
  const Expected<Buffer> workspace = run.device().allocate(*making);
  if (!memory || !workspace)
    return (memory ? workspace.status() : memory.status());
  const std::vector<TensorRef> tensors = variantTensors(run);
  const Expected<double> ms = tools::medianMs(run.device(), [&] {
    return run.plan().makeLists(
        {.shape = shape, .variant_tensors = tensors, .block_mask = blockMaskTensors(run.tensors())},
        {memory->data(), memory->bytes()}, {workspace->data(), workspace->bytes()});
  });
  if (!ms)
    return ms.status();
  return KeptLists{std::move(*memory), *ms};
}

Expected<double> timeForward(const AttentionRun &run, const AttentionShape &shape, const Buffer &lists) {
  const Expected<int64_t> bytes = run.plan().forwardWorkspace(shape);
  if (!bytes)
    return bytes.status();
  const Expected<Buffer> workspace = run.device().allocate(*bytes);
  if (!workspace)
    return workspace.status();
  const std::vector<TensorRef> tensors = variantTensors(run);
  const tools::AttentionTensors &t = run.tensors();
  return tools::medianMs(run.device(), [&] {
    return run.plan().forward({.q = t.q.view,
                               .k = t.k.view,
                               .v = t.v.view,
                               .o = t.o.view,
                               .lse = t.lse.view,
                               .variant_tensors = tensors,
                               .lists = {lists.data(), lists.bytes()}},
                              {workspace->data(), workspace->bytes()});
  });
}

/// Returns the same problem without masks and variant.
VariantTrial withoutVariant(VariantTrial trial) {
  trial.problem.causal = Causal::none;
  trial.problem.variant = {};
  trial.problem.block_mask = {};
  trial.tensors.clear();
  trial.blocks = {};
  return trial;
}

Expected<AttentionRun> runOf(const VariantTrial &trial, KernelCache &cache, const std::shared_ptr<Device> &device) {
  const Expected<AttentionCase> attention = caseOf(trial);
  if (!attention)
    return attention.status();
  return AttentionRun::make(*attention, device, cache);
}

Expected<VariantTimes> measureTrial(const VariantTrial &trial, KernelCache &cache,
                                    const std::shared_ptr<Device> &device) {
  const Expected<AttentionRun> run = runOf(trial, cache, device);
  if (!run)
    return run.status();
  const Expected<KeptLists> lists = timeLists(*run, trial.shape);
  if (!lists)
    return lists.status();
  const Expected<double> forward = timeForward(*run, trial.shape, lists->memory);
  if (!forward)
    return forward.status();
  const Expected<VisitedTiles> visited = tilesOf(trial, Pass::forward, *run, cache);
  if (!visited)
    return visited.status();
  const Expected<AttentionRun> plainRun = runOf(withoutVariant(trial), cache, device);
  if (!plainRun)
    return plainRun.status();
  const Expected<double> plain = timeForward(*plainRun, trial.shape, {});
  if (!plain)
    return plain.status();
  return VariantTimes{.lists = lists->ms, .forward = *forward, .plain = *plain, .share = visited->share()};
}

} // namespace

bool VariantTrial::sees(const ScorePosition &position) const {
  const int64_t corner = problem.causal == Causal::bottom_right ? shape.seqlen_k - shape.seqlen_q : 0;
  const bool isLater = problem.causal != Causal::none && position.key > position.query + corner;
  return !isLater && (!plain.sees || plain.sees(position));
}

double VariantReport::worstRatio() const {
  double worst = 0;
  for (const ResultRatio &result : ratios)
    worst = std::isnan(result.ratio) || std::isnan(worst) ? std::nan("") : std::max(worst, result.ratio);
  return worst;
}

Expected<VariantReport> tryVariant(const VariantTrial &trial, KernelCache &cache,
                                   const std::shared_ptr<Device> &device) {
  return guarded([&] { return runTrial(trial, cache, device); });
}

Status verdict(const VariantReport &report) {
  std::string bad;
  for (const ResultRatio &result : report.ratios)
    if (!(result.ratio <= tools::kMaxErrorRatio))
      bad += fmt::format("{}{} has {:.3g}", bad.empty() ? "" : ", ", result.name, result.ratio);
  if (bad.empty())
    return {};
  return {ErrorCode::internal, fmt::format("the error ratio may be at most {}, but {}", tools::kMaxErrorRatio, bad)};
}

Expected<VariantTimes> timeVariant(const VariantTrial &trial, KernelCache &cache,
                                   const std::shared_ptr<Device> &device) {
  return guarded([&] { return measureTrial(trial, cache, device); });
}

} // namespace tegula
