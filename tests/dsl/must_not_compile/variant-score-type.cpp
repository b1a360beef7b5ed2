// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: Variant::score returns a Value, the score such as 2.0 * score
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  variant.score = [](Value, const ScoreIndex &, VariantViews) { return 2.0; };
#endif
  variant.score = [](Value s, const ScoreIndex &, VariantViews) { return 2.0 * s; };
}
