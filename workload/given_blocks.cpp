// SPDX-License-Identifier: MIT
#include "workload/given_blocks.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tegula::tools {

BlockMask GivenBlocks::mask() const {
  return {.source = BlockMask::Source::given,
          .per_batch = batch > 1,
          .per_head = heads > 1,
          .block_q = int(block_q),
          .block_k = int(block_k)};
}

GivenBlocks GivenBlocks::cropped(const AttentionShape &shape) const {
  const auto blocksOf = [](int64_t length, int64_t block) { return (length + block - 1) / block; };
  GivenBlocks result{.batch = std::min(batch, shape.batch),
                     .heads = std::min(heads, shape.heads),
                     .rows = blocksOf(shape.seqlen_q, block_q),
                     .block_q = block_q,
                     .block_k = block_k,
                     .partial = {},
                     .full = {}};
  const int64_t columns = blocksOf(shape.seqlen_k, block_k);
  for (int64_t b = 0; b < result.batch; ++b)
    for (int64_t head = 0; head < result.heads; ++head)
      for (int64_t row = 0; row < result.rows; ++row)
        for (const auto &[from, to] : {std::pair(&partial, &result.partial), std::pair(&full, &result.full)}) {
          to->push_back((*from)[size_t((b * heads + head) * rows + row)]);
          std::erase_if(to->back(), [=](int32_t block) { return block >= columns; });
        }
  return result;
}

std::function<bool(KeyInterval, KeyInterval)> listedTiles(const GivenBlocks &blocks, int64_t seqlen_k) {
  const int64_t rows = blocks.rows, columns = (seqlen_k + blocks.block_k - 1) / blocks.block_k;
  std::vector<bool> listed(size_t(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (const GivenBlocks::Lists *lists : {&blocks.partial, &blocks.full})
      for (int32_t block : (*lists)[size_t(row)])
        listed[size_t(row * columns + block)] = true;
  return [=, listed = std::move(listed), block_q = blocks.block_q, block_k = blocks.block_k](KeyInterval queries,
                                                                                             KeyInterval keys) {
    for (int64_t row = queries.begin / block_q; row < std::min(rows, (queries.end - 1) / block_q + 1); ++row)
      for (int64_t block = keys.begin / block_k; block < std::min(columns, (keys.end - 1) / block_k + 1); ++block)
        if (listed[size_t(row * columns + block)])
          return true;
    return false;
  };
}

BlockArrays arraysOf(const GivenBlocks::Lists &lists) {
  BlockArrays arrays;
  for (const std::vector<int32_t> &list : lists)
    arrays.entries = std::max(arrays.entries, std::ssize(list));
  for (const std::vector<int32_t> &list : lists) {
    arrays.counts.push_back(int32_t(list.size()));
    arrays.indices.insert(arrays.indices.end(), list.begin(), list.end());
    arrays.indices.resize(arrays.counts.size() * size_t(arrays.entries));
  }
  return arrays;
}

void addBlocks(oracle::Rules &rules, const GivenBlocks &blocks, oracle::Rules masks, int64_t batch,
               int64_t first_head) {
  using Blocks = std::vector<std::set<int32_t>>;
  const auto sets = [](const GivenBlocks::Lists &lists) {
    Blocks sets;
    for (const std::vector<int32_t> &list : lists)
      sets.emplace_back(list.begin(), list.end());
    return sets;
  };
  rules.visible.push_back([partial = sets(blocks.partial), full = sets(blocks.full), masks = std::move(masks), batch,
                           first_head, heads = blocks.heads, rows = blocks.rows, block_q = blocks.block_q,
                           block_k = blocks.block_k, per_batch = blocks.batch > 1](const oracle::Position &p) {
    const int64_t head = heads > 1 ? first_head + p.head : 0;
    const auto row = size_t(((per_batch ? batch + p.batch : 0) * heads + head) * rows + p.query / block_q);
    const auto block = int32_t(p.key / block_k);
    return full[row].contains(block) || (partial[row].contains(block) && masks.sees(p));
  });
}

} // namespace tegula::tools
