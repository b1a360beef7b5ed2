// SPDX-License-Identifier: MIT
#include "passes.h"

#include <stdexcept>
#include <string>

namespace tegula_torch {
namespace {

template <class Args> void setShared(Args &args, const Inputs &inputs) {
  args.struct_size = sizeof args;
  args.scale = float(inputs.scale);
  args.q = inputs.q_view;
  args.k = inputs.k_view;
  args.v = inputs.v_view;
  args.variant_tensors = inputs.variant_tensors.data();
  args.variant_tensor_count = inputs.variant_tensors.size();
  args.stream = streamOf(inputs.q);
}

} // namespace

std::array<int64_t, 4> shapeOf(const tegula_tensor &tensor) {
  if (tensor.rank != 4)
    throw std::runtime_error("q, k and v must be [batch, heads, length, dim]; one has " + std::to_string(tensor.rank) +
                             " dimensions");
  return {tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]};
}

tegula_attention_problem problemOf(const Inputs &inputs) {
  tegula_attention_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = inputs.q_view.dtype;
  problem.head_dim = int32_t(shapeOf(inputs.q_view)[3]);
  problem.value_dim = int32_t(shapeOf(inputs.v_view)[3]);
  problem.seqlen_q = shapeOf(inputs.q_view)[2];
  problem.seqlen_k = shapeOf(inputs.k_view)[2];
  return problem;
}

void setMask(tegula_attention_problem &problem, const Mask &mask) {
  problem.causal = !mask.causal        ? TEGULA_CAUSAL_NONE
                   : mask.bottom_right ? TEGULA_CAUSAL_BOTTOM_RIGHT
                                       : TEGULA_CAUSAL_TOP_LEFT;
  problem.bottom_right = mask.bottom_right;
  if (mask.window_left == TEGULA_NO_BOUND && mask.window_right == TEGULA_NO_BOUND)
    return;
  problem.variants |= TEGULA_WINDOW;
  problem.window_left = mask.window_left;
  problem.window_right = mask.window_right;
}

void runForward(const Inputs &inputs, const tegula_attention_problem &problem, tegula_forward_args args,
                const Tensor &o, const Tensor &lse) {
  const auto guard = guardFor(inputs.q);
  setShared(args, inputs);
  args.o = view("o", o);
  args.lse = view("lse", lse);
  tegula_error *error = nullptr;
  check(tegula_attention_forward(contextOf(inputs.q), &problem, &args, &error), error);
}

void runBackward(const Inputs &inputs, const Outputs &outputs, tegula_attention_problem problem,
                 tegula_backward_args args, const Gradients &gradients) {
  const auto guard = guardFor(inputs.q);
  problem.backward = 1;
  problem.lse_gradient = outputs.d_lse.has_value();
  setShared(args, inputs);
  args.o = view("o", outputs.o);
  args.lse = view("lse", outputs.lse);
  args.d_o = view("d_o", outputs.d_o);
  args.d_lse = view("d_lse", outputs.d_lse);
  args.dq = view("dq", gradients.dq);
  args.dk = view("dk", gradients.dk);
  args.dv = view("dv", gradients.dv);
  tegula_error *error = nullptr;
  check(tegula_attention_backward(contextOf(inputs.q), &problem, &args, &error), error);
}

} // namespace tegula_torch
