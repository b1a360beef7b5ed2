// SPDX-License-Identifier: MIT
// The order in which the oracle visits query rows, and the offsets of each row's numbers.
#pragma once

#include "oracle/oracle.h"

namespace tegula::oracle {

/// One query row, with its offsets into the arrays. For k and v, these are the offsets of key 0.
struct Row {
  int64_t batch, head, query;
  int64_t q, o, lse;
  int64_t k, v;

  Position at(int64_t key) const { return {batch, head, query, key}; }
};

template <class Body> void forEachRow(const Shape &s, Body body) {
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.seqlen_q; ++i) {
        int64_t row = (b * s.heads + h) * s.seqlen_q + i;
        int64_t firstKey = (b * s.kv_heads + h / (s.heads / s.kv_heads)) * s.seqlen_k;
        body(Row{b, h, i, row * s.head_dim, row * s.value_dim, row, firstKey * s.head_dim, firstKey * s.value_dim});
      }
}

} // namespace tegula::oracle
