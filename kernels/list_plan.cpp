// SPDX-License-Identifier: MIT
#include "list_plan.h"

#include "blocks.h"
#include "kernel_config.h"
#include "tegula/internal/argument_places.h"

#include <array>
#include <limits>

namespace tegula {
namespace {

constexpr int64_t kAlignment = 64; ///< The alignment of each list, in bytes.

TensorRef contiguous(void *data, std::array<int64_t, 4> shape) {
  TensorRef tensor{.data = data, .dtype = i32, .rank = 4};
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    tensor.shape[axis] = shape[axis];
    tensor.strides[axis] = stride;
  }
  return tensor;
}

int64_t alignedBytes(const TensorRef &tensor) {
  int64_t elements = 1;
  for (int axis = 0; axis < tensor.rank; ++axis)
    elements *= tensor.shape[axis];
  return (elements * int64_t(sizeOf(tensor.dtype)) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Returns the names of the arguments that launch() passes, in their order.
std::vector<std::string> argumentNames(const AttentionProblem &problem) {
  std::vector<std::string> names = {"num_queries",        "num_keys",       "visit_tiles",   "visit_counts",
                                    "visit_ranks",        "block_states",   "kv_num_blocks", "kv_indices",
                                    "full_kv_num_blocks", "full_kv_indices"};
  for (const VariantTensor &tensor : problem.variant.tensors)
    names.push_back(tensor.name);
  names.push_back("diagonal_offset");
  return names;
}

} // namespace

Expected<ListPlan> ListPlan::make(const AttentionProblem &problem, Pass pass, KernelCache &cache, const Schedule &given,
                                  const TunedConfigurations *tuned) {
  const Expected<KernelConfig> visitor = resolve(problem, visitorOf(pass), cache.target(), given, tuned);
  if (!visitor)
    return visitor.status();
  const Expected<PlanSpec> spec = listSpec(problem, pass, cache.target(), given, tuned);
  if (!spec)
    return spec.status();
  Expected<Plan> plan = Plan::make(*spec, cache);
  if (!plan)
    return withProblem(plan.status(), problem);
  Expected<std::vector<size_t>> places = argumentPlaces(spec->name(), plan->arguments(), argumentNames(problem));
  if (!places)
    return withProblem(places.status(), problem);
  return ListPlan(std::move(*plan), std::move(*places), visitor->config, pass);
}

ListPlan::ListSizes ListPlan::sizes(const AttentionShape &shape) const {
  const int64_t queries = blocks(shape.seqlen_q, block_m_), keys = blocks(shape.seqlen_k, block_n_);
  const bool isForward = pass_ == Pass::forward;
  return {.batch = axes_.batch ? shape.batch : 1,
          .heads = axes_.heads ? shape.heads : 1,
          .strips = isForward ? queries : keys,
          .tiles = isForward ? keys : queries,
          .block_batch = mask_.per_batch ? shape.batch : 1,
          .block_heads = mask_.per_head ? shape.heads : 1,
          .block_rows = blocks(shape.seqlen_q, mask_.block_q),
          .block_columns = blocks(shape.seqlen_k, mask_.block_k)};
}

Expected<int64_t> ListPlan::listBytes(const AttentionShape &shape) const {
  const ListSizes s = sizes(shape);
  const double elements =
      double(s.batch) * double(s.heads) *
      (double(s.strips) * (2 * double(s.tiles) + 3) + double(s.block_rows) * double(s.block_columns)); // At least.
  if (elements > 0x1p57)
    return Status(ErrorCode::resource_exhausted, "the lists of a block mask take more than 2^57 elements");
  int64_t bytes = 0;
  const ListTensors lists = tensors(shape, nullptr);
  for (const TensorRef *list : {&lists.tiles, &lists.counts, &lists.ranks, &lists.block_states})
    bytes += alignedBytes(*list);
  return bytes;
}

Expected<int64_t> ListPlan::workspaceBytes(const AttentionShape &shape) const {
  const ListSizes s = sizes(shape);
  return plan_.workspaceBytes(
      {{"list_batch", s.batch}, {"list_heads", s.heads}, {"strips", s.strips}, {"tiles", s.tiles}});
}

ListTensors ListPlan::tensors(const AttentionShape &shape, void *memory) const {
  const ListSizes s = sizes(shape);
  int64_t begin = 0;
  const auto place = [&](std::array<int64_t, 4> shape) {
    TensorRef tensor = contiguous(static_cast<std::byte *>(memory) + begin, shape);
    begin += alignedBytes(tensor);
    return tensor;
  };
  ListTensors lists{.tiles = place({s.batch, s.heads, s.strips, s.tiles}),
                    .counts = place({s.batch, s.heads, s.strips, 3})};
  if (ranks_)
    lists.ranks = place({s.batch, s.heads, s.strips, s.tiles});
  if (mask_.source == BlockMask::Source::given)
    lists.block_states = place({s.block_batch, s.block_heads, s.block_rows, s.block_columns});
  return lists;
}

/// Returns lists of full blocks in the shape of those of partial blocks, but without entries.
static BlockMaskTensors withFullBlocks(BlockMaskTensors given) {
  if (given.full_kv_num_blocks.rank != 0)
    return given;
  given.full_kv_num_blocks = given.kv_num_blocks;
  given.full_kv_indices = given.kv_indices;
  given.full_kv_indices.shape[3] = 0;
  return given;
}

Status ListPlan::launch(const AttentionLists &call, const ListTensors &lists, const Workspace &workspace,
                        Stream stream) const {
  const BlockMaskTensors given = withFullBlocks(call.block_mask);
  std::vector<Argument> all = {call.shape.seqlen_q,  call.shape.seqlen_k, lists.tiles,
                               lists.counts,         lists.ranks,         lists.block_states,
                               given.kv_num_blocks,  given.kv_indices,    given.full_kv_num_blocks,
                               given.full_kv_indices};
  all.insert(all.end(), call.variant_tensors.begin(), call.variant_tensors.end());
  all.push_back(call.diagonal_offset);
  std::vector<Argument> arguments;
  for (size_t place : places_)
    arguments.push_back(all[place]);
  return plan_.launch(arguments, workspace, stream);
}

} // namespace tegula
