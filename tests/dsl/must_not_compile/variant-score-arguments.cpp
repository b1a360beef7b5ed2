// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: Variant::score takes (Value score, const ScoreIndex &at, VariantViews tensors)
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  variant.score = [](const ScoreIndex &, VariantViews, Value s) { return 2.0 * s; };
#endif
  variant.score = [](Value s, const ScoreIndex &, VariantViews) { return 2.0 * s; };
}
