// SPDX-License-Identifier: MIT
// Longformer (Beltagy et al. 2020): every fourth key of a window, and global tokens at the beginning.
#include "gallery.h"

#include <cstdlib>

namespace gallery {

VariantTrial dilatedWindow(const AttentionShape &shape) {
  const int64_t reach = shape.seqlen_q / 8, dilation = 4, globals = 16;
  Variant variant = windowWithGlobals(reach, reach, globals, Alignment::top_left);
  variant.name = "dilated_window";
  variant.mask = [=](const ScoreIndex &at, VariantViews) -> Value {
    return ((at.query - at.key) % dilation == 0) | (at.query < globals) | (at.key < globals);
  };

  auto sees = [=](const ScorePosition &p) {
    const int64_t distance = std::abs(p.query - p.key);
    return p.query < globals || p.key < globals || (distance <= reach && distance % dilation == 0);
  };
  return {.problem = {.variant = variant}, .shape = shape, .plain = {.sees = sees}};
}

} // namespace gallery
