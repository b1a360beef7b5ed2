// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: VisibleRange: bounds take (Value position, const HeadIndex &at, VariantViews tensors)
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  range.queries = [](Value key, const ScoreIndex &, VariantViews) -> Interval { return {key, key + 1}; };
#endif
  range.queries = [](Value key, const HeadIndex &, VariantViews) -> Interval { return {key, key + 1}; };
}
