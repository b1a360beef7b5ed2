// SPDX-License-Identifier: MIT
#include "bench/attention/report.h"
#include "bench/attention/report_groups.h"
#include "workload/heat_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::HeatCell;
using tools::HeatPanel;

std::string lengthText(int64_t length) {
  return length % 1024 == 0 ? fmt::format("{}k", length / 1024) : std::to_string(length);
}

HeatCell cellOf(const Row &row, double most) {
  HeatCell cell{.row = row.algorithm, .column = lengthText(row.seqlen), .text = "-", .hint = row.error};
  if (!row.error.empty())
    return cell;
  cell.text = fmt::format("{:#.4g}", row.tflops);
  cell.hint = fmt::format("{:.3f} ms, batch {}, heads {}", row.ms, row.batch, row.heads);
  cell.quality = most > 0 ? std::clamp(row.tflops / most, 0.0, 1.0) : 0;
  return cell;
}

std::vector<std::string> notesOf(const Report &report) {
  std::vector<std::string> notes = {
      fmt::format("{}, {} tokens of a batch, {} numbers of a token", report.device, report.tokens, report.hidden)};
  for (const MachineLimit &limit : report.limits)
    notes.push_back(fmt::format("at most {:.4g} {}: {}", limit.value, limit.unit, limit.name));
  return notes;
}

} // namespace

std::string toHtml(const Report &report) {
  double most = 0;
  for (const Row &row : report.rows)
    most = std::max(most, row.error.empty() ? row.tflops : 0);
  tools::HeatMap map{
      .title = fmt::format("Attention, {}: speed over the sequence length", report.dtype),
      .notes = notesOf(report),
      .unit = "TFLOP/s, more is better",
      .worst = "0",
      .best = fmt::format("{:.4g} TFLOP/s", most),
      .rows = {.name = "implementation", .values = distinct(report.rows, [](const Row &row) { return row.algorithm; })},
      .columns = {.name = "queries and keys"}};
  for (const int64_t length : lengthsOf(report.rows))
    map.columns.values.push_back(lengthText(length));
  for (const Group &group : distinct(report.rows, groupOf)) {
    HeatPanel panel{.title = titleOf(group)};
    for (const Row &row : report.rows)
      if (groupOf(row) == group)
        panel.cells.push_back(cellOf(row, most));
    map.panels.push_back(std::move(panel));
  }
  return toHtml(map);
}

} // namespace tegula::bench
