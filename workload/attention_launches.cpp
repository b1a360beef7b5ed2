// SPDX-License-Identifier: MIT
#include "workload/attention_launches.h"

#include "workload/device_tensor.h"
#include "workload/named_variants.h"

#include <algorithm>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr RowGaps kAllGaps = {kUnalignedGap, kUnalignedGap, kUnalignedGap, kUnalignedGap};
constexpr RowGaps kGapsOfQ = {.q = kUnalignedGap};

AttentionShape shapeOf(int64_t queries, int64_t keys, int64_t heads = 1, int64_t kv_heads = 1) {
  return {.batch = 1, .heads = heads, .kv_heads = kv_heads, .seqlen_q = queries, .seqlen_k = keys};
}

bool isCausal(const AttentionCase &attention) { return attention.problem.causal != Causal::none; }

/// Returns trials of a forward kernel with a producer. Each slot is filled again: the slot of queries in an instance's
/// third block. The last block is ragged. With a causal mask and one block of keys, the first of two blocks of queries
/// sees no key.
std::vector<MutantTrial> trialsOfForwardRoles(const AttentionCase &attention, const Schedule &schedule) {
  const bool isWindow = attention.variant != nullptr && attention.variant->name == "sliding_window";
  const bool persistent = isPersistent(schedule);
  const int64_t heads = !persistent ? 1 : isCausal(attention) ? 3 : isWindow ? 2 : 5;
  // A dynamic scheduler does not determine which instance gets a third block. With 5 or more heads, some instance
  // does.
  const int64_t shortHeads =
      schedule.tile_scheduler == TileScheduler::dynamic_persistent ? std::max<int64_t>(heads, 5) : heads;
  // Without keys, only the producer's own barrier keeps one of its lanes from lagging by several rounds.
  const int64_t emptyHeads = schedule.tile_scheduler == TileScheduler::dynamic_persistent ? 24 : heads;
  const int64_t many = 4 * schedule.block_n + 72, few = schedule.block_n - 28;
  const int64_t queries = isCausal(attention) ? schedule.block_m + few : std::min(100, schedule.block_m);
  // With a window, only the last of `many` queries see that many keys.
  std::vector<MutantTrial> trials = {{shapeOf(isWindow ? many : queries, many, heads)},
                                     {shapeOf(isWindow ? many : 100, many, heads), kAllGaps},
                                     {shapeOf(queries, few, heads)},
                                     {shapeOf(queries, few, shortHeads), kGapsOfQ},
                                     {shapeOf(queries, 0, emptyHeads), kGapsOfQ}};
  // Scores exceed the scores of the first block by so much that they are computed again.
  if (schedule.optimistic_softmax == true)
    trials.push_back({.shape = shapeOf(isWindow ? many : queries, many + 2 * schedule.block_n, heads),
                      .family = oracle::Family::crossing_zero});
  // One instance has a block in every other iteration. Another instance ends with a block, which it stores: the last
  // work indices have a block if no group of `heads_in_l2` heads lacks any.
  if (persistent)
    trials.push_back({shapeOf(2 * schedule.block_m + 40, few, std::max(2, schedule.heads_in_l2))});
  return trials;
}

/// Returns trials of a backward kernel with a producer. Its loop visits blocks of queries: two heads of them, so that
/// it begins again, or enough that each slot is filled again. The last block is ragged, except in one trial. With row
/// gaps, TMA cannot load the tensors.
std::vector<MutantTrial> trialsOfBackwardRoles(const AttentionCase &attention, const Schedule &schedule) {
  const int64_t many = 2 * schedule.num_stages * schedule.block_m + 40, few = schedule.block_m - 28;
  const int64_t keys = isCausal(attention) ? many : std::min(100, schedule.block_n);
  return {{shapeOf(many, keys)},
          {shapeOf(many - 1, keys, 2)},
          {shapeOf(many, keys), kAllGaps},
          {shapeOf(few, few, 2)},
          {shapeOf(0, 100)},
          {shapeOf(2 * schedule.block_m, 2 * schedule.block_n)}};
}

/// Returns trials of a kernel whose warps all do the same.
std::vector<MutantTrial> trialsWithoutRoles(const Schedule &schedule) {
  const int64_t queries = schedule.block_m + 40, keys = 2 * schedule.block_n + 40;
  return {{shapeOf(queries, keys)},
          {shapeOf(queries, keys, 2)},
          {shapeOf(queries, keys), kAllGaps},
          {shapeOf(queries - 1, keys - 1, 2)},
          {shapeOf(100, 0)},
          {shapeOf(schedule.block_m - 8, 40, 2)},
          {shapeOf(0, 100)},
          {shapeOf(100, 70, 0)},
          {shapeOf(2 * schedule.block_m, 2 * schedule.block_n)}};
}

} // namespace

AttentionCase withTrial(AttentionCase attention, const MutantTrial &trial) {
  attention.shape = trial.shape;
  attention.row_gaps = trial.row_gaps;
  attention.family = trial.family;
  if (attention.variant != nullptr)
    setVariant(attention, *attention.variant); // The values of its tensors depend on the shape.
  return attention;
}

std::vector<MutantTrial> mutantTrials(const AttentionCase &attention, std::string_view program,
                                      const Schedule &schedule) {
  if (schedule.roles != Roles::load)
    return trialsWithoutRoles(schedule);
  return program.starts_with("flash2_backward") ? trialsOfBackwardRoles(attention, schedule)
                                                : trialsOfForwardRoles(attention, schedule);
}

std::vector<MutantTrial> mutantTrials(const AttentionCase &attention, const AttentionPlan &plan) {
  std::vector<MutantTrial> all;
  for (const std::string_view program : programsOf(attention.problem))
    for (const MutantTrial &trial : mutantTrials(attention, program, plan.schedule(program)))
      if (std::ranges::find(all, trial) == all.end())
        all.push_back(trial);
  return all;
}

std::string launchName(const AttentionCase &attention) {
  const AttentionShape &shape = attention.shape;
  const RowGaps &gaps = attention.row_gaps;
  std::string name = fmt::format("batch={} heads={} kv_heads={} seqlen_q={} seqlen_k={}", shape.batch, shape.heads,
                                 shape.kv_heads, shape.seqlen_q, shape.seqlen_k);
  if (gaps != RowGaps())
    name += fmt::format(" row_gaps={},{},{},{}", gaps.q, gaps.k, gaps.v, gaps.o);
  if (attention.family != oracle::Family::normal)
    name += fmt::format(" values={}", toString(attention.family));
  return name;
}

} // namespace tegula::tools
