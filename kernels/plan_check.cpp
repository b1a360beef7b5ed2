// SPDX-License-Identifier: MIT
#include "plan_check.h"

#include "attention_spec.h"
#include "diagonals.h"
#include "strips.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tegula {
namespace {

constexpr int kMaxBlock = 1024;
constexpr int64_t kMostHeads = (int64_t(1) << 31) - 1; // The limit of every launch.
/// The most queries and keys. Kernels compute with positions of 32 bits: the end of a tile that reaches beyond the last
/// position, the position of a query's key plus a window of at most 2^30, and the sum of two positions.
constexpr int64_t kMostPositions = (int64_t(1) << 30) - kMaxBlock;
static_assert(kMostPositions == kMaxDiagonal);

std::string text(int64_t number) { return std::to_string(number); }

Status checkDim(const char *name, int size) {
  if (size >= 1 && size <= kMaxHeadDim)
    return {};
  return invalidArgument(name, "it is " + text(size) + "; it must be from 1 to " + text(kMaxHeadDim));
}

Status checkSize(const char *name, int64_t size, int64_t most) {
  if (size < 0)
    return invalidArgument(name, "it is " + text(size) + "; it must be 0 or more");
  if (size > most)
    return invalidArgument(name, "it is " + text(size) + "; it must be at most " + text(most) +
                                     ", because sums of positions in a kernel have 32 bits");
  return {};
}

Status checkBlock(const char *name, int size) {
  if (size >= 0 && size <= kMaxBlock)
    return {};
  return invalidArgument(name, "it is " + text(size) + "; it must be from 1 to " + text(kMaxBlock) +
                                   ", or 0 to have it chosen");
}

Status checkBlockSize(const char *name, int size) {
  if (size >= 1 && size <= kMostPositions)
    return {};
  return invalidArgument(name, "it is " + text(size) + "; it must be from 1 to " + text(kMostPositions));
}

Status checkHeadsInL2(const Schedule &schedule) {
  constexpr int most = 1024;
  if (schedule.heads_in_l2 < 0 || schedule.heads_in_l2 > most)
    return invalidArgument("heads_in_l2", "it is " + text(schedule.heads_in_l2) + "; it must be from 1 to " +
                                              text(most) + ", or 0 for 1");
  if (schedule.heads_in_l2 > 1 && schedule.tile_scheduler == TileScheduler::static_persistent)
    return invalidArgument("heads_in_l2", "it is " + text(schedule.heads_in_l2) +
                                              ", but tile_scheduler=static_persistent has an order of its own; "
                                              "it must be 0 or 1");
  return {};
}

/// Checks the names of a variant's tensors, which become parameters together with those of the kernels.
Status checkNames(const Variant &variant) {
  static const std::set<std::string> ofKernels = argumentNames();
  std::set<std::string> taken = ofKernels;
  for (const VariantTensor &tensor : variant.tensors)
    for (const std::string &name : {tensor.name, tensor.wants_gradient ? "d" + tensor.name : std::string()})
      if (!name.empty() && !taken.insert(name).second)
        return invalidArgument("variant", "its tensor '" + name + "' has the name of another one");
  return {};
}

/// Checks that each set of a union limits the keys, and that there are few of them.
Status checkUnion(const Variant &variant) {
  const size_t sets = variant.any_of.size();
  if (sets > kMaxKeySets)
    return invalidArgument("variant", "'" + variant.name + "' has " + std::to_string(sets) +
                                          " sets in any_of; at most " + std::to_string(kMaxKeySets) + " are supported");
  for (size_t set = 0; set < sets; ++set)
    if (variant.any_of[set].bands.empty() && variant.any_of[set].ranges.empty())
      return invalidArgument("variant", "set " + std::to_string(set) + " in any_of of '" + variant.name +
                                            "' has no band and no range, so that it has all keys, and the union too; "
                                            "give it one, or leave any_of out");
  return {};
}

/// Checks an operand of a product, which has these axes and one more dimension.
Status checkOperand(const AttentionProblem &problem, size_t index, const std::vector<Axis> &axes, const char *layout) {
  const Variant &variant = problem.variant;
  if (index >= variant.tensors.size())
    return invalidArgument("variant", "a product of '" + variant.name + "' has tensor " + text(int64_t(index)) +
                                          ", but there are " + text(int64_t(variant.tensors.size())));
  const VariantTensor &tensor = variant.tensors[index];
  const std::string name = "'" + tensor.name + "', an operand of a product, ";
  if (tensor.axes != axes || tensor.last_dim == 0)
    return invalidArgument("variant", name + "must be " + layout + ": set its axes, and last_dim");
  if (tensor.dtype != problem.dtype)
    return invalidArgument("variant", name + "has the element type " + std::string(toString(tensor.dtype)) +
                                          "; it must be that of q, " + std::string(toString(problem.dtype)));
  return checkDim((tensor.name + ".last_dim").c_str(), tensor.last_dim);
}

/// Checks the products of a variant. Kernels keep all operands of a row where they keep those of one head_dim.
Status checkProducts(const AttentionProblem &problem) {
  const Variant &variant = problem.variant;
  for (const ScoreProduct &product : variant.products) {
    TEGULA_RETURN_IF_ERROR(checkOperand(problem, product.queries, {Axis::batch, Axis::heads, Axis::seqlen_q},
                                        "[batch, heads, seqlen_q, last_dim]"));
    TEGULA_RETURN_IF_ERROR(checkOperand(problem, product.keys, {Axis::batch, Axis::kv_heads, Axis::seqlen_k},
                                        "[batch, kv_heads, seqlen_k, last_dim]"));
    const VariantTensor &queries = variant.tensors[product.queries], &keys = variant.tensors[product.keys];
    if (queries.last_dim != keys.last_dim)
      return invalidArgument("variant", "the operands of a product differ in last_dim: '" + queries.name + "' has " +
                                            text(queries.last_dim) + ", '" + keys.name + "' has " +
                                            text(keys.last_dim));
  }
  const int all = problem.head_dim + variant.productDims();
  if (all > kMaxHeadDim)
    return {ErrorCode::unsupported, "head_dim and last_dim of the products of '" + variant.name + "' are " + text(all) +
                                        " together; at most " + text(kMaxHeadDim) + " are supported"};
  return {};
}

/// Checks that a variant with sequences has their offsets: those of keys for the backward pass.
Status checkSequences(const AttentionProblem &problem) {
  const Variant &variant = problem.variant;
  if (!variant.sequences)
    return {};
  for (const std::string name : {kQueryOffsets, kKeyOffsets}) {
    const auto tensor = std::ranges::find(variant.tensors, name, &VariantTensor::name);
    const bool isThere = tensor != variant.tensors.end(), isOfKeys = name == kKeyOffsets;
    if ((!isOfKeys || problem.backward) && !(isThere && tensor->dtype == i32 && tensor->axes == std::vector{Axis::any}))
      return invalidArgument("variant", "'" + variant.name + "' has sequences, but no tensor '" + name +
                                            "', i32 [any]; add it, or set sequences " +
                                            (isOfKeys ? "or backward " : "") + "to false");
  }
  return {};
}

/// Checks that each gradient of a deterministic problem is a sum in a fixed order.
Status checkGradients(const AttentionProblem &problem) {
  if (problem.backward && problem.deterministic)
    for (const VariantTensor &tensor : problem.variant.tensors)
      if (tensor.wants_gradient && !tensor.read_once)
        return {
            ErrorCode::unsupported,
            "deterministic is true, but variant '" + problem.variant.name + "' wants the gradient of '" + tensor.name +
                "', of which several scores read one element; its sum has no fixed order. Set wants_gradient to false, "
                "or deterministic; read_once must be true for a tensor of which each score reads its own element"};
  return {};
}

/// Checks that dropout keeps some elements and drops others.
Status checkDropout(const AttentionProblem &problem) {
  if (problem.dropout_p == 0)
    return {};
  const int kept = problem.dropout_p > 0 && problem.dropout_p < 1 ? keptOf256(problem.dropout_p) : 0;
  if (kept < 1 || kept > 255)
    return invalidArgument("dropout_p", "it is " + std::to_string(problem.dropout_p) +
                                            "; it must be 0, or from 0.002 to 0.998: the probability of keeping is "
                                            "rounded to a multiple of 1/256, which must be neither 0 nor 1");
  if (problem.algorithm != Algorithm::flash2)
    return {ErrorCode::unsupported,
            "dropout_p is " + std::to_string(problem.dropout_p) + ", but this algorithm has no dropout; flash2 has it"};
  return {};
}

/// Checks that pages have rows, and that the kernels of the problem read them.
Status checkPages(const AttentionProblem &problem) {
  if (problem.page_size == 0)
    return {};
  if (problem.page_size < 0 || problem.page_size > kMostPositions)
    return invalidArgument("page_size",
                           "it is " + text(problem.page_size) + "; it must be 0, or from 1 to " + text(kMostPositions));
  const char *part = problem.algorithm != Algorithm::flash2        ? "an algorithm other than flash2"
                     : problem.backward                            ? "a backward pass"
                     : problem.block_mask.exists()                 ? "a block mask"
                     : !problem.variant.products.empty()           ? "a product"
                     : problem.scores_output != ScoresOutput::none ? "scores_output"
                                                                   : nullptr;
  if (part == nullptr)
    return {};
  return {ErrorCode::unsupported, "page_size is " + text(problem.page_size) + " and the problem has " + part +
                                      ", which reads no pages; set page_size to 0, or leave it out"};
}

} // namespace

int keptOf256(double dropout_p) { return static_cast<int>(std::lround(256 * (1 - dropout_p))); }

Status invalidArgument(std::string_view name, std::string problem) {
  return {ErrorCode::invalid_argument, "argument '" + std::string(name) + "': " + std::move(problem)};
}

Status checkProblem(const AttentionProblem &problem, const Schedule &schedule) {
  if (problem.dtype != f32 && problem.dtype != f16 && problem.dtype != bf16)
    return invalidArgument("dtype", "it is " + std::string(toString(problem.dtype)) + "; it must be f32, f16 or bf16");
  TEGULA_RETURN_IF_ERROR(checkDim("head_dim", problem.head_dim));
  TEGULA_RETURN_IF_ERROR(checkDim("value_dim", problem.value_dim));
  TEGULA_RETURN_IF_ERROR(checkBlock("block_m", schedule.block_m));
  TEGULA_RETURN_IF_ERROR(checkBlock("block_n", schedule.block_n));
  TEGULA_RETURN_IF_ERROR(checkHeadsInL2(schedule));
  TEGULA_RETURN_IF_ERROR(problem.variant.status);
  TEGULA_RETURN_IF_ERROR(checkNames(problem.variant));
  TEGULA_RETURN_IF_ERROR(checkUnion(problem.variant));
  TEGULA_RETURN_IF_ERROR(checkProducts(problem));
  TEGULA_RETURN_IF_ERROR(checkDiagonals(problem));
  if (problem.backward && problem.algorithm != Algorithm::flash2)
    return {ErrorCode::unsupported, "this algorithm has no backward pass; flash2 has one"};
  if (problem.block_mask.exists() && problem.algorithm != Algorithm::flash2)
    return {ErrorCode::unsupported, "this algorithm has no block mask; flash2 has one"};
  TEGULA_RETURN_IF_ERROR(checkBlockSize("block_mask.block_q", problem.block_mask.block_q));
  TEGULA_RETURN_IF_ERROR(checkBlockSize("block_mask.block_k", problem.block_mask.block_k));
  TEGULA_RETURN_IF_ERROR(checkGradients(problem));
  TEGULA_RETURN_IF_ERROR(checkDropout(problem));
  TEGULA_RETURN_IF_ERROR(checkPages(problem));
  TEGULA_RETURN_IF_ERROR(checkSequences(problem));
  if (problem.variant.probability && problem.algorithm != Algorithm::flash2)
    return {ErrorCode::unsupported, "variant '" + problem.variant.name +
                                        "' has a function 'probability', which this algorithm does not call; flash2 "
                                        "calls it"};
  if (problem.sinks && problem.algorithm != Algorithm::flash2)
    return {ErrorCode::unsupported, "sinks is true, but this algorithm has no sinks; flash2 has them"};
  if (problem.lse_gradient && !problem.backward)
    return invalidArgument("lse_gradient",
                           "it is set, but 'backward' is not; a plan without a backward pass has no use "
                           "for it");
  return {};
}

Status checkShape(const AttentionShape &shape) {
  TEGULA_RETURN_IF_ERROR(checkSize("batch", shape.batch, kMostHeads));
  TEGULA_RETURN_IF_ERROR(checkSize("heads", shape.heads, kMostHeads));
  TEGULA_RETURN_IF_ERROR(checkSize("kv_heads", shape.kv_heads, kMostHeads));
  TEGULA_RETURN_IF_ERROR(checkSize("seqlen_q", shape.seqlen_q, kMostPositions));
  TEGULA_RETURN_IF_ERROR(checkSize("seqlen_k", shape.seqlen_k, kMostPositions));
  if (shape.kv_heads == 0 ? shape.heads != 0 : shape.heads % shape.kv_heads != 0)
    return invalidArgument("kv_heads", "it is " + text(shape.kv_heads) + ", which does not divide the " +
                                           text(shape.heads) + " heads of q");
  return {};
}

} // namespace tegula
