// SPDX-License-Identifier: MIT
#include "result_json.h"
#include "store_files.h"
#include "tegula/plan_tuner.h"
#include "tegula/tuner.h"

namespace tegula {

using tuning::Json;
using tuning::kFormat;

namespace {

/// Returns the class of problems and shapes that the result serves. Hosts look for it.
Json classOf(const TuningTask &task) {
  const ShapeClass shape = shapeClass(task.shape);
  return {{"program", task.program},    {"problem", problemClass(task.problem)},
          {"heads", shape.heads},       {"query_heads_per_kv_head", shape.query_heads_per_kv_head},
          {"seqlen_q", shape.seqlen_q}, {"seqlen_k", shape.seqlen_k}};
}

} // namespace

std::string toJson(const Tuning &tuning) {
  Json json = {{"format", kFormat}, {"class", classOf(tuning.task)}, {"task", tuning::toJson(tuning.task)}};
  tuning::appendResult(json, tuning);
  return json.dump(1) + "\n";
}

std::string toJson(const PlanTuning &tuning) {
  Json json = {
      {"format", kFormat},
      {"class",
       {{"kernel", tuning.kernel}, {"kernel_class", tuning.kernel_class}, {"sizes", tuning::toJson(tuning.sizes)}}}};
  tuning::appendResult(json, tuning);
  return json.dump(1) + "\n";
}

Expected<Tuning> parseTuning(const std::string &text) {
  try {
    const Json json = Json::parse(text);
    return Tuning{tuning::resultOf(json), tuning::taskOf(json.at("task"))};
  } catch (const nlohmann::json::exception &error) {
    return Status(ErrorCode::invalid_argument, error.what());
  }
}

Expected<PlanTuning> parsePlanTuning(const std::string &text) {
  try {
    const Json json = Json::parse(text);
    const Json &of = json.at("class");
    return PlanTuning{tuning::resultOf(json), of.at("kernel"), of.at("kernel_class"), tuning::sizesOf(of.at("sizes"))};
  } catch (const nlohmann::json::exception &error) {
    return Status(ErrorCode::invalid_argument, error.what());
  }
}

} // namespace tegula
