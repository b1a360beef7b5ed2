// SPDX-License-Identifier: MIT
#include "exploration_table.h"

#include <fmt/format.h>

namespace tegula::tools {

static std::string trafficTable(const std::vector<SimtTraffic> &rows) {
  std::string text = fmt::format("\n  {:<34} {:>10} {:>13} {:>11} {:>7}\n", "instruction", "by warps", "transactions",
                                 "at least", "ratio");
  for (const SimtTraffic &row : rows)
    text += fmt::format("  {:<34} {:>10} {:>13} {:>11} {:>7.2f}  {}\n",
                        row.site.instruction + (row.global ? " (sectors)" : " (banks)"), row.requests, row.transactions,
                        row.ideal, double(row.transactions) / double(row.ideal), row.site.location);
  return text;
}

std::string toTable(const Exploration &exploration) {
  std::string text = fmt::format("\nUnder {} orders of lanes: {} errors, {} results that differ from the first\n",
                                 exploration.schedules, exploration.findings.size(), exploration.different_results);
  for (const SimtFinding &finding : exploration.findings)
    text += "  " + finding.message + "\n";
  if (exploration.mutants_total > 0)
    text += fmt::format("Of {} mutants {} were found out\n", exploration.mutants_total, exploration.mutants_killed);
  for (const std::string &mutant : exploration.survivors)
    text += "  survived: " + mutant + "\n";
  for (const std::string &mutant : exploration.unreached)
    text += "  not reached: " + mutant + "\n";
  return exploration.traffic.empty() ? text : text + trafficTable(exploration.traffic);
}

} // namespace tegula::tools
