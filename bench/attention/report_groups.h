// SPDX-License-Identifier: MIT
// Rows of a report in the order in which they are shown.
#pragma once

#include "bench/attention/report.h"

#include <algorithm>
#include <tuple>

namespace tegula::bench {

/// The different values of `key(row)`, in the order in which they first appear.
template <class Key> auto distinct(const std::vector<Row> &rows, Key key) {
  std::vector<decltype(key(rows.front()))> values;
  for (const Row &row : rows)
    if (auto value = key(row); std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  return values;
}

/// The values that the rows of one line have in common, except the algorithm.
using Group = std::tuple<std::string, int, std::string, std::string>;
inline Group groupOf(const Row &row) { return {row.pass, row.head_dim, row.causal, row.variant}; }

inline std::vector<int64_t> lengthsOf(const std::vector<Row> &rows) {
  std::vector<int64_t> lengths = distinct(rows, [](const Row &row) { return row.seqlen; });
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

/// Null if there is none.
inline const Row *findRow(const std::vector<Row> &rows, const Group &group, const std::string &algorithm,
                          int64_t seqlen) {
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &row) {
    return groupOf(row) == group && row.algorithm == algorithm && row.seqlen == seqlen;
  });
  return row == rows.end() ? nullptr : &*row;
}

inline std::string titleOf(const Group &group) {
  const auto &[pass, head_dim, causal, variant] = group;
  return pass + ", D=" + std::to_string(head_dim) + ", " +
         (!variant.empty()   ? variant
          : causal == "none" ? "full"
                             : "causal " + causal);
}

} // namespace tegula::bench
