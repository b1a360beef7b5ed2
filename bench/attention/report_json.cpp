// SPDX-License-Identifier: MIT
#include "bench/attention/report.h"

#include <nlohmann/json.hpp>

namespace tegula::bench {
namespace {

using Json = nlohmann::ordered_json;

void put(Json &json, const char *name, const std::optional<double> &value) {
  if (value)
    json[name] = *value;
}

std::optional<double> optionalNumber(const Json &json, const char *name) {
  return json.contains(name) ? std::optional(json[name].get<double>()) : std::nullopt;
}

Json toJson(const Row &row) {
  Json json = {{"pass", row.pass},   {"algorithm", row.algorithm}, {"head_dim", row.head_dim}, {"causal", row.causal},
               {"batch", row.batch}, {"heads", row.heads},         {"seqlen", row.seqlen}};
  if (!row.variant.empty())
    json["variant"] = row.variant;
  if (!row.error.empty()) {
    json["error"] = row.error;
    return json;
  }
  json["ms"] = row.ms;
  json["tflops"] = row.tflops;
  put(json, "gigabytes", row.gigabytes);
  put(json, "clock_mhz", row.clock_mhz);
  put(json, "watts", row.watts);
  return json;
}

Row rowOf(const Json &json) {
  return {.pass = json.at("pass"),
          .algorithm = json.at("algorithm"),
          .head_dim = json.at("head_dim"),
          .causal = json.at("causal"),
          .batch = json.at("batch"),
          .heads = json.at("heads"),
          .seqlen = json.at("seqlen"),
          .variant = json.value("variant", ""),
          .ms = json.value("ms", 0.0),
          .tflops = json.value("tflops", 0.0),
          .gigabytes = optionalNumber(json, "gigabytes"),
          .clock_mhz = optionalNumber(json, "clock_mhz"),
          .watts = optionalNumber(json, "watts"),
          .error = json.value("error", "")};
}

} // namespace

std::string toJson(const Report &report) {
  Json limits = Json::array(), rows = Json::array();
  for (const MachineLimit &limit : report.limits)
    limits.push_back({{"name", limit.name}, {"value", limit.value}, {"unit", limit.unit}});
  for (const Row &row : report.rows)
    rows.push_back(toJson(row));
  Json json = {{"device", report.device}, {"dtype", report.dtype}, {"tokens", report.tokens},
               {"hidden", report.hidden}, {"limits", limits},      {"rows", rows}};
  return json.dump(2) + "\n";
}

Expected<Report> parseReport(const std::string &text) {
  try {
    Json json = Json::parse(text);
    Report report{.device = json.at("device"),
                  .dtype = json.at("dtype"),
                  .tokens = json.at("tokens"),
                  .hidden = json.at("hidden")};
    for (const Json &limit : json.at("limits"))
      report.limits.push_back({limit.at("name"), limit.at("value"), limit.at("unit")});
    for (const Json &row : json.at("rows"))
      report.rows.push_back(rowOf(row));
    return report;
  } catch (const nlohmann::json::exception &error) {
    return Status(ErrorCode::invalid_argument, error.what());
  }
}

} // namespace tegula::bench
