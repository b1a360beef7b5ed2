// SPDX-License-Identifier: MIT
// Where the keys and values of sequences lie in a cache.
#pragma once

#include <cstdint>
#include <vector>

namespace tegula::tools {

/// The pages of a cache [pages, kv_heads, keys of a page, columns]. Without pages, each sequence has one that is long
/// enough for all of its keys.
class CacheLayout {
public:
  /// Puts the pages of sequences in a random order. `page_size` is the keys of a page, or 0.
  CacheLayout(std::vector<int32_t> lengths, int64_t kv_heads, int64_t page_size, uint64_t seed);

  int64_t pages() const { return pages_; }                 ///< With some that no sequence has.
  int64_t usedPages() const;                               ///< The sum over all sequences.
  int64_t pagesOfSequence() const { return of_sequence_; } ///< Pages of the longest sequence.
  /// [sequences, pagesOfSequence()], -1 where there is none.
  const std::vector<int32_t> &table() const { return table_; }

  /// Returns the keys or values of a sequence, [kv_heads, length, columns]: the first `columns` columns of a cache
  /// whose rows have `row` columns.
  std::vector<float> gather(const std::vector<float> &cache, int64_t row, int64_t columns, int64_t sequence) const;
  /// Returns those of all sequences one after another, [kv_heads, sum of lengths, columns], of a cache whose rows have
  /// `columns` columns.
  std::vector<float> gather(const std::vector<float> &cache, int64_t columns) const;

  /// Returns a cache in which the rows are NaN that no sequence has.
  std::vector<float> spoilUnused(const std::vector<float> &cache, int64_t row) const;

private:
  /// Returns the number of a row in the cache.
  int64_t rowOf(int64_t sequence, int64_t head, int64_t key) const;
  /// Appends the rows of a sequence and a head.
  void append(std::vector<float> &rows, const std::vector<float> &cache, int64_t row, int64_t columns, int64_t sequence,
              int64_t head) const;

  std::vector<int32_t> lengths_;
  int64_t kv_heads_, page_size_, of_sequence_, pages_;
  std::vector<int32_t> table_;
};

} // namespace tegula::tools
