// SPDX-License-Identifier: MIT
#include "gallery.h"

#include <algorithm>
#include <random>

namespace gallery {

std::span<const Entry> entries() {
  static constexpr Entry all[] = {{"dilated_window", "Dilated window and global tokens", dilatedWindow},
                                  {"shared_prefix", "Requests that share a prefix", sharedPrefix},
                                  {"block_diffusion", "Block diffusion", blockDiffusion},
                                  {"packed_documents", "Packed documents, causal inside", packedDocuments},
                                  {"neighbourhood", "Neighbourhood on a grid (NATTEN)", neighbourhood},
                                  {"token_tree", "Trees of speculative tokens", tokenTree},
                                  {"transfusion", "Text and images (Transfusion)", transfusion},
                                  {"graph_bias", "Bias by distances in a graph (Graphormer)", graphBias},
                                  {"t5_buckets", "Bias by buckets of distances (T5)", t5Buckets},
                                  {"rotary_part", "Rotary part of a score (multi-head latent attention)", rotaryPart},
                                  {"selected_blocks", "Selected blocks (native sparse attention)", selectedBlocks}};
  return all;
}

Segments randomSegments(const AttentionShape &shape, int64_t longest) {
  std::minstd_rand random(1);
  Segments segments{{{shape.batch, shape.seqlen_q}}, {{shape.batch, shape.seqlen_q}}};
  for (int64_t batch = 0; batch < shape.batch; ++batch)
    for (int64_t first = 0; first < shape.seqlen_q;) {
      const int64_t end = std::min(first + 1 + int64_t(random()) % longest, shape.seqlen_q);
      segments.begin.values.insert(segments.begin.values.end(), size_t(end - first), float(first));
      segments.end.values.insert(segments.end.values.end(), size_t(end - first), float(end));
      first = end;
    }
  return segments;
}

} // namespace gallery
