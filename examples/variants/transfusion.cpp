// SPDX-License-Identifier: MIT
// Transfusion (Zhou et al. 2024): text is causal, and the tokens of an image see the whole image besides.
#include "gallery.h"

namespace gallery {

VariantTrial transfusion(const AttentionShape &shape) {
  auto [begin, end] = randomSegments(shape, shape.seqlen_q / 4); // Every second one is an image, the others are text.
  bool isImage = true;
  for (size_t token = 0, next = 0; token < begin.values.size(); ++token) {
    if (token == next) {
      next += size_t(end.values[token] - begin.values[token]);
      isImage = !isImage;
    }
    if (!isImage) { // A token of text is a segment of its own.
      begin.values[token] = float(int64_t(token) % shape.seqlen_q);
      end.values[token] = begin.values[token] + 1;
    }
  }
  Variant variant = either(slidingWindow(kNoBound, 0, Alignment::top_left), documents());
  variant.name = "transfusion";

  auto sees = [length = shape.seqlen_q, begins = begin.values](const ScorePosition &p) {
    const float *segment = &begins[size_t(p.batch * length)];
    return p.key <= p.query || segment[p.query] == segment[p.key];
  };
  return {
      .problem = {.variant = variant}, .shape = shape, .tensors = {begin, end, begin, end}, .plain = {.sees = sees}};
}

} // namespace gallery
