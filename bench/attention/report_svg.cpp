// SPDX-License-Identifier: MIT
#include "bench/attention/report.h"
#include "bench/attention/report_groups.h"

#include <cmath>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

constexpr double kPanelWidth = 300, kPanelHeight = 210, kLeft = 44, kTop = 26, kRight = 12, kBottom = 28;
constexpr double kLegendHeight = 54;
constexpr int kColumns = 4;
// Colours that colour-blind readers can tell apart (Okabe and Ito 2008).
constexpr const char *kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

std::string text(double x, double y, const char *anchor, const std::string &words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string escaped(const std::string &words) {
  std::string result;
  for (char c : words)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

class Chart {
public:
  explicit Chart(const Report &report)
      : report_(report), groups_(distinct(report.rows, groupOf)), lengths_(lengthsOf(report.rows)),
        algorithms_(distinct(report.rows, [](const Row &row) { return row.algorithm; })) {
    for (const Row &row : report.rows)
      top_ = std::max(top_, row.tflops);
  }

  std::string draw() const {
    size_t panel_rows = (groups_.size() + kColumns - 1) / kColumns;
    std::string svg =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
                    "{0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                    kColumns * kPanelWidth, kLegendHeight + double(panel_rows) * kPanelHeight);
    svg += legend();
    for (size_t n = 0; n < groups_.size(); ++n)
      svg += fmt::format("<g transform=\"translate({},{})\">\n{}</g>\n", double(n % kColumns) * kPanelWidth,
                         kLegendHeight + double(n / kColumns) * kPanelHeight, panel(groups_[n]));
    return svg + "</svg>\n";
  }

private:
  double x(int64_t length) const {
    double low = std::log2(double(lengths_.front())), high = std::log2(double(lengths_.back()));
    double share = high > low ? (std::log2(double(length)) - low) / (high - low) : 0.5;
    return kLeft + share * (kPanelWidth - kLeft - kRight);
  }
  double y(double tflops) const {
    return kPanelHeight - kBottom - (top_ > 0 ? tflops / top_ : 0) * (kPanelHeight - kTop - kBottom);
  }

  std::string legend() const {
    std::string svg = text(kLeft, 18, "start",
                           escaped(fmt::format("TFLOP/s over sequence length: {}, {}", report_.device, report_.dtype)));
    for (size_t n = 0; n < algorithms_.size(); ++n) {
      double at = kLeft + 120 * double(n);
      svg += fmt::format("<rect x=\"{}\" y=\"29\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", at, colour(n));
      svg += text(at + 19, 36, "start", escaped(algorithms_[n]));
    }
    return svg;
  }

  static const char *colour(size_t n) { return kColours[n % std::size(kColours)]; }

  std::string panel(const Group &group) const {
    std::string svg = text(kLeft, 14, "start", titleOf(group)) + grid();
    for (size_t n = 0; n < algorithms_.size(); ++n)
      svg += line(group, algorithms_[n], colour(n));
    return svg;
  }

  std::string grid() const {
    std::string svg;
    for (int part = 0; part <= 4; ++part) {
      double value = top_ * part / 4;
      svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft,
                         kPanelWidth - kRight, y(value), y(value));
      svg += text(kLeft - 5, y(value) + 4, "end", fmt::format("{:.3g}", value));
    }
    for (int64_t length : lengths_)
      svg += text(x(length), kPanelHeight - kBottom + 15, "middle",
                  length % 1024 == 0 ? fmt::format("{}k", length / 1024) : fmt::format("{}", length));
    return svg;
  }

  std::string line(const Group &group, const std::string &algorithm, const char *colour) const {
    std::string points, dots;
    for (int64_t length : lengths_)
      if (const Row *row = findRow(report_.rows, group, algorithm, length); row && row->error.empty()) {
        points += fmt::format("{:.1f},{:.1f} ", x(length), y(row->tflops));
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x(length), y(row->tflops),
                            colour);
      }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points, colour) +
           dots;
  }

  const Report &report_;
  std::vector<Group> groups_;
  std::vector<int64_t> lengths_;
  std::vector<std::string> algorithms_;
  double top_ = 0;
};

} // namespace

std::string toSvg(const Report &report) { return Chart(report).draw(); }

} // namespace tegula::bench
