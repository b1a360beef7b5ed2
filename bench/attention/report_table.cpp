// SPDX-License-Identifier: MIT
#include "bench/attention/report.h"
#include "bench/attention/report_groups.h"
#include "bench/attention/variants.h"

#include <fmt/format.h>

namespace tegula::bench {
namespace {

std::string optionalColumn(const std::optional<double> &value, int width, int digits) {
  return value ? fmt::format(" {:{}.{}f}", *value, width, digits) : fmt::format(" {:>{}}", "-", width);
}

std::string line(const Row &row) {
  std::string text =
      fmt::format("{:<8} {:>4} {:<14} {:>6} {:>5} {:>5} {:<17}", row.pass, row.head_dim,
                  row.variant.empty() ? row.causal : row.variant, row.seqlen, row.batch, row.heads, row.algorithm);
  if (!row.error.empty())
    return text + " " + row.error + "\n";
  return text + fmt::format(" {:>10.3f} {:>#8.4g}", row.ms, row.tflops) + optionalColumn(row.gigabytes, 9, 2) +
         optionalColumn(row.clock_mhz, 7, 0) + optionalColumn(row.watts, 6, 0) + "\n";
}

std::string fullTable(const Report &report) {
  std::string text =
      "pass        D mask                N batch heads algorithm                 ms  TFLOP/s  GB moved SM "
      "MHz  watts\n";
  for (const Row &row : report.rows)
    text += line(row);
  return text;
}

std::string shortLine(const Report &report, const Group &group, const std::string &algorithm,
                      const std::vector<int64_t> &lengths) {
  std::string text = fmt::format("  {:<18}", algorithm);
  for (int64_t length : lengths) {
    const Row *row = findRow(report.rows, group, algorithm, length);
    text += row && row->error.empty() ? fmt::format(" {:>#8.4g}", row->tflops) : fmt::format(" {:>8}", "-");
  }
  return text + "\n";
}

std::string shortTable(const Report &report) {
  std::vector<int64_t> lengths = lengthsOf(report.rows);
  std::string text = fmt::format("\n{:<20}", "TFLOP/s");
  for (int64_t length : lengths)
    text += fmt::format(" {:>8}", length);
  text += "\n";
  for (const Group &group : distinct(report.rows, groupOf)) {
    text += titleOf(group) + "\n";
    for (const std::string &algorithm : distinct(report.rows, [](const Row &row) { return row.algorithm; }))
      if (std::any_of(lengths.begin(), lengths.end(),
                      [&](int64_t length) { return findRow(report.rows, group, algorithm, length) != nullptr; }))
        text += shortLine(report, group, algorithm, lengths);
  }
  return text;
}

/// Returns the cost of each variant over plain attention with as many blocks, and its ratio to other implementations.
std::string variantTable(const Report &report) {
  std::string text;
  for (const Group &group : distinct(report.rows, groupOf))
    for (int64_t length : lengthsOf(report.rows)) {
      const Row *modified = findRow(report.rows, group, "flash2", length);
      const Row *plain = findRow(report.rows, group, std::string(kUnmodified), length);
      if (!modified || !plain || !modified->error.empty() || !plain->error.empty())
        continue;
      text += fmt::format("{:<40} {:>6} {:>10.3f} {:>10.3f} {:>+7.1f} %", titleOf(group), length, modified->ms,
                          plain->ms, 100 * (modified->ms / plain->ms - 1));
      const Row *flex = findRow(report.rows, group, "flex-attention", length);
      text +=
          flex && flex->error.empty() ? fmt::format(" {:>10.3f} {:>6.2f}\n", flex->ms, flex->ms / modified->ms) : "\n";
    }
  const char *head =
      "\nwhat variants cost                            N         ms unmodified      cost  FlexAtt.  ratio\n";
  return text.empty() ? text : head + text;
}

} // namespace

std::string toTable(const Report &report) {
  std::string text = fmt::format("{}; {}, {} tokens a batch, hidden size {}; medians\n", report.device, report.dtype,
                                 report.tokens, report.hidden);
  for (const MachineLimit &limit : report.limits)
    text += fmt::format("  {:<32} {:>#8.4g} {}\n", limit.name, limit.value, limit.unit);
  return text + "\n" + fullTable(report) + shortTable(report) + variantTable(report);
}

} // namespace tegula::bench
