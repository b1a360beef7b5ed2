// SPDX-License-Identifier: MIT
// What the programs of decoding have in common.
#pragma once

#include "arguments.h"
#include "narrow.h"
#include "spec_arguments.h"
#include "tegula/attention_programs.h"
#include "tegula/decode.h"
#include "tegula/plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tegula::decoding {

inline constexpr int kChunk = 128; ///< Sequences or pages that a loop over all of them looks at together.
/// The keys of the smallest tile. block_n is a multiple of it.
inline constexpr int kLeastKeysOfTile = 16;

/// The elements of prefixSizes(): the keys of the prefix, and the smallest and the largest number of keys that a
/// sequence has together with the prefix.
inline constexpr int kPrefixKeys = 0, kLeastKeys = 1, kMostKeys = 2, kPrefixSizes = 3;

/// Returns true if each tile of keys lies in one page, or keys have no pages.
inline bool hasWholeTiles(const DecodeProblem &problem) { return problem.page_size % kLeastKeysOfTile == 0; }

const Size kBatch("batch"), kHeads("heads"), kKvHeads("kv_heads"), kQueries("seqlen_q");

struct Config {
  DecodeProblem problem;
  Schedule schedule; ///< Has block_m, the rows of a tile, and block_n, the keys of a block.

  /// Return the columns of tiles of q and k, and of v and o.
  int headColumns() const { return columnsOf(problem.head_dim); }
  int valueColumns() const { return columnsOf(problem.value_dim); }
  /// Returns the blocks that belong to one span together.
  int unit() const { return std::max(problem.keys_per_part / schedule.block_n, 1); }
};

/// Returns the first key that the first query of a sequence sees, as far as bands tell.
inline Value firstKey(const Config &c, const Interval &keys, Value queries) {
  std::optional<int64_t> left;
  for (const Band &band : c.problem.variant.bands)
    if (band.left)
      left = std::min(*band.left, left.value_or(kMaxWindow));
  return left ? max(keys.end - queries - *left, keys.begin) : keys.begin;
}

/// The blocks of keys that a program visits in a sequence, and into how many units they are cut.
struct Blocks {
  Blocks(const Config &c, const Interval &keys, Value queries)
      : first(firstKey(c, keys, queries) / c.schedule.block_n),
        count(max(ceilDiv(keys.end, c.schedule.block_n) - first, 0)), units(ceilDiv(count, c.unit())) {}
  Value first, count, units;
};

/// Sizes of a launch, i32.
struct Sizes32 {
  Sizes32(View q, View k) : queries(narrow(q.dim(2))), kv_heads(narrow(k.dim(1))), group(narrow(q.dim(1)) / kv_heads) {}
  Value queries, kv_heads;
  Value group; ///< Query heads of a head of k.
};

/// A tile of keys or values: the rows of a matrix from one on.
struct KeyTile {
  View matrix;
  Value row;
};

/// The tensors that tell which keys sequences have, and where.
class Cache {
public:
  /// Takes the tensors that only some problems have from the begin of `views`.
  Cache(const Config &c, View q, View k, View lengths, std::span<const View> views)
      : lengths_(lengths), counted_(c.problem.lengths) {
    if (counted_ == CacheLengths::before)
      queries_.emplace(narrow(q.dim(2)));
    takeFirst(views, c.problem.page_size != 0, table_);
    takeFirst(views, c.problem.page_table_v, table_v_);
    takeFirst(views, c.problem.page_offsets, offsets_);
    takeFirst(views, c.problem.begins, begins_);
    takeFirst(views, c.problem.prefix, prefix_);
    others = views;
    page_size_ = c.problem.page_size;
    has_whole_tiles_ = hasWholeTiles(c.problem);
    if (!offsets_)
      capacity_.emplace(narrow(table_ ? table_->dim(1) * page_size_ : k.dim(2)));
  }

  Interval load(Value first, int count) const {
    return intervalOf([&](const View &x, int distance) { return x.load(first + distance, {count}); });
  }
  Interval gather(Value sequence) const {
    return intervalOf([&](const View &x, int distance) { return x.gather(sequence + distance); });
  }
  /// Returns the tile of `x`, k or v, that begins with `key` of a sequence. The matrix is a page if pages have whole
  /// tiles; otherwise it has all keys of the sequence.
  KeyTile tileAt(View x, bool is_v, Value sequence, Value kv_head, Value key) const {
    if (!table_)
      return {x.at(sequence, kv_head), key};
    if (has_whole_tiles_)
      return {x.at(wide(pageOf(x, is_v, sequence, key)), kv_head), key % page_size_};
    return {paged(x.atAxis(1, kv_head), tableOf(is_v, sequence), page_size_), key};
  }
  /// Asserts that `x`, k or v, has the pages of the keys `begin` to `end` - 1 of a sequence. Pages with whole tiles are
  /// tested when a tile is loaded.
  void assertPages(View x, bool is_v, Value sequence, Value begin, Value end) const {
    if (has_whole_tiles_)
      return;
    constexpr int none = std::numeric_limits<int>::max();
    const View table = tableOf(is_v, sequence);
    const Value endEntry = ceilDiv(end, page_size_);
    for (Value first : range(begin / page_size_, endEntry, kChunk)) {
      const Value entry = narrow(first) + iota(kChunk), exists = isPageOf(x, table.gather(entry));
      const Value absent = reduceMin(select((entry < narrow(endEntry)) & !exists, entry, none), 0); // [1]
      deviceAssert(absent == none, absentPage(is_v), listed({narrow(sequence), absent, table.gather(absent)}));
    }
  }
  /// Returns the tensor of prefixSizes(), if there is a prefix.
  const std::optional<View> &prefix() const { return prefix_; }
  /// Returns the keys of the prefix, i32, if there is one.
  std::optional<Value> keysBefore() const {
    return prefix_ ? std::optional(prefix_->gather(kPrefixKeys)) : std::nullopt;
  }
  /// Asserts that memory holds the keys of a sequence.
  void assertRoom(Value sequence, const Interval &keys) const {
    const Value length = lengthOf([&](const View &x, int distance) { return x.gather(sequence + distance); });
    deviceAssert(length == keys.end, "sequence, its length, and the keys that it has room for",
                 listed({narrow(sequence), length, keys.end}));
  }
  std::span<const View> others; ///< The tensors that follow in the views.

private:
  static Value isPageOf(View x, Value page) { return (page >= 0) & (page < narrow(x.dim(0))); }
  bool hasOwnTable(bool is_v) const { return is_v && table_v_; }
  const char *absentPage(bool is_v) const {
    return hasOwnTable(is_v) ? "sequence, entry of page_table_v, and its page, which does not exist"
                             : "sequence, entry of page_table, and its page, which does not exist";
  }
  const View &tables(bool is_v) const { return hasOwnTable(is_v) ? *table_v_ : *table_; }
  /// Returns the row of a table that belongs to a sequence.
  View tableOf(bool is_v, Value sequence) const {
    if (!offsets_)
      return tables(is_v).at(sequence);
    return tables(is_v).rows(inTable(offsets_->gather(sequence)), inTable(offsets_->gather(sequence + 1)));
  }
  /// Returns the page of `x`, k or v, that has a key of a sequence.
  Value pageOf(View x, bool is_v, Value sequence, Value key) const {
    const View &table = tables(is_v);
    const Value page = offsets_ ? table.gather(inTable(offsets_->gather(sequence)) + narrow(key) / page_size_)
                                : table.gather(sequence, key / page_size_);
    deviceAssert(isPageOf(x, page), absentPage(is_v), listed({narrow(sequence), narrow(key) / page_size_, page}));
    return page;
  }
  static void takeFirst(std::span<const View> &views, bool isThere, std::optional<View> &to) {
    if (!isThere || views.empty())
      return;
    to.emplace(views.front());
    views = views.subspan(1);
  }
  /// Returns an interval that no memory contradicts. `read(view, n)` reads the elements n after those of sequences.
  template <class Read> Interval intervalOf(const Read &read) const {
    const Value begin = begins_ ? read(*begins_, 0) : constant(i32, 0), length = lengthOf(read);
    return {max(begin, 0), min(max(length, 0), offsets_ ? entriesOf(read) * page_size_ : *capacity_)};
  }
  /// Returns the entries of the table that sequences have. There are offsets.
  template <class Read> Value entriesOf(const Read &read) const {
    return max(inTable(read(*offsets_, 1)) - inTable(read(*offsets_, 0)), 0);
  }
  /// Returns all keys of sequences, as the lengths count them.
  template <class Read> Value lengthOf(const Read &read) const {
    const Value length = read(lengths_, 0);
    if (counted_ == CacheLengths::all)
      return length;
    const Value more = counted_ == CacheLengths::before     ? *queries_
                       : counted_ == CacheLengths::last_key ? constant(i32, 1)
                                                            : (entriesOf(read) - 1) * page_size_;
    return clamp(length, int(-kMaxDiagonal), int(kMaxDiagonal)) + more; // The sum fits into 32 bits.
  }
  /// Returns the nearest number of entries that the table has.
  Value inTable(Value offset) const { return clamp(offset, 0, narrow(table_->dim(0))); }

  View lengths_;
  CacheLengths counted_;
  std::optional<Value> queries_; ///< Only if the lengths do not count them.
  std::optional<View> table_, table_v_, offsets_, begins_, prefix_;
  std::optional<Value> capacity_; ///< The most keys of a sequence, if it is the same of all.
  int page_size_ = 0;
  bool has_whole_tiles_ = true;
};

/// The rows of a tile: queries of all query heads that share a head of k, the queries of a head one after another.
struct Rows {
  /// The sequences of rows that belong to many.
  struct Sequences {
    Value batch, seqlen_k; ///< i32 [count, 1]. The number of keys counts those of the prefix.
    Value least, most;     ///< The smallest and the largest number of keys, i32.
  };

  Rows(const Sizes32 &n, Value first, int count, Value kv_head)
      : Rows(n, first, narrow(first) + iota(count), kv_head) {}
  Rows(Value first, Value head, Value query, Sequences sequences)
      : first(first), head(head), query(query), sequences(sequences) {}
  Value first;                             ///< The number of the first row.
  Value head, query;                       ///< i32 [count]; a head of -1 has no elements in any tensor.
  std::optional<Sequences> sequences = {}; ///< Empty if all rows belong to one sequence.

private:
  Rows(const Sizes32 &n, Value first, const Value &row, Value kv_head)
      : first(first), head(select(row < n.group * n.queries, kv_head * n.group + row / n.queries, -1)),
        query(row % n.queries) {}
};

/// Returns the rows of a head of k of a sequence. `q` is [heads, seqlen_q, head_dim].
inline View packedRows(View q, const Sizes32 &n, Value kv_head) {
  const Value count = n.group * n.queries, begin = narrow(kv_head) * count;
  return packed(q).rows(begin, begin + count);
}

/// A sequence of a launch.
struct Sequence {
  Value batch;
  Interval keys;
  Blocks blocks;
  std::optional<Value> before; ///< The keys of the prefix, i32, if there is one.
};

/// The inputs of a part. The queries are those of the rows; the keys are those of the cache.
struct DecodeViews {
  View q, k;
  std::optional<View> v; ///< Empty if v is the first columns of k.
  Value scale;
  Cache cache; ///< The tensors of the variant follow it.
};

/// Computes a part: attention of the rows of `rows` on the keys `first` to `end` - 1 of a sequence of the cache,
/// multiples of block_n except for the last key.
SoftmaxPart decodePart(const Config &c, const DecodeViews &views, const Sequence &sequence, const Sizes32 &n,
                       Value kv_head, const Rows &rows, Value first, Value end);

Sequence sequenceOf(const Config &c, const Cache &cache, const Sizes32 &n, Value batch);

std::vector<ArgumentSpec> joined(std::vector<ArgumentSpec> first, const std::vector<std::vector<ArgumentSpec>> &more);
/// Returns the tensors of a program that stand at the end of its arguments.
std::vector<TensorArg> listed(const std::vector<ArgumentSpec> &arguments);
/// Returns q, k and, unless it is a part of k, v.
std::vector<ArgumentSpec> keysOf(bool latent, const TensorSpec &q, const TensorSpec &k, const TensorSpec &v);

/// Records a kernel whose first arguments these are.
template <class Kernel, class... Args>
auto recordKeys(const char *name, bool latent, const TensorSpec &q, const TensorSpec &k, const TensorSpec &v,
                const Kernel &kernel, const std::vector<TensorArg> &list, const Args &...args) {
  using Rest = std::span<const View>;
  const auto without = [&](View q, View k, const Recorded<Args> &...rest, Rest views) {
    return kernel(q, k, std::nullopt, rest..., views);
  };
  const auto with = [&](View q, View k, View v, const Recorded<Args> &...rest, Rest views) {
    return kernel(q, k, v, rest..., views);
  };
  return latent ? recordList(name, without, list, arg(q), arg(k), args...)
                : recordList(name, with, list, arg(q), arg(k), arg(v), args...);
}

/// Returns the most keys of a tile, at most `most`, a power of two. If each tile lies in one page, the number divides
/// page_size.
inline int keysOfTile(const DecodeProblem &problem, int most) {
  const bool mayCrossPages = problem.page_size == 0 || !hasWholeTiles(problem);
  return mayCrossPages ? most : std::min(problem.page_size & -problem.page_size, most);
}

/// Returns the schedule of the kernels that read the keys of sequences.
Schedule scheduleOf(const DecodeProblem &problem, const Target &target);
/// Returns the arguments for the tensors of a variant.
std::vector<ArgumentSpec> variantTensors(const Variant &variant);

} // namespace tegula::decoding
