// SPDX-License-Identifier: MIT
// An attention of your own, forward and backward: say which scores exist and what happens to them.
#include "check.h"
#include "tegula/attention.h"
#include "tegula/worker_compiler.h"

#include <algorithm>
#include <cstdio>

using namespace tegula;

/// A query sees every second key, up to its own position; near keys count for more, and scores stay within 5.
Variant dilatedRecency() {
  Variant variant;
  variant.name = "dilated_recency";
  variant.bands = {{.left = {}, .right = 0, .alignment = Alignment::top_left}}; // No key after the query.
  variant.mask = [](const ScoreIndex &at, VariantViews) { return (at.query - at.key) % 2 == 0; };
  variant.score = [](Value score, const ScoreIndex &at, VariantViews) {
    Value distance = cast(f32, at.query - at.key);
    return 5.0 * tanh(score / 5.0) - 0.5 * log(1.0 + abs(distance));
  };
  return variant;
}

/// Computes x.o, x.lse, x.dq, x.dk and x.dv from the others.
Status runAttention(const AttentionShape &shape, float scale, Arrays &x) {
  Expected<std::shared_ptr<Device>> device = cpuDevice();
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeWorkerCompiler();
  KernelCache cache(*compiler, *device);

  AttentionProblem problem{.dtype = f32, .head_dim = kDim, .value_dim = kDim};
  problem.variant = dilatedRecency();
  problem.backward = true;
  Expected<AttentionPlan> plan = AttentionPlan::make(problem, cache);
  if (!plan)
    return plan.status();
  Expected<int64_t> forward_bytes = plan->forwardWorkspace(shape), backward_bytes = plan->backwardWorkspace(shape);
  if (!forward_bytes || !backward_bytes)
    return forward_bytes ? backward_bytes.status() : forward_bytes.status();
  Expected<Buffer> memory = (*device)->allocate(std::max(*forward_bytes, *backward_bytes));
  if (!memory)
    return memory.status();
  const Workspace workspace{memory->data(), memory->bytes()};

  AttentionForward forward{.q = x.view(x.q), .k = x.view(x.k), .v = x.view(x.v), .o = x.view(x.o)};
  forward.lse = x.rows(x.lse);
  forward.scale = scale;
  TEGULA_RETURN_IF_ERROR(plan->forward(forward, workspace));

  AttentionBackward backward{.q = forward.q, .k = forward.k, .v = forward.v, .o = forward.o, .lse = forward.lse};
  backward.d_o = x.view(x.d_o);
  backward.dq = x.view(x.dq);
  backward.dk = x.view(x.dk);
  backward.dv = x.view(x.dv);
  backward.scale = scale;
  return plan->backward(backward, workspace);
}

int main() {
  AttentionShape shape{.batch = 2, .heads = 4, .kv_heads = 4, .seqlen_q = 200, .seqlen_k = 200};
  const float scale = 0.125f;
  Arrays arrays(shape);
  if (Status status = runAttention(shape, scale, arrays); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  return checkDilatedRecency(scale, arrays) ? 0 : 1;
}
