// SPDX-License-Identifier: MIT
// The rotary part of multi-head latent attention (DeepSeek-V2, section 2.1): queries and keys have some more
// dimensions, to which alone positions are applied. Keys have one such part for all heads. Both products are one score.
#include "gallery.h"

namespace gallery {
namespace {

/// Numbers from -1 to 1 that all element types hold.
VariantValues numbers(std::vector<int64_t> shape, int64_t step) {
  VariantValues tensor{std::move(shape)};
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  for (int64_t n = 0; n < count; ++n)
    tensor.values.push_back(float(n * step % 33) / 16 - 1);
  return tensor;
}

} // namespace

VariantTrial rotaryPart(const AttentionShape &shape) {
  constexpr int dim = 32;
  const VariantValues queries = numbers({shape.batch, shape.heads, shape.seqlen_q, dim}, 7);
  const VariantValues keys = numbers({shape.batch, shape.kv_heads, shape.seqlen_k, dim}, 13);
  return {.problem = {.causal = Causal::top_left, .variant = addedProduct(f32, dim)},
          .shape = shape,
          .tensors = {queries, keys}};
}

} // namespace gallery
