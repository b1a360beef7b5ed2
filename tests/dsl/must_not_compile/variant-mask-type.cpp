// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: Variant::mask returns a Value, a condition such as at.key <= at.query
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  variant.mask = [](const ScoreIndex &, VariantViews) { return 0.5; };
#endif
  variant.mask = [](const ScoreIndex &at, VariantViews) { return at.key <= at.query; };
}
