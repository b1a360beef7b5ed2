// SPDX-License-Identifier: MIT
// The operators of tegula/ring.py. They write into parts of its tensors.
#include "arguments.h"
#include "kept_plan.h"
#include "passes.h"

#include <torch/csrc/stable/library.h>

#include <tuple>

namespace tegula_torch {
namespace {

using OptionalTensor = std::optional<Tensor>;

tegula_attention_problem problemOf(const Inputs &inputs, const Mask &mask) {
  tegula_attention_problem problem = problemOf(inputs);
  setMask(problem, mask);
  return problem;
}

void forward(const Tensor &q, const Tensor &k, const Tensor &v, double scale, bool causal, bool bottom_right,
             int64_t window_left, int64_t window_right, const Tensor &o, const Tensor &lse) {
  const Inputs inputs = {q, k, v, scale};
  runForward(inputs, problemOf(inputs, {causal, bottom_right, window_left, window_right}), {}, o, lse);
}

void backward(const Tensor &d_o, const OptionalTensor &d_lse, const Tensor &q, const Tensor &k, const Tensor &v,
              const Tensor &o, const Tensor &lse, double scale, bool causal, bool bottom_right, int64_t window_left,
              int64_t window_right, bool deterministic, const Tensor &dq, const Tensor &dk, const Tensor &dv) {
  const Inputs inputs = {q, k, v, scale};
  tegula_attention_problem problem = problemOf(inputs, {causal, bottom_right, window_left, window_right});
  problem.deterministic = deterministic;
  runBackward(inputs, {o, lse, d_o, d_lse}, problem, {}, {dq, dk, dv});
}

/// Returns the plan that merges parts of a type.
const tegula_plan *mergePlan(tegula_context *context, int32_t dtype, int32_t value_dim) {
  return keptPlan(std::tuple(context, dtype, value_dim), [&](tegula_plan **plan, tegula_error **error) {
    tegula_merge_problem problem{};
    problem.struct_size = sizeof problem;
    problem.dtype = dtype;
    problem.value_dim = value_dim;
    return tegula_plan_create_merge(context, &problem, plan, error);
  });
}

/// Merges o_parts [parts, batch, heads, length, value_dim] by lse_parts f32 [parts, batch, heads, length].
void merge(const Tensor &o_parts, const Tensor &lse_parts, const Tensor &o, const Tensor &lse) {
  const auto guard = guardFor(o);
  Arguments arguments;
  arguments.add("o_parts", o_parts);
  arguments.add("lse_parts", lse_parts);
  arguments.add("o", o);
  arguments.add("lse", lse);
  arguments.launch(mergePlan(contextOf(o), view("o", o).dtype, int32_t(o.size(-1))), o);
}

#define TEGULA_MASK "float scale, bool causal, bool bottom_right, int window_left, int window_right"

STABLE_TORCH_LIBRARY_FRAGMENT(tegula, library) {
  library.def("ring_forward(Tensor q, Tensor k, Tensor v, " TEGULA_MASK ", Tensor(a!) o, Tensor(b!) lse) -> ()");
  library.def(
      "ring_backward(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, " TEGULA_MASK
      ", bool deterministic, Tensor(a!) dq, Tensor(b!) dk, Tensor(c!) dv) -> ()");
  library.def("ring_merge(Tensor o_parts, Tensor lse_parts, Tensor(a!) o, Tensor(b!) lse) -> ()");
}

void implement(torch::stable::detail::StableLibrary &library) {
  library.impl("ring_forward", TORCH_BOX(&forward));
  library.impl("ring_backward", TORCH_BOX(&backward));
  library.impl("ring_merge", TORCH_BOX(&merge));
}

STABLE_TORCH_LIBRARY_IMPL(tegula, CPU, library) { implement(library); }

STABLE_TORCH_LIBRARY_IMPL(tegula, CUDA, library) { implement(library); }

} // namespace
} // namespace tegula_torch
