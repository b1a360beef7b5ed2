// SPDX-License-Identifier: MIT
#include "messages.h"
#include "store_files.h"
#include "tegula/tuner.h"

namespace tegula {

using tuning::Json;
using tuning::kFormat;

namespace {

Json toJson(const Candidate &c) {
  Json json = {{"schedule", toString(c.schedule)}, {"state", toString(c.state)}};
  if (!c.why.empty())
    json["why"] = c.why;
  if (c.model_cost > 0)
    json["model_cost"] = c.model_cost;
  if (c.registers > 0)
    json.update({{"registers", c.registers}, {"spill_bytes", c.spill_bytes}, {"shared_bytes", c.shared_bytes}});
  if (c.error_ratio > 0)
    json["error_ratio"] = c.error_ratio;
  if (c.timed())
    json.update({{"ms", c.ms}, {"fastest_ms", c.fastest_ms}, {"samples", c.samples}});
  if (c.clock_mhz)
    json["clock_mhz"] = *c.clock_mhz;
  if (c.watts)
    json["watts"] = *c.watts;
  return json;
}

/// Parses a candidate. parseTuning catches the exceptions.
Candidate candidateOf(const Json &json) {
  Expected<Schedule> schedule = parseSchedule(json.at("schedule").get<std::string>());
  std::optional<CandidateState> state = parseCandidateState(json.at("state").get<std::string>());
  if (!schedule || !state)
    throw Json::other_error::create(500, "a candidate has no schedule or an unknown state", &json);
  return {.schedule = *schedule,
          .state = *state,
          .why = json.value("why", ""),
          .model_cost = json.value("model_cost", 0.0),
          .registers = json.value("registers", 0),
          .spill_bytes = json.value("spill_bytes", 0),
          .shared_bytes = json.value("shared_bytes", int64_t(0)),
          .error_ratio = json.value("error_ratio", 0.0),
          .ms = json.value("ms", 0.0),
          .fastest_ms = json.value("fastest_ms", 0.0),
          .samples = json.value("samples", 0)};
}

/// Returns the class of problems and shapes that the result serves. Hosts look for it.
Json classOf(const TuningTask &task) {
  const ShapeClass shape = shapeClass(task.shape);
  return {{"program", task.program},    {"problem", problemClass(task.problem)},
          {"heads", shape.heads},       {"query_heads_per_kv_head", shape.query_heads_per_kv_head},
          {"seqlen_q", shape.seqlen_q}, {"seqlen_k", shape.seqlen_k}};
}

Json indexOf(const std::optional<size_t> &index) { return index ? Json(*index) : Json(); }

std::optional<size_t> indexOf(const Json &json, size_t size) {
  if (json.is_null())
    return std::nullopt;
  if (json.get<size_t>() >= size)
    throw Json::other_error::create(500, "the best candidate is not among them", &json);
  return json.get<size_t>();
}

} // namespace

std::string toJson(const Tuning &tuning) {
  const TuningDevice &machine = tuning.machine;
  Json candidates = Json::array();
  for (const Candidate &candidate : tuning.candidates)
    candidates.push_back(toJson(candidate));
  Json json = {{"format", kFormat},
               {"class", classOf(tuning.task)},
               {"task", tuning::toJson(tuning.task)},
               {"target", machine.target.name},
               {"arch", machine.target.arch},
               {"device", machine.device},
               {"driver", machine.driver},
               {"compiler", machine.compiler},
               {"complete", tuning.complete},
               {"seconds", tuning.seconds},
               {"best", indexOf(tuning.best)}};
  if (const Candidate *winner = tuning.winner())
    json.update({{"schedule", toString(winner->schedule)}, {"ms", winner->ms}});
  if (tuning.exhaustive)
    json["exhaustive"] = {{"timed", tuning.exhaustive->timed}, {"best", indexOf(tuning.exhaustive->best)}};
  json["candidates"] = candidates;
  return json.dump(1) + "\n";
}

Expected<Tuning> parseTuning(const std::string &text) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != kFormat)
      return Status(ErrorCode::invalid_argument, "it has another format");
    Tuning tuning{.task = tuning::taskOf(json.at("task")),
                  .machine = {.target = {json.at("target"), json.at("arch"), ""},
                              .device = json.at("device"),
                              .driver = json.at("driver"),
                              .compiler = json.at("compiler")},
                  .complete = json.at("complete"),
                  .seconds = json.at("seconds")};
    for (const Json &candidate : json.at("candidates"))
      tuning.candidates.push_back(candidateOf(candidate));
    tuning.best = indexOf(json.at("best"), tuning.candidates.size());
    if (json.contains("exhaustive"))
      tuning.exhaustive = {.timed = json["exhaustive"].at("timed"),
                           .best = indexOf(json["exhaustive"].at("best"), tuning.candidates.size())};
    return tuning;
  } catch (const nlohmann::json::exception &error) {
    return Status(ErrorCode::invalid_argument, error.what());
  }
}

} // namespace tegula
