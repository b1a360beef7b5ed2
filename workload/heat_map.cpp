// SPDX-License-Identifier: MIT
#include "workload/heat_map.h"

#include "workload/markup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

struct Colour {
  double red, green, blue;
};

/// The colours from the worst to the best: dark blue to yellow (the ends and the middle of viridis).
constexpr Colour kWorst = {68, 1, 84}, kMiddle = {33, 145, 140}, kBest = {253, 231, 37};
/// Text is white on colours of less quality than this.
constexpr double kDark = 0.6;

constexpr const char *kStyle = R"(* { print-color-adjust: exact; }
body { font: 14px sans-serif; margin: 1.5em; color: #222; background: #fff; }
h1 { font-size: 1.2em; }
.panels { display: flex; flex-wrap: wrap; gap: 1.5em 2em; align-items: flex-start; }
table { border-collapse: separate; border-spacing: 2px; }
caption { text-align: left; font-weight: bold; padding-bottom: 0.3em; }
th { font-weight: normal; padding: 0.2em 0.5em; white-space: nowrap; }
th.axis { font-style: italic; color: #555; }
td { padding: 0.35em 0.6em; text-align: right; white-space: nowrap; }
td.none { background: #eee; color: #666; }
td.rough { font-style: italic; }
td.chosen { outline: 3px solid #d55e00; outline-offset: -1px; }
.scale { display: flex; align-items: center; gap: 0.6em; margin: 1em 0; }
.bar { width: 16em; height: 1em; }
)";

std::string css(const Colour &colour) {
  return fmt::format("rgb({:.0f},{:.0f},{:.0f})", colour.red, colour.green, colour.blue);
}

Colour colourOf(double quality) {
  const bool isLow = quality < 0.5;
  const Colour &from = isLow ? kWorst : kMiddle, &to = isLow ? kMiddle : kBest;
  const double part = std::clamp(isLow ? 2 * quality : 2 * quality - 1, 0.0, 1.0);
  return {std::lerp(from.red, to.red, part), std::lerp(from.green, to.green, part),
          std::lerp(from.blue, to.blue, part)};
}

std::string cellOf(const HeatCell *cell) {
  if (cell == nullptr)
    return "<td></td>";
  const std::string classes =
      fmt::format("{}{}{}", cell->quality ? "" : "none ", cell->is_rough ? "rough " : "", cell->chosen ? "chosen" : "");
  const std::string style = cell->quality
                                ? fmt::format(" style=\"background:{};color:{}\"", css(colourOf(*cell->quality)),
                                              *cell->quality < kDark ? "#fff" : "#000")
                                : "";
  return fmt::format("<td class=\"{}\"{} title=\"{}\">{}</td>", classes, style, escaped(cell->hint),
                     escaped(cell->text));
}

const HeatCell *find(const HeatPanel &panel, const std::string &row, const std::string &column) {
  const auto found =
      std::ranges::find_if(panel.cells, [&](const HeatCell &cell) { return cell.row == row && cell.column == column; });
  return found == panel.cells.end() ? nullptr : &*found;
}

std::string headOf(const HeatMap &map) {
  std::string names;
  for (const std::string &column : map.columns.values)
    names += fmt::format("<th scope=\"col\">{}</th>", escaped(column));
  return fmt::format("<thead>\n<tr><td></td><th class=\"axis\" colspan=\"{}\">{}</th></tr>\n"
                     "<tr><th class=\"axis\">{}</th>{}</tr>\n</thead>\n",
                     std::max<size_t>(map.columns.values.size(), 1), escaped(map.columns.name), escaped(map.rows.name),
                     names);
}

std::string tableOf(const HeatMap &map, const HeatPanel &panel) {
  std::string rows;
  for (const std::string &row : map.rows.values) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(row));
    for (const std::string &column : map.columns.values)
      rows += cellOf(find(panel, row, column));
    rows += "</tr>\n";
  }
  return fmt::format("<table>\n<caption>{}</caption>\n{}<tbody>\n{}</tbody>\n</table>\n", escaped(panel.title),
                     headOf(map), rows);
}

std::string scaleOf(const HeatMap &map) {
  if (map.best.empty())
    return "";
  return fmt::format("<div class=\"scale\"><span>{}:</span><span>{}</span>"
                     "<span class=\"bar\" style=\"background:linear-gradient(to right,{},{},{})\"></span>"
                     "<span>{}</span></div>\n",
                     escaped(map.unit), escaped(map.worst), css(kWorst), css(kMiddle), css(kBest), escaped(map.best));
}

} // namespace

std::string toHtml(const HeatMap &map) {
  std::string notes, panels;
  for (const std::string &note : map.notes)
    notes += fmt::format("<p>{}</p>\n", escaped(note));
  for (const HeatPanel &panel : map.panels)
    panels += tableOf(map, panel);
  return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>{0}</title>\n"
                     "<style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}{3}<div class=\"panels\">\n{4}</div>\n"
                     "</body>\n</html>\n",
                     escaped(map.title), kStyle, notes, scaleOf(map), panels);
}

} // namespace tegula::tools
