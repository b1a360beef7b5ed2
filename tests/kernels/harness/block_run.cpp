// SPDX-License-Identifier: MIT
#include "harness/block_run.h"

#include <algorithm>
#include <memory>
#include <random>

namespace tegula::testing {
namespace {

constexpr float kNoBlocks[] = {-7, 1 << 20}; // Names of blocks that do not exist.

/// The entries of one kind of list: partial or full.
struct Lists {
  std::vector<float> counts, indices;
};

/// Appends a row of `size` entries. Others follow the listed blocks, and do not count.
void appendRow(Lists &lists, std::vector<int64_t> listed, int64_t size, std::mt19937_64 &random) {
  std::shuffle(listed.begin(), listed.end(), random);
  lists.counts.push_back(float(listed.size()));
  for (int64_t entry = 0; entry < size; ++entry)
    lists.indices.push_back(entry < int64_t(listed.size()) ? float(listed[entry]) : float(random() % uint64_t(size)));
}

/// Replaces some entries of a row by a block that it lists already, or by one that does not exist.
void appendIgnored(std::vector<int64_t> &listed, std::mt19937_64 &random) {
  if (random() % 4 == 0)
    listed.push_back(int64_t(kNoBlocks[random() % 2]));
  if (!listed.empty() && random() % 4 == 0)
    listed.push_back(listed.front());
}

} // namespace

BlockMaskTensors BlockRun::refs() const {
  if (tensors.empty())
    return {};
  return {tensors[0].ref(), tensors[1].ref(), tensors[2].ref(), tensors[3].ref()};
}

BlockRun makeBlocks(const BlockMask &mask, const oracle::Shape &shape, bool may_be_full, Layout layout, Poison poison,
                    uint64_t seed, oracle::Rules &exact, oracle::Rules &plain) {
  std::mt19937_64 random(seed);
  const int64_t batch = mask.per_batch ? shape.batch : 1, heads = mask.per_head ? shape.heads : 1;
  const int64_t rows = (shape.seqlen_q + mask.block_q - 1) / mask.block_q;
  const int64_t columns = (shape.seqlen_k + mask.block_k - 1) / mask.block_k, size = columns + 2;
  auto isListed = std::make_shared<std::vector<bool>>();
  Lists partial, full;
  for (int64_t row = 0; row < batch * heads * rows; ++row) {
    std::vector<int64_t> ofPartial, ofFull;
    for (int64_t block = 0; block < columns; ++block) {
      const uint64_t kind = random() % 4;
      isListed->push_back(kind >= 2);
      if (kind >= 2)
        (kind == 3 && may_be_full ? ofFull : ofPartial).push_back(block);
    }
    appendIgnored(ofPartial, random);
    appendRow(partial, ofPartial, size, random);
    appendRow(full, ofFull, size, random);
  }
  const auto rule = [=](const oracle::Position &p) {
    const int64_t b = mask.per_batch ? p.batch : 0, h = mask.per_head ? p.head : 0;
    return bool((*isListed)[((b * heads + h) * rows + p.query / mask.block_q) * columns + p.key / mask.block_k]);
  };
  exact.visible.push_back(rule);
  plain.visible.push_back(rule);
  const auto counts = [&](const Lists &lists) {
    return TestTensor(DType::i32, {batch, heads, rows}, layout, poison, lists.counts);
  };
  const auto indices = [&](const Lists &lists) {
    return TestTensor(DType::i32, {batch, heads, rows, size}, layout, poison, lists.indices);
  };
  BlockRun run;
  run.tensors.push_back(counts(partial));
  run.tensors.push_back(indices(partial));
  run.tensors.push_back(counts(full));
  run.tensors.push_back(indices(full));
  return run;
}

} // namespace tegula::testing
