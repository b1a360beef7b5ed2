// SPDX-License-Identifier: MIT
// Figures as a page for a browser: tables whose cells have the colours of their values. The page is one file without
// scripts and needs no network. The browser lays the tables out, so that no text is cut off.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tegula::tools {

/// A cell of a table.
struct HeatCell {
  std::string row, column; ///< Two of the names of the map's axes.
  std::string text;
  std::string hint = {};                 ///< Shown when the mouse is over the cell.
  std::optional<double> quality = {};    ///< From 0, the worst colour, to 1, the best. Without it the cell is grey.
  bool is_rough = false, chosen = false; ///< Printed in italics; framed.
};

struct HeatPanel {
  std::string title;
  std::vector<HeatCell> cells = {};
};

/// An axis of all panels: what it shows, and its values in their order.
struct HeatAxis {
  std::string name;
  std::vector<std::string> values = {};
};

struct HeatMap {
  std::string title;
  std::vector<std::string> notes = {}; ///< Lines below the title: where it was measured, what marks mean.
  std::string unit;                    ///< The meaning of the numbers, such as "ms of a launch, median".
  /// The numbers at the ends of the colour scale, with their unit. Empty if no cell has a quality: there is no scale.
  std::string worst, best;
  HeatAxis rows, columns;
  std::vector<HeatPanel> panels = {};
};

/// Returns the page.
std::string toHtml(const HeatMap &map);

} // namespace tegula::tools
