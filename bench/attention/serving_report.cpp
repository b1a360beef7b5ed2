// SPDX-License-Identifier: MIT
#include "bench/attention/serving.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tegula::bench {
namespace {

std::string line(const ServingRow &row, size_t width) {
  const std::string name = fmt::format("{:<{}}  {:<8}", row.problem, width, row.pass);
  if (!row.error.empty())
    return fmt::format("{}  {}\n", name, row.error);
  return fmt::format("{} {:>12.1f} {:>12.3f} {:>16.3f} {:>6.2f}\n", name, 1e3 * row.ms, row.speed, row.compared,
                     row.speed / row.compared);
}

nlohmann::ordered_json jsonOf(const ServingRow &row) {
  nlohmann::ordered_json json = {{"problem", row.problem}, {"pass", row.pass}};
  if (!row.error.empty()) {
    json["error"] = row.error;
    return json;
  }
  json.update({{"ms", row.ms}, {"speed", row.speed}, {"compared", row.compared}, {"part", row.speed / row.compared}});
  return json;
}

} // namespace

std::string toTable(const ServingReport &report) {
  size_t width = 0;
  for (const ServingRow &row : report.rows)
    width = std::max(width, row.problem.size());
  std::string text = fmt::format("{}, {}\n{}\n\n", report.device, report.dtype, report.shape);
  text += fmt::format("{:<{}}  {:<8} {:>12} {:>12} {:>16} {:>6}\n", "sequences", width, "pass", "us", report.unit,
                      report.compared, "part");
  for (const ServingRow &row : report.rows)
    text += line(row, width);
  return text;
}

std::string toJson(const ServingReport &report) {
  nlohmann::ordered_json json = {{"device", report.device},     {"dtype", report.dtype},
                                 {"shape", report.shape},       {"unit", report.unit},
                                 {"compared", report.compared}, {"rows", nlohmann::ordered_json::array()}};
  for (const ServingRow &row : report.rows)
    json["rows"].push_back(jsonOf(row));
  return json.dump(2) + "\n";
}

} // namespace tegula::bench
