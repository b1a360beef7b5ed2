// SPDX-License-Identifier: MIT
// Neighbourhood attention (Hassani et al. 2023) on a grid: a cell sees 7 x 7 cells, which move inwards at the borders.
// Cells lie in memory patch by patch, so that a tile of scores is near in both directions.
#include "gallery.h"

#include <algorithm>
#include <cstdlib>

namespace gallery {
namespace {

constexpr int64_t kRadius = 3, kPatchWidth = 8, kPatchHeight = 4, kPatch = kPatchWidth * kPatchHeight;

/// A power of two, at most twice the height.
int64_t widthOf(int64_t cells) {
  int64_t width = kPatchWidth;
  while (width * width < cells)
    width *= 2;
  return width;
}

struct Cell {
  int64_t x, y;
};

std::vector<Cell> cellsInMemory(int64_t width, int64_t height) {
  std::vector<Cell> cells;
  for (int64_t top = 0; top < height; top += kPatchHeight)
    for (int64_t left = 0; left < width; left += kPatchWidth)
      for (int64_t cell = 0; cell < kPatch; ++cell)
        cells.push_back({left + cell % kPatchWidth, top + cell / kPatchWidth});
  return cells;
}

bool isNear(int64_t query, int64_t key, int64_t size) {
  const int64_t middle = std::min(std::max(query, kRadius), size - 1 - kRadius);
  return std::abs(key - middle) <= kRadius;
}

} // namespace

VariantTrial neighbourhood(const AttentionShape &shape) {
  const int64_t width = widthOf(shape.seqlen_q), height = shape.seqlen_q / width, patches = width / kPatchWidth;
  auto x = [=](Value cell) { return cell / kPatch % patches * kPatchWidth + cell % kPatchWidth; };
  auto y = [=](Value cell) { return cell / kPatch / patches * kPatchHeight + cell % kPatch / kPatchWidth; };
  auto near = [=](Value query, Value key, int64_t size) {
    return abs(key - clamp(query, kRadius, size - 1 - kRadius)) <= kRadius;
  };
  Variant variant{.name = "neighbourhood"};
  variant.mask = [=](const ScoreIndex &at, VariantViews) -> Value {
    return near(x(at.query), x(at.key), width) & near(y(at.query), y(at.key), height);
  };

  auto sees = [=, cells = cellsInMemory(width, height)](const ScorePosition &p) {
    const Cell query = cells[size_t(p.query)], key = cells[size_t(p.key)];
    return isNear(query.x, key.x, width) && isNear(query.y, key.y, height);
  };
  return {.problem = {.variant = variant, .block_mask = {.source = BlockMask::Source::computed}},
          .shape = shape,
          .plain = {.sees = sees}};
}

} // namespace gallery
