// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: Variant::mask takes (const ScoreIndex &at, VariantViews tensors)
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  variant.mask = [](const ScoreIndex &at) { return at.key <= at.query; };
#endif
  variant.mask = [](const ScoreIndex &at, auto) { return at.key <= at.query; };
}
