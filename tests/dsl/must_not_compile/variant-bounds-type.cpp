// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

using namespace tegula;

// expect-first: VisibleRange: bounds return an Interval: write -> Interval, and return {begin, end}
void set([[maybe_unused]] Variant &variant, [[maybe_unused]] VisibleRange &range) {
#ifdef BAD
  range.keys = [](Value query, const HeadIndex &, VariantViews) { return query; };
#endif
  range.keys = [](Value query, const HeadIndex &, VariantViews) -> Interval { return {query, query + 1}; };
}
