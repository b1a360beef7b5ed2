// SPDX-License-Identifier: MIT
#include "store_files.h"
#include "task_json.h"
#include "tegula/search.h"

namespace tegula {
namespace {

using tuning::Json;

Json toJson(const Candidate &c) {
  Json json = {{"schedule", toString(c.schedule)}, {"state", toString(c.state)}};
  if (!c.tunables.empty())
    json["tunables"] = tuning::toJson(c.tunables);
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

Json toJson(const ProgramIdentity &program) {
  return {{"name", program.name}, {"digest", program.digest}, {"value", program.value}};
}

ProgramIdentity programOf(const Json &json) {
  return {.name = json.at("name"), .digest = json.at("digest"), .value = json.at("value")};
}

/// Appends the program of a candidate, if there are several.
void appendProgram(Json &json, const Tuning &tuning, const Candidate &candidate) {
  if (const ProgramIdentity *program = tuning.programOf(candidate))
    json["program"] = program->name;
}

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
          .samples = json.value("samples", 0),
          .tunables = tuning::sizesOf(json.value("tunables", Json::object()))};
}

Json indexOf(const std::optional<size_t> &index) { return index ? Json(*index) : Json(); }

std::optional<size_t> indexOf(const Json &json, size_t size) {
  if (json.is_null())
    return std::nullopt;
  if (json.get<size_t>() >= size)
    throw Json::other_error::create(500, "the best candidate is not among them", &json);
  return json.get<size_t>();
}

Tuning tuningOf(const Json &json) {
  if (json.at("format") != tuning::kFormat)
    throw Json::other_error::create(500, "it has another format", &json);
  const Json &of = json.at("class");
  Tuning result{.kernel = of.at("kernel"),
                .kernel_class = of.at("kernel_class"),
                .sizes = tuning::sizesOf(of.at("sizes")),
                .task = json.contains("task") ? json["task"].dump() : "",
                .machine = {.target = {json.at("target"), json.at("arch"), ""},
                            .device = json.at("device"),
                            .driver = json.at("driver"),
                            .compiler = json.at("compiler")},
                .complete = json.at("complete"),
                .seconds = json.at("seconds")};
  for (const Json &program : json.value("programs", Json::array()))
    result.programs.push_back(programOf(program));
  for (const Json &candidate : json.at("candidates"))
    result.candidates.push_back(candidateOf(candidate));
  result.best = indexOf(json.at("best"), result.candidates.size());
  if (json.contains("exhaustive"))
    result.exhaustive = {.timed = json["exhaustive"].at("timed"),
                         .best = indexOf(json["exhaustive"].at("best"), result.candidates.size())};
  return result;
}

} // namespace

std::string toJson(const Tuning &tuning) {
  // Hosts look for the class.
  Json json = {
      {"format", tuning::kFormat},
      {"class",
       {{"kernel", tuning.kernel}, {"kernel_class", tuning.kernel_class}, {"sizes", tuning::toJson(tuning.sizes)}}}};
  if (!tuning.task.empty())
    json["task"] = Json::parse(tuning.task);
  const TuningDevice &machine = tuning.machine;
  json.update({{"target", machine.target.name},
               {"arch", machine.target.arch},
               {"device", machine.device},
               {"driver", machine.driver},
               {"compiler", machine.compiler},
               {"complete", tuning.complete},
               {"seconds", tuning.seconds},
               {"best", indexOf(tuning.best)}});
  if (const Candidate *winner = tuning.winner()) {
    json["schedule"] = toString(winner->schedule);
    if (!winner->tunables.empty())
      json["configuration"] = toString(winner->configuration());
    appendProgram(json, tuning, *winner);
    json["ms"] = winner->ms;
  }
  for (const ProgramIdentity &program : tuning.programs)
    json["programs"].push_back(toJson(program));
  if (tuning.exhaustive)
    json["exhaustive"] = {{"timed", tuning.exhaustive->timed}, {"best", indexOf(tuning.exhaustive->best)}};
  Json candidates = Json::array();
  for (const Candidate &candidate : tuning.candidates) {
    candidates.push_back(toJson(candidate));
    appendProgram(candidates.back(), tuning, candidate);
  }
  json["candidates"] = candidates;
  return json.dump(1) + "\n";
}

Expected<Tuning> parseTuning(const std::string &text) {
  try {
    return tuningOf(Json::parse(text));
  } catch (const nlohmann::json::exception &error) {
    return Status(ErrorCode::invalid_argument, error.what());
  }
}

} // namespace tegula
