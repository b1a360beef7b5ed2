// SPDX-License-Identifier: MIT
// The picture of toSvg(): text, so that the same tiles give the same file.
#include "tegula/variant_trial.h"
#include "workload/markup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tegula {
namespace {

constexpr double kSide = 240; ///< Length of the longer side of a panel, in pixels.
constexpr double kLeft = 10, kTop = 46, kGap = 30, kLegend = 30;

/// The scores of a tile that exist by the definition of the variant.
enum Content { none, some, all };

struct Kind {
  const char *colour, *meaning;
};
constexpr std::array<Kind, 3> kKinds = {
    {{"#d55e00", "visited, no score exists"}, {"#7fb3d5", "some scores exist"}, {"#1f4e79", "all scores exist"}}};

bool isDrawn(const VisitedTile &tile) { return tile.batch == 0 && tile.head == 0; }

Content contentOf(const VariantTrial &trial, const VisitedTiles &visited, const VisitedTile &tile) {
  const int64_t lastQuery = std::min(tile.query + visited.block_m, trial.shape.seqlen_q);
  const int64_t lastKey = std::min(tile.key + visited.block_n, trial.shape.seqlen_k);
  int64_t seen = 0, scores = 0;
  for (int64_t query = std::max<int64_t>(tile.query, 0); query < lastQuery; ++query)
    for (int64_t key = tile.key; key < lastKey; ++key, ++scores)
      seen += trial.sees({tile.batch, tile.head, query, key});
  return seen == 0 ? none : seen == scores ? all : some;
}

/// One pass of the first head. Its left upper corner is at `x` and kTop.
struct Panel {
  double x, scale; ///< `scale` is the number of pixels of a position.

  /// Returns the rectangle of a tile, cut off at the ends of the sequences, as a part of a path.
  std::string rectangle(const VariantTrial &trial, const VisitedTiles &visited, const VisitedTile &tile) const {
    const int64_t top = std::max<int64_t>(tile.query, 0);
    const int64_t bottom = std::min(tile.query + visited.block_m, trial.shape.seqlen_q);
    const int64_t right = std::min(tile.key + visited.block_n, trial.shape.seqlen_k);
    return fmt::format("M{:.5g} {:.5g}h{:.5g}v{:.5g}h{:.5g}z", x + scale * double(tile.key), kTop + scale * double(top),
                       scale * double(right - tile.key), scale * double(bottom - top),
                       -scale * double(right - tile.key));
  }

  std::string draw(const VariantTrial &trial, const VisitedTiles &visited, const std::string &caption) const {
    std::vector<VisitedTile> tiles;
    std::ranges::copy_if(visited.tiles, std::back_inserter(tiles), isDrawn);
    std::ranges::sort(tiles, {}, [](const VisitedTile &tile) { return std::pair(tile.query, tile.key); });
    std::array<std::string, kKinds.size()> paths;
    for (const VisitedTile &tile : tiles)
      paths[contentOf(trial, visited, tile)] += rectangle(trial, visited, tile);
    std::string svg = fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x, kTop - 8, caption);
    svg +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.5g}\" height=\"{:.5g}\" fill=\"#f4f4f4\" stroke=\"#999\"/>\n",
                    x, kTop, scale * double(trial.shape.seqlen_k), scale * double(trial.shape.seqlen_q));
    for (size_t kind = 0; kind < kKinds.size(); ++kind)
      if (!paths[kind].empty())
        svg += fmt::format("<path d=\"{}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.7\"/>\n", paths[kind],
                           kKinds[kind].colour);
    return svg;
  }
};

std::string legendAt(double y) {
  std::string svg;
  double x = kLeft;
  for (const Kind &kind : kKinds) {
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, y - 11, kind.colour);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 17, y, kind.meaning);
    x += 175;
  }
  return svg;
}

/// Returns the caption of a pass, with the share of the tiles of the first head.
std::string captionOf(const char *pass, const VariantTrial &trial, const VisitedTiles &visited) {
  const auto drawn = std::ranges::count_if(visited.tiles, isDrawn);
  const int64_t heads = trial.shape.batch * trial.shape.heads;
  const double share = visited.total == 0 ? 0 : double(drawn * heads) / double(visited.total);
  return fmt::format("{}: {:.0f} % of the tiles", pass, 100 * share);
}

} // namespace

std::string toSvg(const VariantTrial &trial, const VariantReport &report, const std::string &title) {
  const auto keys = double(trial.shape.seqlen_k), queries = double(trial.shape.seqlen_q);
  const double scale = kSide / std::max({keys, queries, 1.0}), down = scale * queries;
  std::string panels = Panel{kLeft, scale}.draw(trial, report.forward, captionOf("forward", trial, report.forward));
  if (trial.problem.backward)
    panels +=
        Panel{kLeft + kSide + kGap, scale}.draw(trial, report.backward, captionOf("backward", trial, report.backward));
  const double width = 2 * kLeft + 2 * kSide + kGap, height = kTop + down + kLegend;
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.5g}\" viewBox=\"0 0 {0} "
                     "{1:.5g}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1:.5g}\" "
                     "fill=\"white\"/>\n<text x=\"{2}\" y=\"18\" font-weight=\"bold\">{3}</text>\n{4}{5}</svg>\n",
                     width, height, kLeft, tools::escaped(title), panels, legendAt(height - 9));
}

} // namespace tegula
