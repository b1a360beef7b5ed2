// SPDX-License-Identifier: MIT
// Attention as operators of PyTorch, a forward and a backward one for each interface. They are registered through
// PyTorch's stable ABI, so that one file serves all versions from 2.10 on. Their fake tensors and their gradients are
// in tegula/_operators.py.
#include "passes.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;
using OptionalTensor = std::optional<Tensor>;

/// Returns o and lse. `args` has what only some problems have.
std::tuple<Tensor, Tensor> runForward(const Inputs &inputs, const tegula_attention_problem &problem,
                                      const tegula_forward_args &args) {
  const auto guard = guardFor(inputs.q);
  const auto [batch, heads, length, dim] = shapeOf(inputs.q_view);
  Tensor o = emptyOrderedAs(inputs.q, std::array{batch, heads, length, shapeOf(inputs.v_view)[3]});
  Tensor lse = empty(inputs.q, std::array{batch, heads, length}, ScalarType::Float);
  runForward(inputs, problem, args, o, lse);
  return {o, lse};
}

/// Returns dq, dk and dv. `problem` and `args` have what only some problems have; `args` also the other gradients.
std::tuple<Tensor, Tensor, Tensor> runBackward(const Inputs &inputs, const Outputs &outputs,
                                               const tegula_attention_problem &problem,
                                               const tegula_backward_args &args) {
  const auto guard = guardFor(inputs.q);
  Tensor dq = emptyOrderedAs(inputs.q, shapeOf(inputs.q_view)), dk = emptyOrderedAs(inputs.k, shapeOf(inputs.k_view)),
         dv = emptyOrderedAs(inputs.v, shapeOf(inputs.v_view));
  runBackward(inputs, outputs, problem, args, {dq, dk, dv});
  return {dq, dk, dv};
}

/// Returns an f32 tensor of zeros, to which a backward pass adds.
Tensor zeros(const Tensor &like, std::span<const int64_t> sizes) {
  const auto guard = guardFor(like);
  Tensor result = empty(like, sizes, ScalarType::Float);
  torch::stable::zero_(result);
  return result;
}

//===-- Attention with the options of the library ----------------------------------------------------------------===//

/// The options of attention_forward and attention_backward.
struct Options {
  const OptionalTensor &bias, &mask, &alibi_slopes, &sinks, &dropout_state, &diagonal_offset, &interval_begin,
      &interval_end, &query_begin, &query_end, &query_offsets, &key_offsets;
  bool causal, bottom_right;
  int64_t window_left, window_right;
  double softcap, dropout_p;
};

tegula_attention_problem problemOf(const Inputs &inputs, const Options &options) {
  tegula_attention_problem problem = problemOf(inputs);
  setMask(problem, {options.causal, options.bottom_right, options.window_left, options.window_right});
  if (options.softcap != 0)
    problem.variants |= TEGULA_SOFTCAP;
  problem.softcap = options.softcap;
  problem.variants |= options.alibi_slopes ? TEGULA_ALIBI : 0;
  problem.variants |= options.bias ? TEGULA_BIAS : 0;
  problem.variants |= options.mask ? TEGULA_MASK : 0;
  if (options.interval_end)
    problem.variants |= options.key_offsets ? TEGULA_SEQUENCES
                        : options.query_end ? TEGULA_DOCUMENTS
                                            : TEGULA_KEY_INTERVALS;
  problem.bias_f32 = options.bias && options.bias->scalar_type() == ScalarType::Float;
  problem.dropout_p = options.dropout_p;
  problem.sinks = options.sinks.has_value();
  problem.diagonal_offset = options.diagonal_offset.has_value();
  return problem;
}

std::vector<tegula_tensor> variantTensors(const Options &options) {
  std::vector<tegula_tensor> tensors;
  if (options.alibi_slopes)
    tensors.push_back(view("alibi_slopes", *options.alibi_slopes));
  if (options.bias)
    tensors.push_back(view("bias", *options.bias));
  if (options.mask)
    tensors.push_back(view("mask", *options.mask));
  if (options.interval_end) {
    tensors.push_back(view("interval_begin", options.interval_begin));
    tensors.push_back(view("interval_end", *options.interval_end));
  }
  if (options.query_end) {
    tensors.push_back(view("query_begin", options.query_begin));
    tensors.push_back(view("query_end", *options.query_end));
  }
  if (options.key_offsets) {
    tensors.push_back(view("query_offsets", options.query_offsets));
    tensors.push_back(view("key_offsets", *options.key_offsets));
  }
  return tensors;
}

/// Returns the arguments of a pass that the options have.
template <class Args> Args argsOf(const Options &options) {
  Args args{};
  args.dropout_state = view("dropout_state", options.dropout_state);
  args.sinks = view("sinks", options.sinks);
  args.diagonal_offset = view("diagonal_offset", options.diagonal_offset);
  return args;
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k, const Tensor &v, double scale, bool causal,
                                   const OptionalTensor &bias, const OptionalTensor &mask,
                                   const OptionalTensor &alibi_slopes, const OptionalTensor &sinks,
                                   const OptionalTensor &dropout_state, const OptionalTensor &diagonal_offset,
                                   const OptionalTensor &interval_begin, const OptionalTensor &interval_end,
                                   const OptionalTensor &query_begin, const OptionalTensor &query_end,
                                   const OptionalTensor &query_offsets, const OptionalTensor &key_offsets,
                                   bool bottom_right, int64_t window_left, int64_t window_right, double softcap,
                                   double dropout_p, bool /*deterministic*/) {
  const Options options = {bias,           mask,         alibi_slopes, sinks,        dropout_state, diagonal_offset,
                           interval_begin, interval_end, query_begin,  query_end,    query_offsets, key_offsets,
                           causal,         bottom_right, window_left,  window_right, softcap,       dropout_p};
  const Inputs inputs = {q, k, v, scale, variantTensors(options)};
  return runForward(inputs, problemOf(inputs, options), argsOf<tegula_forward_args>(options));
}

/// Returns f32 [batch, heads, seqlen_q, seqlen_k]: `output` is TEGULA_SCORES_...
Tensor scores(const Tensor &q, const Tensor &k, const Tensor &v, int64_t output, double scale, bool causal,
              const OptionalTensor &bias, const OptionalTensor &mask, const OptionalTensor &alibi_slopes,
              const OptionalTensor &sinks, const OptionalTensor &dropout_state, const OptionalTensor &diagonal_offset,
              const OptionalTensor &interval_begin, const OptionalTensor &interval_end,
              const OptionalTensor &query_begin, const OptionalTensor &query_end, const OptionalTensor &query_offsets,
              const OptionalTensor &key_offsets, bool bottom_right, int64_t window_left, int64_t window_right,
              double softcap, double dropout_p, bool /*deterministic*/) {
  const Options options = {bias,           mask,         alibi_slopes, sinks,        dropout_state, diagonal_offset,
                           interval_begin, interval_end, query_begin,  query_end,    query_offsets, key_offsets,
                           causal,         bottom_right, window_left,  window_right, softcap,       dropout_p};
  const Inputs inputs = {q, k, v, scale, variantTensors(options)};
  const auto guard = guardFor(q);
  const auto [batch, heads, length, dim] = shapeOf(inputs.q_view);
  Tensor result = empty(q, std::array{batch, heads, length, shapeOf(inputs.k_view)[2]}, ScalarType::Float);
  tegula_attention_problem problem = problemOf(inputs, options);
  problem.scores_output = int32_t(output);
  auto args = argsOf<tegula_forward_args>(options);
  args.scores = view("scores", result);
  runForward(inputs, problem, args);
  return result;
}

constexpr int64_t kDimUnit = 8, kLargestDim = 256; // As in tegula/_attention.py.

/// Returns true if kernels take the tensors as they are: [batch, heads, length, dim] with equal batch sizes, and
/// without `grouped` with equal numbers of heads.
bool arePlain(const Tensor &q, const Tensor &k, const Tensor &v, bool grouped) {
  const ScalarType type = q.scalar_type();
  if (type != ScalarType::Float && type != ScalarType::Half && type != ScalarType::BFloat16)
    return false;
  for (const Tensor *tensor : {&q, &k, &v}) {
    if (tensor->dim() != 4 || tensor->scalar_type() != type || tensor->device() != q.device() || tensor->numel() == 0)
      return false;
    const int64_t dim = tensor->size(3);
    if (dim % kDimUnit != 0 || dim > kLargestDim || tensor->stride(3) != 1 || tensor->size(0) != q.size(0))
      return false;
    if (!grouped && tensor->size(1) != q.size(1))
      return false;
  }
  return true;
}

/// Returns o and lse, or nothing if kernels do not take the tensors as they are. One call thus checks, allocates and
/// launches, which keeps small calls cheap.
std::tuple<OptionalTensor, OptionalTensor> plainForward(const Tensor &q, const Tensor &k, const Tensor &v, double scale,
                                                        bool causal, bool grouped) {
  if (!arePlain(q, k, v, grouped))
    return {};
  return forward(q, k, v, scale, causal, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, false, TEGULA_NO_BOUND,
                 TEGULA_NO_BOUND, 0, 0, false);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
backward(const Tensor &d_o, const OptionalTensor &d_lse, const Tensor &q, const Tensor &k, const Tensor &v,
         const Tensor &o, const Tensor &lse, double scale, bool causal, const OptionalTensor &bias,
         const OptionalTensor &mask, const OptionalTensor &alibi_slopes, const OptionalTensor &sinks,
         const OptionalTensor &dropout_state, const OptionalTensor &diagonal_offset,
         const OptionalTensor &interval_begin, const OptionalTensor &interval_end, const OptionalTensor &query_begin,
         const OptionalTensor &query_end, const OptionalTensor &query_offsets, const OptionalTensor &key_offsets,
         bool bottom_right, int64_t window_left, int64_t window_right, double softcap, double dropout_p,
         bool deterministic, bool wants_dbias) {
  const Options options = {bias,           mask,         alibi_slopes, sinks,        dropout_state, diagonal_offset,
                           interval_begin, interval_end, query_begin,  query_end,    query_offsets, key_offsets,
                           causal,         bottom_right, window_left,  window_right, softcap,       dropout_p};
  const Inputs inputs = {q, k, v, scale, variantTensors(options)};
  const auto [batch, heads, length, dim] = shapeOf(inputs.q_view);
  Tensor dbias = wants_dbias ? zeros(q, std::array{batch, heads, length, shapeOf(inputs.k_view)[2]})
                             : empty(q, std::array<int64_t, 4>{}, ScalarType::Float);
  Tensor d_sinks = empty(q, std::array{sinks ? heads : 0}, ScalarType::Float);
  tegula_attention_problem problem = problemOf(inputs, options);
  problem.deterministic = deterministic;
  problem.constant_bias = bias && !wants_dbias;
  auto args = argsOf<tegula_backward_args>(options);
  const tegula_tensor gradient = view("dbias", dbias);
  args.variant_gradients = &gradient;
  args.variant_gradient_count = wants_dbias ? 1 : 0;
  if (sinks)
    args.d_sinks = view("d_sinks", d_sinks);
  const auto [dq, dk, dv] = runBackward(inputs, {o, lse, d_o, d_lse}, problem, args);
  return {dq, dk, dv, dbias, d_sinks};
}

//===-- Attention with functions of the user ---------------------------------------------------------------------===//

/// The options of flex_forward and flex_backward.
struct Flex {
  /// The tensors of the text, in its order: first those that want a gradient.
  const std::vector<Tensor> &learnt, &constant;
  /// kv_num_blocks and kv_indices, then full_kv_num_blocks and full_kv_indices if there are any.
  const std::vector<Tensor> &blocks;
  const std::string &text;
  int64_t block_mask, block_q, block_k;
  const OptionalTensor &lists; ///< Lists of tiles that flex_lists has made.
};

std::vector<tegula_tensor> variantTensors(const Flex &flex) {
  std::vector<tegula_tensor> tensors;
  for (const std::vector<Tensor> *part : {&flex.learnt, &flex.constant})
    for (const Tensor &tensor : *part)
      tensors.push_back(view(("captured tensor " + std::to_string(tensors.size())).c_str(), tensor));
  return tensors;
}

tegula_attention_problem problemOf(const Inputs &inputs, const Flex &flex) {
  tegula_attention_problem problem = problemOf(inputs);
  problem.variant_text = flex.text.empty() ? nullptr : flex.text.c_str();
  problem.block_mask = int32_t(flex.block_mask);
  if (!flex.blocks.empty()) {
    problem.block_mask_per_batch = flex.blocks[0].sizes()[0] > 1;
    problem.block_mask_per_head = flex.blocks[0].sizes()[1] > 1;
    problem.block_q = int32_t(flex.block_q);
    problem.block_k = int32_t(flex.block_k);
  }
  return problem;
}

/// Returns the given lists of blocks. A call that has lists of tiles does not read them.
tegula_block_mask blocksOf(const Flex &flex) {
  tegula_block_mask blocks{};
  tegula_tensor *lists[] = {&blocks.kv_num_blocks, &blocks.kv_indices, &blocks.full_kv_num_blocks,
                            &blocks.full_kv_indices};
  for (size_t n = 0; n < flex.blocks.size(); ++n)
    *lists[n] = view("block_mask", flex.blocks[n]);
  return blocks;
}

/// Sets what both passes have.
template <class Args> void setLists(Args &args, const Flex &flex, const tegula_block_mask &blocks) {
  args.blocks = flex.blocks.empty() || flex.lists ? nullptr : &blocks;
  if (flex.lists) {
    args.lists = flex.lists->mutable_data_ptr();
    args.lists_bytes = flex.lists->numel();
  }
}

/// Returns the lists of tiles that flex_forward, or flex_backward, visits for inputs of this shape: bytes.
Tensor flexLists(const Tensor &q, const Tensor &k, const Tensor &v, const std::vector<Tensor> &learnt,
                 const std::vector<Tensor> &constant, const std::vector<Tensor> &blocks, const std::string &text,
                 double scale, int64_t block_mask, int64_t block_q, int64_t block_k, bool deterministic, bool backward,
                 bool lse_gradient) {
  const Flex flex = {learnt, constant, blocks, text, block_mask, block_q, block_k, std::nullopt};
  const Inputs inputs = {q, k, v, scale, variantTensors(flex)};
  const auto guard = guardFor(q);
  tegula_attention_problem problem = problemOf(inputs, flex);
  problem.backward = backward;
  problem.lse_gradient = lse_gradient;
  problem.deterministic = backward && deterministic;
  tegula_plan *made = nullptr;
  tegula_error *error = nullptr;
  check(tegula_plan_create(contextOf(q), &problem, &made, &error), error);
  const std::unique_ptr<tegula_plan, decltype(&tegula_plan_destroy)> plan(made, tegula_plan_destroy);

  const auto [batch, heads, length, dim] = shapeOf(inputs.q_view);
  const tegula_block_mask given = blocksOf(flex);
  tegula_lists_args args{};
  args.struct_size = sizeof args;
  args.shape = {sizeof args.shape, 0, batch, heads, shapeOf(inputs.k_view)[1], length, shapeOf(inputs.k_view)[2]};
  check(tegula_plan_lists(plan.get(), &args.shape, &args.lists_bytes, &args.workspace_bytes, &error), error);
  Tensor lists = empty(q, std::array{args.lists_bytes}, ScalarType::Byte);
  Tensor workspace = empty(q, std::array{args.workspace_bytes}, ScalarType::Byte);
  args.variant_tensors = inputs.variant_tensors.data();
  args.variant_tensor_count = inputs.variant_tensors.size();
  args.blocks = blocks.empty() ? nullptr : &given;
  args.lists = lists.mutable_data_ptr();
  args.workspace = workspace.mutable_data_ptr();
  args.stream = streamOf(q);
  check(tegula_plan_make_lists(plan.get(), &args, &error), error);
  return lists;
}

std::tuple<Tensor, Tensor> flexForward(const Tensor &q, const Tensor &k, const Tensor &v,
                                       const std::vector<Tensor> &learnt, const std::vector<Tensor> &constant,
                                       const std::vector<Tensor> &blocks, const std::string &text, double scale,
                                       int64_t block_mask, int64_t block_q, int64_t block_k, bool /*deterministic*/,
                                       const OptionalTensor &lists) {
  const Flex flex = {learnt, constant, blocks, text, block_mask, block_q, block_k, lists};
  const Inputs inputs = {q, k, v, scale, variantTensors(flex)};
  const tegula_block_mask given = blocksOf(flex);
  tegula_forward_args args{};
  setLists(args, flex, given);
  return runForward(inputs, problemOf(inputs, flex), args);
}

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>
flexBackward(const Tensor &d_o, const OptionalTensor &d_lse, const Tensor &q, const Tensor &k, const Tensor &v,
             const Tensor &o, const Tensor &lse, const std::vector<Tensor> &learnt, const std::vector<Tensor> &constant,
             const std::vector<Tensor> &blocks, const std::string &text, double scale, int64_t block_mask,
             int64_t block_q, int64_t block_k, bool deterministic, const OptionalTensor &lists) {
  const Flex flex = {learnt, constant, blocks, text, block_mask, block_q, block_k, lists};
  const Inputs inputs = {q, k, v, scale, variantTensors(flex)};
  const tegula_block_mask given = blocksOf(flex);
  std::vector<Tensor> gradients;
  std::vector<tegula_tensor> views;
  for (const Tensor &tensor : learnt) {
    const auto sizes = tensor.sizes();
    gradients.push_back(zeros(tensor, std::vector<int64_t>(sizes.begin(), sizes.end())));
    views.push_back(view("gradient", gradients.back()));
  }
  tegula_attention_problem problem = problemOf(inputs, flex);
  problem.deterministic = deterministic;
  tegula_backward_args args{};
  setLists(args, flex, given);
  args.variant_gradients = views.data();
  args.variant_gradient_count = views.size();
  const auto [dq, dk, dv] = runBackward(inputs, {o, lse, d_o, d_lse}, problem, args);
  return {dq, dk, dv, gradients};
}

// Arguments that are left out cost less than arguments that Python passes.
#define TEGULA_OPTIONS                                                                                                 \
  "float scale, bool causal, Tensor? bias=None, Tensor? mask=None, Tensor? alibi_slopes=None, Tensor? sinks=None, "    \
  "Tensor? dropout_state=None, Tensor? diagonal_offset=None, Tensor? interval_begin=None, Tensor? interval_end=None, " \
  "Tensor? query_begin=None, Tensor? query_end=None, Tensor? query_offsets=None, Tensor? key_offsets=None, "           \
  "bool bottom_right=False, SymInt window_left=-1, SymInt window_right=-1, float softcap=0.0, float dropout_p=0.0, "   \
  "bool deterministic=False"

#define TEGULA_FLEX                                                                                                    \
  "Tensor[] learnt, Tensor[] constant, Tensor[] blocks, str text, float scale, int block_mask, int block_q, "          \
  "int block_k, bool deterministic"

STABLE_TORCH_LIBRARY(tegula, library) {
  library.def("attention_forward(Tensor q, Tensor k, Tensor v, " TEGULA_OPTIONS ") -> (Tensor o, Tensor lse)");
  library.def("attention_backward(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor "
              "lse, " TEGULA_OPTIONS ", bool wants_dbias=False) -> "
              "(Tensor dq, Tensor dk, Tensor dv, Tensor dbias, Tensor d_sinks)");
  library.def("attention_scores(Tensor q, Tensor k, Tensor v, int output, " TEGULA_OPTIONS ") -> Tensor");
  library.def("plain_forward(Tensor q, Tensor k, Tensor v, float scale, bool causal, bool grouped) -> "
              "(Tensor? o, Tensor? lse)");
  library.def("flex_lists(Tensor q, Tensor k, Tensor v, " TEGULA_FLEX ", bool backward, bool lse_gradient) -> Tensor");
  library.def("flex_forward(Tensor q, Tensor k, Tensor v, " TEGULA_FLEX
              ", Tensor? lists=None) -> (Tensor o, Tensor lse)");
  library.def("flex_backward(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor "
              "lse, " TEGULA_FLEX ", Tensor? lists=None) -> (Tensor dq, Tensor dk, Tensor dv, Tensor[] d_learnt)");
}

void implement(torch::stable::detail::StableLibrary &library) {
  library.impl("attention_forward", TORCH_BOX(&forward));
  library.impl("attention_backward", TORCH_BOX(&backward));
  library.impl("attention_scores", TORCH_BOX(&scores));
  library.impl("plain_forward", TORCH_BOX(&plainForward));
  library.impl("flex_lists", TORCH_BOX(&flexLists));
  library.impl("flex_forward", TORCH_BOX(&flexForward));
  library.impl("flex_backward", TORCH_BOX(&flexBackward));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) { implement(library); }

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) { implement(library); }

} // namespace
} // namespace tegula_torch
