// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tuned_schedules.h"
#include "tegula/tuner.h"

namespace tegula::test {

inline TuningTask exampleTask() {
  return {.problem = {.dtype = bf16, .head_dim = 64, .value_dim = 128, .causal = Causal::bottom_right},
          .shape = {.batch = 2, .heads = 8, .kv_heads = 4, .seqlen_q = 1000, .seqlen_k = 3000},
          .program = "flash2_forward"};
}

/// Returns a result for a task, on another machine than this one.
inline Tuning exampleTuning(const TuningTask &task = exampleTask()) {
  Tuning tuning{
      .kernel = task.program,
      .kernel_class = problemClass(task.problemOfShape()),
      .sizes = attentionSizes(task.shape),
      .task = "{}",
      .machine = {
          .target = {"cuda", "sm_90", ""}, .device = "a GPU / model 3", .driver = "CUDA 13.0", .compiler = "build 1"}};
  tuning.candidates = {{.schedule = {.block_m = 64, .block_n = 64},
                        .state = CandidateState::beaten,
                        .ms = 2.5,
                        .fastest_ms = 2,
                        .samples = 3},
                       {.schedule = {.block_m = 128, .block_n = 96, .num_warps = 8},
                        .state = CandidateState::finalist,
                        .model_cost = 17,
                        .registers = 255,
                        .spill_bytes = 8,
                        .shared_bytes = 65536,
                        .error_ratio = 0.5,
                        .ms = 1.25,
                        .fastest_ms = 1.125,
                        .samples = 36},
                       {.schedule = {.block_m = 32}, .state = CandidateState::faulted, .why = "\"SIGSEGV\" <&>"}};
  tuning.best = 1;
  tuning.complete = true;
  tuning.seconds = 12.5;
  return tuning;
}

} // namespace tegula::test
