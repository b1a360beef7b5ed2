// SPDX-License-Identifier: MIT
#include "problem.h"
#include "workload/attention_run.h"
#include "workload/timing.h"

namespace tegula::bench {

Expected<Throughput> attentionThroughput(const Machine &machine, int64_t seqlen, int head_dim, bool backward) {
  tools::AttentionCase attention = problem(seqlen, head_dim);
  attention.problem.backward = backward;
  Expected<tools::AttentionRun> run = tools::AttentionRun::make(attention, machine.device, *machine.cache);
  if (!run)
    return run.status();
  Expected<double> forward = tools::medianMs(run->device(), [&] { return run->forward(); });
  if (!forward)
    return forward.status();
  Throughput result{seqlen, head_dim, *forward, 1e3 * tools::teraflops(forwardFlops(attention), *forward)};
  if (!backward)
    return result;
  Expected<double> gradients = tools::medianMs(run->device(), [&] { return run->backward(); });
  if (!gradients)
    return gradients.status();
  result.backward_ms = *gradients;
  result.backward_gflops = 1e3 * tools::teraflops(backwardFlops(attention), *gradients);
  return result;
}

} // namespace tegula::bench
