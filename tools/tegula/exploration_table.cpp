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

/// Returns the mutants by what has become of them, and the launches that later ones need.
static std::string mutantTable(const Exploration &exploration) {
  std::string text = fmt::format("Of {} mutants {} were found out, and {} were not reached\n",
                                 exploration.mutants_total + int64_t(exploration.unreached.size()),
                                 exploration.mutants_killed, exploration.unreached.size());
  for (size_t n = 1; n < exploration.launches.size(); ++n)
    if (const ExploredLaunch &launch = exploration.launches[n]; launch.killed > 0)
      text += fmt::format("  {} of them first with {}\n", launch.killed, launch.name);
  for (const std::string &mutant : exploration.survivors)
    text += "  survived: " + mutant + "\n";
  for (const std::string &mutant : exploration.unreached)
    text += "  not reached: " + mutant + "\n";
  for (const std::string &launch : exploration.left_out)
    text += "  not launched: " + launch + "\n";
  if (exploration.unreached.empty())
    return text;
  text += "None of these launches came to what was not reached. Give sizes or scalars that lead to its lines:\n";
  for (const ExploredLaunch &launch : exploration.launches)
    text += "  " + launch.name + "\n";
  return text;
}

std::string toTable(const Exploration &exploration) {
  std::string text = fmt::format("\nUnder {} orders of lanes: {} errors, {} results that differ from the first\n",
                                 exploration.schedules, exploration.findings.size(), exploration.different_results);
  for (const SimtFinding &finding : exploration.findings)
    text += "  " + finding.message + "\n";
  if (!exploration.launches.empty())
    text += mutantTable(exploration);
  return exploration.traffic.empty() ? text : text + trafficTable(exploration.traffic);
}

} // namespace tegula::tools
