// SPDX-License-Identifier: MIT
// Variants of attention from papers, each in a file of its own with its definition in plain C++.
#pragma once

#include "tegula/variant_trial.h"

#include <span>

namespace gallery {

using namespace tegula;

/// A variant of the gallery. `make` fills everything except the element types of q and of operands of products, the
/// head dimensions and the schedule.
struct Entry {
  const char *name, *title;
  VariantTrial (*make)(const AttentionShape &shape);
};

std::span<const Entry> entries();

// As many queries as keys: a power of two from 512 on. Query heads share one kv head.
VariantTrial dilatedWindow(const AttentionShape &shape);
VariantTrial sharedPrefix(const AttentionShape &shape);
VariantTrial blockDiffusion(const AttentionShape &shape);
VariantTrial packedDocuments(const AttentionShape &shape);
VariantTrial neighbourhood(const AttentionShape &shape);
VariantTrial tokenTree(const AttentionShape &shape);
VariantTrial transfusion(const AttentionShape &shape);
VariantTrial graphBias(const AttentionShape &shape);
VariantTrial t5Buckets(const AttentionShape &shape);
VariantTrial rotaryPart(const AttentionShape &shape);
VariantTrial selectedBlocks(const AttentionShape &shape);

/// The band of keys that a causal mask lets a query see.
inline Band causalBand() { return {.left = {}, .right = 0, .alignment = Alignment::top_left}; }

/// Segments of random lengths, one after another, as the tensors of documents() have them: [batch, tokens].
struct Segments {
  VariantValues begin, end;
};
Segments randomSegments(const AttentionShape &shape, int64_t longest);

} // namespace gallery
