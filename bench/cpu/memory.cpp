// SPDX-License-Identifier: MIT
// Linux counts a process's resident memory (VmRSS) and its peak (VmHWM); writing 5 to clear_refs resets the peak.
#include "problem.h"
#include "workload/attention_run.h"

#include <fstream>

namespace tegula::bench {
namespace {

int64_t statusBytes(const std::string &label) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (int64_t kibibytes; word == label && file >> kibibytes)
      return kibibytes * 1024;
  return 0;
}

void resetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// Makes the pages of the outputs resident, so that they do not count as extra.
Status touchOutputs(const tools::AttentionRun &run) {
  for (const tools::DeviceTensor *tensor : {&run.tensors().o, &run.tensors().lse})
    TEGULA_RETURN_IF_ERROR(tools::upload(run.device(), std::vector<float>(size_t(tensor->size())), *tensor));
  return {};
}

} // namespace

Expected<ExtraMemory> extraMemory(const Machine &machine, Algorithm algorithm, int64_t seqlen) {
  tools::AttentionCase attention = problem(seqlen, 64);
  attention.problem.algorithm = algorithm;
  Expected<tools::AttentionRun> run = tools::AttentionRun::make(attention, machine.device, *machine.cache);
  if (!run)
    return run.status();
  TEGULA_RETURN_IF_ERROR(touchOutputs(*run));
  resetPeak();
  int64_t before = statusBytes("VmRSS:");
  TEGULA_RETURN_IF_ERROR(run->forward());
  return ExtraMemory{algorithm, seqlen, run->workspaceBytes(), statusBytes("VmHWM:") - before};
}

} // namespace tegula::bench
