// SPDX-License-Identifier: MIT
#include "kernels.h"

#include "sum_parts.h"
#include "team.h"

#include <algorithm>

using namespace tegula::host;

namespace {

tegula_attention_problem problemOf(const Options &options, bool causal, int64_t length) {
  auto problem = make<tegula_attention_problem>();
  problem.dtype = TEGULA_BF16;
  problem.head_dim = static_cast<int32_t>(options.head_dim);
  problem.causal = causal ? TEGULA_CAUSAL_TOP_LEFT : TEGULA_CAUSAL_NONE;
  problem.backward = 1;
  problem.seqlen_q = problem.seqlen_k = length;
  return problem;
}

Plan makeMerge(const Context &context, const Options &options) {
  auto problem = make<tegula_merge_problem>();
  problem.dtype = TEGULA_BF16;
  problem.value_dim = static_cast<int32_t>(options.head_dim);
  return valueOf(context.mergePlan(problem), "tegula_plan_create_merge");
}

/// Sets the fields that the arguments of both passes have.
template <class Arguments>
void setCommon(Arguments &to, const Inputs &in, const Outputs &out, const Workspace &workspace) {
  to.q = in.q;
  to.k = in.k;
  to.v = in.v;
  to.o = out.o;
  to.lse = out.lse;
  to.workspace = workspace.data;
  to.workspace_bytes = workspace.bytes;
  to.stream = workspace.stream;
}

} // namespace

Attention::Attention(const Context &context, const Options &options, bool causal, int64_t length)
    : options_(options), plan_(valueOf(context.plan(problemOf(options, causal, length)), "tegula_plan_create")) {}

void Attention::forward(const Inputs &in, const Outputs &out, const Workspace &workspace) const {
  auto arguments = make<tegula_forward_args>();
  setCommon(arguments, in, out, workspace);
  require(plan_.forward(arguments), "tegula_plan_forward");
}

void Attention::backward(const Inputs &in, const Outputs &out, const tegula_tensor &d_o, const Gradients &gradients,
                         const Workspace &workspace) const {
  auto arguments = make<tegula_backward_args>();
  setCommon(arguments, in, out, workspace);
  arguments.d_o = d_o;
  arguments.dq = gradients.dq;
  arguments.dk = gradients.dk;
  arguments.dv = gradients.dv;
  require(plan_.backward(arguments), "tegula_plan_backward");
}

int64_t Attention::workspaceBytes(int64_t queries, int64_t keys) const {
  auto shape = make<tegula_attention_shape>();
  shape.batch = options_.batch;
  shape.heads = options_.heads;
  shape.kv_heads = options_.kv_heads;
  shape.seqlen_q = queries;
  shape.seqlen_k = keys;
  return std::max(valueOf(plan_.forwardWorkspace(shape), "tegula_plan_workspace"),
                  valueOf(plan_.backwardWorkspace(shape), "tegula_plan_workspace"));
}

Merge::Merge(const Context &context, const Options &options) : plan_(makeMerge(context, options)) {}

void Merge::launch(const Outputs &parts, const Outputs &merged, void *stream) const {
  const tegula_argument list[] = {argument(parts.o), argument(parts.lse), argument(merged.o), argument(merged.lse)};
  auto arguments = make<tegula_launch_args>();
  arguments.arguments = list;
  arguments.argument_count = 4;
  arguments.stream = stream;
  require(plan_.launch(arguments), "tegula_plan_launch of the merge");
}

SumParts::SumParts(const Context &context, const Options &options) {
  const std::string text = sumPartsProgram(options.head_dim);
  tegula_kernel *kernel = nullptr;
  require(call(tegula_kernel_create, context.get(), text.data(), text.size(), nullptr, &kernel),
          "tegula_kernel_create");
  kernel_.reset(kernel, tegula_kernel_destroy);
}

void SumParts::launch(const tegula_tensor &parts, const tegula_tensor &sum, void *stream) const {
  const int64_t grid[3] = {(sum.shape[2] + kSumRows - 1) / kSumRows, sum.shape[1], sum.shape[0]};
  const tegula_argument list[] = {argument(parts), argument(sum)};
  require(call(tegula_kernel_launch, kernel_.get(), grid, list, 2, stream), "tegula_kernel_launch of sum_parts");
}

Kernels::Kernels(const Context &context, const Options &options)
    : unmasked(context, options, false, options.tokens / options.gpus),
      causal(context, options, options.causal, options.tokens / options.gpus), merge(context, options),
      sum(context, options) {}
