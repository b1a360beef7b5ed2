// SPDX-License-Identifier: MIT
// Documents of different lengths in one sequence, for each batch entry others. Attention is causal inside a document.
#include "gallery.h"

namespace gallery {

VariantTrial packedDocuments(const AttentionShape &shape) {
  const auto [begin, end] = randomSegments(shape, shape.seqlen_q / 4);
  Variant variant = documents();
  variant.name = "packed_documents";
  variant.bands = {causalBand()};

  auto sees = [length = shape.seqlen_q, begins = begin.values](const ScorePosition &p) {
    const float *document = &begins[size_t(p.batch * length)]; // Documents are told apart by where they begin.
    return document[p.query] == document[p.key] && p.key <= p.query;
  };
  return {
      .problem = {.variant = variant}, .shape = shape, .tensors = {begin, end, begin, end}, .plain = {.sees = sees}};
}

} // namespace gallery
