// SPDX-License-Identifier: MIT
// The two passes of attention, on tensors of PyTorch.
#pragma once

#include "context.h"

#include <array>
#include <optional>
#include <vector>

namespace tegula_torch {

/// The inputs that all operators have.
struct Inputs {
  const Tensor &q, &k, &v;
  double scale;
  std::vector<tegula_tensor> variant_tensors = {}; ///< In the order of tegula.h.
  tegula_tensor q_view = view("q", q), k_view = view("k", k), v_view = view("v", v);
};

/// The results of the forward pass, and the gradients of the loss.
struct Outputs {
  const Tensor &o, &lse, &d_o;
  const std::optional<Tensor> &d_lse;
};

/// The memory that the backward pass writes.
struct Gradients {
  const Tensor &dq, &dk, &dv;
};

/// Which keys a query sees. Bounds count from the query's own position; with bottom_right the last query and the last
/// key have one position.
struct Mask {
  bool causal, bottom_right;
  int64_t window_left, window_right; ///< TEGULA_NO_BOUND: none.
};

/// Returns batch, heads, length and dim. Throws if the tensor has another number of dimensions.
std::array<int64_t, 4> shapeOf(const tegula_tensor &tensor);

/// Returns plain attention of the inputs.
tegula_attention_problem problemOf(const Inputs &inputs);

void setMask(tegula_attention_problem &problem, const Mask &mask);

/// Writes o and lse. `args` has what only some problems have.
void runForward(const Inputs &inputs, const tegula_attention_problem &problem, tegula_forward_args args,
                const Tensor &o, const Tensor &lse);

/// Writes the gradients. `problem` and `args` have what only some problems have; `args` also the other gradients.
void runBackward(const Inputs &inputs, const Outputs &outputs, tegula_attention_problem problem,
                 tegula_backward_args args, const Gradients &gradients);

} // namespace tegula_torch
