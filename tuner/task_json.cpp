// SPDX-License-Identifier: MIT
#include "task_json.h"

#include "tegula/attention_words.h"
#include "tegula/tuned_schedules.h"
#include "workload/blocks_json.h"

namespace tegula::tuning {

Json toJson(const TuningTask &task) {
  const AttentionProblem &problem = task.problem;
  return {{"program", task.program},
          {"algorithm", toString(problem.algorithm)},
          {"dtype", toString(problem.dtype)},
          {"head_dim", problem.head_dim},
          {"value_dim", problem.value_dim},
          {"causal", toString(problem.causal)},
          {"variant", problem.variant.name},
          {"backward", problem.backward},
          {"contain_nonfinite", problem.contain_nonfinite},
          {"deterministic", problem.deterministic},
          {"block_mask", toString(problem.block_mask.source)},
          {"dropout_p", problem.dropout_p},
          {"sinks", problem.sinks},
          {"shape", toJson(attentionSizes(task.shape))},
          {"diagonal_offset", problem.diagonal_offset ? Json(task.diagonal_offset) : Json()},
          {"blocks", task.blocks ? Json::parse(tools::toJson(*task.blocks)) : Json()}};
}

Json toJson(const Sizes &sizes) {
  Json json = Json::object();
  for (const NamedSize &size : sizes)
    json[size.name] = size.value;
  return json;
}

Sizes sizesOf(const Json &json) {
  Sizes sizes;
  for (const auto &[name, value] : json.items())
    sizes.push_back({name, value.get<int64_t>()});
  return sizes;
}

} // namespace tegula::tuning
