// SPDX-License-Identifier: MIT
// Attention as two operators of PyTorch. They are registered through PyTorch's stable ABI, so that one file serves all
// versions from 2.10 on. Their fake tensors and their gradients are in tegula/_operators.py.
#include "context.h"

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <optional>
#include <vector>

namespace tegula_torch {
namespace {

using torch::headeronly::ScalarType;
using OptionalTensor = std::optional<Tensor>;

/// The arguments that both operators have: the inputs, and the options of the problem.
struct Call {
  const Tensor &q, &k, &v;
  const OptionalTensor &bias, &mask, &alibi_slopes, &sinks, &dropout_state;
  double scale;
  bool causal, bottom_right;
  int64_t window_left, window_right;
  double softcap, dropout_p;
};

std::array<int64_t, 4> shapeOf(const Tensor &tensor) {
  const auto sizes = tensor.sizes();
  if (sizes.size() != 4)
    throw std::runtime_error("q, k and v must be [batch, heads, length, dim]; one has " + std::to_string(sizes.size()) +
                             " dimensions");
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

tegula_attention_problem problemOf(const Call &call) {
  tegula_attention_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = view("q", call.q).dtype;
  problem.head_dim = int32_t(shapeOf(call.q)[3]);
  problem.value_dim = int32_t(shapeOf(call.v)[3]);
  problem.causal = !call.causal        ? TEGULA_CAUSAL_NONE
                   : call.bottom_right ? TEGULA_CAUSAL_BOTTOM_RIGHT
                                       : TEGULA_CAUSAL_TOP_LEFT;
  problem.bottom_right = call.bottom_right;
  if (call.window_left != TEGULA_NO_BOUND || call.window_right != TEGULA_NO_BOUND) {
    problem.variants |= TEGULA_WINDOW;
    problem.window_left = call.window_left;
    problem.window_right = call.window_right;
  }
  if (call.softcap != 0)
    problem.variants |= TEGULA_SOFTCAP;
  problem.softcap = call.softcap;
  problem.variants |= call.alibi_slopes ? TEGULA_ALIBI : 0;
  problem.variants |= call.bias ? TEGULA_BIAS : 0;
  problem.variants |= call.mask ? TEGULA_MASK : 0;
  problem.bias_f32 = call.bias && call.bias->scalar_type() == ScalarType::Float;
  problem.seqlen_q = shapeOf(call.q)[2];
  problem.seqlen_k = shapeOf(call.k)[2];
  problem.dropout_p = call.dropout_p;
  problem.sinks = call.sinks.has_value();
  return problem;
}

/// Returns the tensors of the variants in the order of tegula.h.
std::vector<tegula_tensor> variantTensors(const Call &call) {
  std::vector<tegula_tensor> tensors;
  if (call.alibi_slopes)
    tensors.push_back(view("alibi_slopes", *call.alibi_slopes));
  if (call.bias)
    tensors.push_back(view("bias", *call.bias));
  if (call.mask)
    tensors.push_back(view("mask", *call.mask));
  return tensors;
}

template <class Args> void setShared(Args &args, const Call &call, const std::vector<tegula_tensor> &variants) {
  args.struct_size = sizeof args;
  args.scale = float(call.scale);
  args.q = view("q", call.q);
  args.k = view("k", call.k);
  args.v = view("v", call.v);
  args.variant_tensors = variants.data();
  args.variant_tensor_count = variants.size();
  args.stream = streamOf(call.q);
  args.dropout_state = view("dropout_state", call.dropout_state);
  args.sinks = view("sinks", call.sinks);
}

/// Makes the device of a tensor the current one.
std::optional<torch::stable::accelerator::DeviceGuard> guardFor(const Tensor &tensor) {
  if (!tensor.is_cuda())
    return std::nullopt;
  return std::optional<torch::stable::accelerator::DeviceGuard>(std::in_place, tensor.get_device_index());
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k, const Tensor &v, const OptionalTensor &bias,
                                   const OptionalTensor &mask, const OptionalTensor &alibi_slopes,
                                   const OptionalTensor &sinks, const OptionalTensor &dropout_state, double scale,
                                   bool causal, bool bottom_right, int64_t window_left, int64_t window_right,
                                   double softcap, double dropout_p, bool /*deterministic*/) {
  const Call call = {q,
                     k,
                     v,
                     bias,
                     mask,
                     alibi_slopes,
                     sinks,
                     dropout_state,
                     scale,
                     causal,
                     bottom_right,
                     window_left,
                     window_right,
                     softcap,
                     dropout_p};
  const auto guard = guardFor(q);
  const auto [batch, heads, length, dim] = shapeOf(q);
  Tensor o = emptyOrderedAs(q, std::array{batch, heads, length, shapeOf(v)[3]});
  Tensor lse = empty(q, std::array{batch, heads, length}, ScalarType::Float);
  const tegula_attention_problem problem = problemOf(call);
  const std::vector<tegula_tensor> variants = variantTensors(call);
  tegula_forward_args args{};
  setShared(args, call, variants);
  args.o = view("o", o);
  args.lse = view("lse", lse);
  tegula_error *error = nullptr;
  check(tegula_attention_forward(contextOf(q), &problem, &args, &error), error);
  return {o, lse};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
backward(const Tensor &d_o, const OptionalTensor &d_lse, const Tensor &q, const Tensor &k, const Tensor &v,
         const Tensor &o, const Tensor &lse, const OptionalTensor &bias, const OptionalTensor &mask,
         const OptionalTensor &alibi_slopes, const OptionalTensor &sinks, const OptionalTensor &dropout_state,
         double scale, bool causal, bool bottom_right, int64_t window_left, int64_t window_right, double softcap,
         double dropout_p, bool deterministic, bool wants_dbias) {
  const Call call = {q,
                     k,
                     v,
                     bias,
                     mask,
                     alibi_slopes,
                     sinks,
                     dropout_state,
                     scale,
                     causal,
                     bottom_right,
                     window_left,
                     window_right,
                     softcap,
                     dropout_p};
  const auto guard = guardFor(q);
  const auto [batch, heads, length, dim] = shapeOf(q);
  Tensor dq = emptyOrderedAs(q, shapeOf(q)), dk = emptyOrderedAs(k, shapeOf(k)), dv = emptyOrderedAs(v, shapeOf(v));
  Tensor dbias = empty(q, std::array<int64_t, 4>{}, ScalarType::Float),
         d_sinks = empty(q, std::array{int64_t(0)}, ScalarType::Float);
  tegula_attention_problem problem = problemOf(call);
  problem.backward = 1;
  problem.lse_gradient = d_lse.has_value();
  problem.deterministic = deterministic;
  problem.constant_bias = bias && !wants_dbias;
  const std::vector<tegula_tensor> variants = variantTensors(call);
  tegula_backward_args args{};
  setShared(args, call, variants);
  args.o = view("o", o);
  args.lse = view("lse", lse);
  args.d_o = view("d_o", d_o);
  args.d_lse = view("d_lse", d_lse);
  args.dq = view("dq", dq);
  args.dk = view("dk", dk);
  args.dv = view("dv", dv);
  tegula_tensor gradient{};
  if (wants_dbias) {
    dbias = empty(q, std::array{batch, heads, length, shapeOf(k)[2]}, ScalarType::Float);
    torch::stable::zero_(dbias);
    gradient = view("dbias", dbias);
    args.variant_gradients = &gradient;
    args.variant_gradient_count = 1;
  }
  if (sinks) {
    d_sinks = empty(q, std::array{heads}, ScalarType::Float);
    args.d_sinks = view("d_sinks", d_sinks);
  }
  tegula_error *error = nullptr;
  check(tegula_attention_backward(contextOf(q), &problem, &args, &error), error);
  return {dq, dk, dv, dbias, d_sinks};
}

#define TEGULA_OPTIONS                                                                                                 \
  "Tensor? bias, Tensor? mask, Tensor? alibi_slopes, Tensor? sinks, Tensor? dropout_state, float scale, bool causal, " \
  "bool bottom_right, SymInt window_left, SymInt window_right, float softcap, float dropout_p, "                       \
  "bool deterministic"

STABLE_TORCH_LIBRARY(tegula, library) {
  library.def("attention_forward(Tensor q, Tensor k, Tensor v, " TEGULA_OPTIONS ") -> (Tensor o, Tensor lse)");
  library.def("attention_backward(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor "
              "lse, " TEGULA_OPTIONS ", bool wants_dbias) -> "
              "(Tensor dq, Tensor dk, Tensor dv, Tensor dbias, Tensor d_sinks)");
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) {
  library.impl("attention_forward", TORCH_BOX(&forward));
  library.impl("attention_backward", TORCH_BOX(&backward));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) {
  library.impl("attention_forward", TORCH_BOX(&forward));
  library.impl("attention_backward", TORCH_BOX(&backward));
}

} // namespace
} // namespace tegula_torch
