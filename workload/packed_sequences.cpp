// SPDX-License-Identifier: MIT
#include "workload/packed_sequences.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tegula::tools {

std::vector<int32_t> offsetsOf(const std::vector<int32_t> &lengths) {
  std::vector<int32_t> offsets = {0};
  std::inclusive_scan(lengths.begin(), lengths.end(), std::back_inserter(offsets));
  return offsets;
}

std::vector<int32_t> lengthsOf(const std::vector<int32_t> &offsets) {
  std::vector<int32_t> lengths(offsets.size());
  std::adjacent_difference(offsets.begin(), offsets.end(), lengths.begin());
  lengths.erase(lengths.begin());
  return lengths;
}

double scoresSeen(const PackedSequences &sequences) {
  const std::vector<int32_t> q = lengthsOf(sequences.offsets_q), k = lengthsOf(sequences.offsets_k);
  double scores = 0;
  for (size_t n = 0; n < q.size(); ++n) {
    const double seen = std::min(q[n], k[n]); // Queries that see a key, if there is a mask.
    scores += sequences.causal == Causal::none ? double(q[n]) * k[n] : seen * (k[n] - seen) + seen * (seen + 1) / 2;
  }
  return scores;
}

} // namespace tegula::tools
