// SPDX-License-Identifier: MIT
#include "tegula/plan_tuner.h"
#include "tegula/tuner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tegula {
namespace {

constexpr double kCellWidth = 58, kCellHeight = 30, kLeft = 46, kTop = 24, kGap = 26, kHeading = 44;
constexpr size_t kColumns = 3;

struct Colour {
  double red, green, blue;
};

/// The colours from the slowest to the fastest: dark blue to yellow (the ends and the middle of viridis).
constexpr Colour kSlow = {68, 1, 84}, kMiddle = {33, 145, 140}, kFast = {253, 231, 37};

double between(double a, double b, double share) { return a + share * (b - a); }

/// Returns the colour of a speed; `share` 0 is the slowest, 1 the fastest.
std::string colour(double share) {
  const Colour &from = share < 0.5 ? kSlow : kMiddle, &to = share < 0.5 ? kMiddle : kFast;
  double part = share < 0.5 ? 2 * share : 2 * share - 1;
  return fmt::format("rgb({:.0f},{:.0f},{:.0f})", between(from.red, to.red, part), between(from.green, to.green, part),
                     between(from.blue, to.blue, part));
}

std::string escaped(const std::string &words) {
  std::string result;
  for (char c : words)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string text(double x, double y, const char *anchor, const std::string &words, const char *more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(words));
}

/// The words of a plot.
struct Captions {
  std::string title;
  std::string rows, columns; ///< The names of the axes: fields of the schedule, or tunables. May be empty.
};

/// Returns the value of an axis, and takes it out of the configuration.
int64_t taken(Configuration &configuration, const std::string &axis) {
  const auto tunable = std::ranges::find(configuration.tunables, axis, &NamedSize::name);
  if (tunable != configuration.tunables.end()) {
    const int64_t value = tunable->value;
    configuration.tunables.erase(tunable);
    return value;
  }
  Schedule &schedule = configuration.schedule;
  return axis == "block_m"   ? std::exchange(schedule.block_m, 0)
         : axis == "block_n" ? std::exchange(schedule.block_n, 0)
                             : 0;
}

class Landscape {
public:
  Landscape(const SearchResult &tuning, Captions captions) : tuning_(tuning), captions_(std::move(captions)) {
    std::set<int64_t> rows, columns;
    for (const Candidate &c : tuning.candidates) {
      Configuration panel = c.configuration();
      const Cell cell{&c, taken(panel, captions_.rows), taken(panel, captions_.columns)};
      panels_[toString(panel)].push_back(cell);
      rows.insert(cell.row);
      columns.insert(cell.column);
      if (c.timed() && (best_ms_ == 0 || c.ms < best_ms_))
        best_ms_ = c.ms;
    }
    rows_.assign(rows.begin(), rows.end());
    columns_.assign(columns.begin(), columns.end());
  }

  std::string draw() const {
    double width = kLeft + kCellWidth * double(columns_.size()) + kGap;
    double height = kTop + kCellHeight * double(rows_.size()) + kGap;
    size_t across = std::min(kColumns, panels_.size());
    std::string svg =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                    "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
                    "fill=\"white\"/>\n",
                    double(across) * width, kHeading + double((panels_.size() + kColumns - 1) / kColumns) * height);
    svg += text(8, 18, "start",
                fmt::format("{} on {}: milliseconds by {} (down) and {} (across)", captions_.title,
                            tuning_.machine.device, captions_.rows, captions_.columns));
    svg += text(8, 34, "start", "grey: not timed; framed: chosen");
    size_t n = 0;
    for (const auto &[title, cells] : panels_) {
      svg += fmt::format("<g transform=\"translate({},{})\">\n{}</g>\n", double(n % kColumns) * width,
                         kHeading + double(n / kColumns) * height, panel(title, cells));
      ++n;
    }
    return svg + "</svg>\n";
  }

private:
  struct Cell {
    const Candidate *candidate;
    int64_t row, column;
  };

  template <class Values> static double place(const Values &values, int64_t value) {
    return double(std::find(values.begin(), values.end(), value) - values.begin());
  }

  std::string panel(const std::string &title, const std::vector<Cell> &cells) const {
    std::string svg = text(kLeft, 12, "start", title);
    for (int64_t block_m : rows_)
      svg += text(kLeft - 6, kTop + kCellHeight * (place(rows_, block_m) + 0.65), "end", std::to_string(block_m));
    for (int64_t block_n : columns_)
      svg += text(kLeft + kCellWidth * (place(columns_, block_n) + 0.5), kTop + kCellHeight * double(rows_.size()) + 14,
                  "middle", std::to_string(block_n));
    for (const Cell &cell : cells)
      svg += drawn(cell);
    return svg;
  }

  std::string drawn(const Cell &cell) const {
    const Candidate &c = *cell.candidate;
    double x = kLeft + kCellWidth * place(columns_, cell.column);
    double y = kTop + kCellHeight * place(rows_, cell.row);
    double share = c.timed() ? std::clamp(2 * best_ms_ / c.ms - 1, 0.0, 1.0) : 0; // Half speed is slowest.
    std::string fill = c.timed() ? colour(share) : "#ddd",
                words = c.timed() ? fmt::format("{:.4g}", c.ms) : std::string(toString(c.state));
    std::string why = c.why.empty() ? "" : ": " + c.why;
    return fmt::format(
               "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n",
               escaped(fmt::format("{} {}{}", toString(c.configuration()), toString(c.state), why)), x, y,
               kCellWidth - 2, kCellHeight - 2, fill,
               &c == tuning_.winner() ? " stroke=\"#d55e00\" stroke-width=\"3\"" : "") +
           text(x + kCellWidth / 2 - 1, y + kCellHeight / 2 + 3, "middle", words,
                c.timed() && share < 0.6 ? " fill=\"white\"" : " font-size=\"10\"") +
           "</g>\n";
  }

  const SearchResult &tuning_;
  const Captions captions_;
  std::map<std::string, std::vector<Cell>> panels_;
  std::vector<int64_t> rows_, columns_;
  double best_ms_ = 0;
};

} // namespace

std::string toSvg(const Tuning &tuning) {
  const std::string title = fmt::format("{} ({})", tuning.task.program, problemClass(tuning.task.problem));
  return Landscape(tuning, {title, "block_m", "block_n"}).draw();
}

std::string toSvg(const PlanTuning &tuning) {
  const Sizes tunables = tuning.candidates.empty() ? Sizes() : tuning.candidates.front().tunables;
  const auto axis = [&](size_t n) { return n < tunables.size() ? tunables[n].name : ""; };
  return Landscape(tuning, {tuning.kernel, axis(0), axis(1)}).draw();
}

} // namespace tegula
