// SPDX-License-Identifier: MIT
#include "attention_report.h"
#include "check_report.h"
#include "tegula/attention_words.h"
#include "workload/timing.h"

#include <nlohmann/json.hpp>

namespace tegula::tools {
namespace {

using Json = nlohmann::ordered_json;

Json shapeOf(const AttentionCase &attention) {
  const AttentionShape &shape = attention.shape;
  const RowGaps &gaps = attention.row_gaps;
  Json json = {{"batch", shape.batch},
               {"heads", shape.heads},
               {"kv_heads", shape.kv_heads},
               {"seqlen_q", shape.seqlen_q},
               {"seqlen_k", shape.seqlen_k},
               {"head_dim", attention.problem.head_dim},
               {"value_dim", attention.problem.value_dim},
               {"row_gaps", {gaps.q, gaps.k, gaps.v, gaps.o}}};
  if (attention.packed) {
    json["cu_seqlens"] = attention.packed->offsets_q;
    json["cu_seqlens_k"] = attention.packed->offsets_k;
  }
  if (attention.pages)
    json["page_size"] = attention.problem.page_size;
  return json;
}

Json forwardOf(const AttentionReport &report) {
  Json forward = {{"schedule", toString(report.forward_schedule)},
                  {"ms", report.forward_ms},
                  {"tflops", teraflops(forwardFlops(report.attention), report.forward_ms)}};
  if (report.errors) {
    const TensorError &o = report.errors->forward.front();
    forward["max_error"] = o.error.worst;
    forward["error_ratio"] = o.ratio();
  }
  return forward;
}

Json backwardOf(const AttentionReport &report) {
  Json backward = {{"schedule", toString(report.backward_schedule)},
                   {"ms", *report.backward_ms},
                   {"tflops", teraflops(backwardFlops(report.attention), *report.backward_ms)}};
  if (report.errors)
    for (const TensorError &tensor : report.errors->backward)
      backward[tensor.name + "_error_ratio"] = tensor.ratio();
  return backward;
}

Json trafficOf(const SimtTraffic &row) {
  return {{"kernel", row.site.kernel},
          {"instruction", row.site.instruction},
          {"location", row.site.location},
          {"memory", row.global ? "global" : "shared"},
          {"requests", row.requests},
          {"transactions", row.transactions},
          {"ideal", row.ideal}};
}

Json simtOf(const Exploration &exploration) {
  Json findings = Json::array();
  for (const SimtFinding &finding : exploration.findings)
    findings.push_back({{"fault", toString(finding.fault)}, {"message", finding.message}});
  Json json = {{"schedules", exploration.schedules},
               {"races", exploration.count({SimtErrorKind::race, SimtErrorKind::unwaited_copy})},
               {"deadlocks", exploration.count({SimtErrorKind::deadlock})},
               {"out_of_bounds", exploration.count({SimtErrorKind::out_of_bounds})},
               {"findings", findings},
               {"different_results", exploration.different_results},
               {"mutants_total", exploration.mutants_total},
               {"mutants_killed", exploration.mutants_killed},
               {"mutants_survived", exploration.survivors},
               {"mutants_unreached", exploration.unreached}};
  for (const ExploredLaunch &launch : exploration.launches)
    json["mutants_launches"].push_back({{"launch", launch.name}, {"killed", launch.killed}});
  for (const SimtTraffic &row : exploration.traffic)
    json["traffic"].push_back(trafficOf(row));
  return json;
}

} // namespace

std::string toJson(const AttentionReport &report) {
  const AttentionProblem &problem = report.attention.problem;
  Json json = {{"target", report.target},
               {"device", report.device},
               {"dtype", toString(problem.dtype)},
               {"shape", shapeOf(report.attention)},
               {"causal", toString(causalOf(report.attention))}};
  if (problem.block_mask.exists())
    json["block_mask"] = toString(problem.block_mask.source);
  if (problem.deterministic)
    json["deterministic"] = true;
  if (problem.diagonal_offset)
    json["diagonal_offset"] = report.attention.diagonal_offset;
  if (problem.dropout_p != 0)
    json["dropout_p"] = problem.dropout_p;
  if (problem.sinks)
    json["sinks"] = true;
  if (report.attention.variant)
    json["variant"] = report.attention.variant->name;
  json["compile_ms"] = report.compile_ms;
  json["compilations"] = report.compilations;
  json["forward"] = forwardOf(report);
  if (report.backward_ms)
    json["backward"] = backwardOf(report);
  if (report.exploration)
    json["simt"] = simtOf(*report.exploration);
  if (report.reruns)
    json["reruns"] = toJson(*report.reruns);
  return json.dump(2) + "\n";
}

} // namespace tegula::tools
