// SPDX-License-Identifier: MIT
#include "workload/cache_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace tegula::tools {
namespace {

constexpr int64_t kUnusedPages = 3;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

CacheLayout::CacheLayout(std::vector<int32_t> lengths, int64_t kv_heads, int64_t page_size, uint64_t seed)
    : lengths_(std::move(lengths)), kv_heads_(kv_heads), page_size_(page_size), of_sequence_(1),
      pages_(int64_t(lengths_.size())) {
  const int64_t longest = std::max(*std::ranges::max_element(lengths_), 1);
  if (page_size_ == 0) {
    page_size_ = longest;
    table_.resize(lengths_.size());
    std::iota(table_.begin(), table_.end(), 0);
    return;
  }
  of_sequence_ = ceilDiv(longest, page_size_);
  pages_ = kUnusedPages;
  for (const int32_t length : lengths_)
    pages_ += ceilDiv(length, page_size_);
  std::vector<int32_t> order(static_cast<size_t>(pages_));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  auto next = order.begin();
  for (const int32_t length : lengths_)
    for (int64_t page = 0; page < of_sequence_; ++page)
      table_.push_back(page * page_size_ < length ? *next++ : -1);
}

int64_t CacheLayout::usedPages() const {
  return std::ranges::count_if(table_, [](int32_t page) { return page >= 0; });
}

int64_t CacheLayout::rowOf(int64_t sequence, int64_t head, int64_t key) const {
  const int64_t page = table_[size_t(sequence * of_sequence_ + key / page_size_)];
  return (page * kv_heads_ + head) * page_size_ + key % page_size_;
}

void CacheLayout::append(std::vector<float> &rows, const std::vector<float> &cache, int64_t row, int64_t columns,
                         int64_t sequence, int64_t head) const {
  for (int64_t key = 0; key < lengths_[size_t(sequence)]; ++key) {
    const auto first = cache.begin() + rowOf(sequence, head, key) * row;
    rows.insert(rows.end(), first, first + columns);
  }
}

std::vector<float> CacheLayout::gather(const std::vector<float> &cache, int64_t row, int64_t columns,
                                       int64_t sequence) const {
  std::vector<float> rows;
  for (int64_t head = 0; head < kv_heads_; ++head)
    append(rows, cache, row, columns, sequence, head);
  return rows;
}

std::vector<float> CacheLayout::gather(const std::vector<float> &cache, int64_t columns) const {
  std::vector<float> rows;
  for (int64_t head = 0; head < kv_heads_; ++head)
    for (int64_t sequence = 0; sequence < int64_t(lengths_.size()); ++sequence)
      append(rows, cache, columns, columns, sequence, head);
  return rows;
}

std::vector<float> CacheLayout::spoilUnused(const std::vector<float> &cache, int64_t row) const {
  std::vector<float> spoilt(cache.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t sequence = 0; sequence < lengths_.size(); ++sequence)
    for (int64_t head = 0; head < kv_heads_; ++head)
      for (int64_t key = 0; key < lengths_[sequence]; ++key) {
        const int64_t at = rowOf(int64_t(sequence), head, key) * row;
        std::copy_n(cache.begin() + at, row, spoilt.begin() + at);
      }
  return spoilt;
}

} // namespace tegula::tools
