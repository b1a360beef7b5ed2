// SPDX-License-Identifier: MIT
#include "workload/blocks_json.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tegula::tools {
namespace {

using nlohmann::json;
using Lists = GivenBlocks::Lists;

constexpr const char *kBlockSize = "BLOCK_SIZE";

/// The names of the lists of one kind.
struct Kind {
  const char *counts, *indices;
};
constexpr Kind kPartial = {"kv_num_blocks", "kv_indices"}, kFull = {"full_kv_num_blocks", "full_kv_indices"};
constexpr Kind kPartialTransposed = {"q_num_blocks", "q_indices"},
               kFullTransposed = {"full_q_num_blocks", "full_q_indices"};

template <class... Arguments> Status wrong(fmt::format_string<Arguments...> text, Arguments &&...arguments) {
  return {ErrorCode::invalid_argument, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

/// A part of the file.
struct Entry {
  const json &value;
  std::string place; ///< Such as "kv_indices[0][1]".

  Entry at(int64_t index) const { return {value[size_t(index)], fmt::format("{}[{}]", place, index)}; }
  int64_t size() const { return int64_t(value.size()); }
};

/// Returns a short text for what a value is.
std::string describe(const json &value) {
  if (value.is_array())
    return "an array";
  return value.is_object() ? "an object" : value.dump();
}

Status checkArray(const Entry &entry) {
  return entry.value.is_array() ? Status()
                                : wrong("'{}' is {}; it must be an array", entry.place, describe(entry.value));
}

Status checkLength(const Entry &entry, int64_t length, std::string_view why) {
  TEGULA_RETURN_IF_ERROR(checkArray(entry));
  return entry.size() == length
             ? Status()
             : wrong("'{}' has {} entries; it must have {}, {}", entry.place, entry.size(), length, why);
}

/// Returns the length of an array of which there is one entry for all, or one for each of `count`.
Expected<int64_t> sharedLength(const Entry &entry, int64_t count, std::string_view of) {
  TEGULA_RETURN_IF_ERROR(checkArray(entry));
  if (entry.size() != 1 && entry.size() != count)
    return wrong("'{}' has {} entries; it must have 1, or {}, one for each {}", entry.place, entry.size(), count, of);
  return entry.size();
}

Expected<int64_t> numberOf(const Entry &entry, int64_t first, int64_t last, std::string_view why) {
  const json &value = entry.value;
  const bool isNumber =
      value.is_number_integer() &&
      (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max()));
  if (isNumber && value.get<int64_t>() >= first && value.get<int64_t>() <= last)
    return value.get<int64_t>();
  return wrong("'{}' is {}; it must be a whole number from {} to {}{}", entry.place, describe(value), first, last, why);
}

/// The sizes of lists. The transposed ones have rows of keys, which list blocks of queries.
struct Sizes {
  int64_t batch, heads, rows, blocks;
};

/// Reads one list. `taken` are the blocks that the row lists already.
Expected<std::vector<int32_t>> readList(const Entry &count, const Entry &indices, int64_t blocks,
                                        std::set<int64_t> &taken) {
  TEGULA_RETURN_IF_ERROR(checkArray(indices));
  const Expected<int64_t> length =
      numberOf(count, 0, indices.size(), fmt::format(", the length of '{}'", indices.place));
  if (!length)
    return length.status();
  std::vector<int32_t> list;
  for (int64_t n = 0; n < *length; ++n) {
    const Entry entry = indices.at(n);
    const Expected<int64_t> block =
        numberOf(entry, 0, blocks - 1, fmt::format(", because there are {} blocks", blocks));
    if (!block)
      return block.status();
    if (!taken.insert(*block).second)
      return wrong("'{}' is {}, which this row lists already; a block must be listed once", entry.place, *block);
    list.push_back(int32_t(*block));
  }
  return list;
}

/// Reads the lists of one kind, and adds their blocks to `taken`, which has a set for each row.
Expected<Lists> readLists(const json &file, const Kind &kind, const Sizes &sizes,
                          std::vector<std::set<int64_t>> &taken) {
  Lists lists;
  const Entry counts{file.at(kind.counts), kind.counts}, indices{file.at(kind.indices), kind.indices};
  for (const Entry &all : {counts, indices})
    TEGULA_RETURN_IF_ERROR(checkLength(all, sizes.batch, "as 'kv_num_blocks' has"));
  for (int64_t batch = 0; batch < sizes.batch; ++batch) {
    for (const Entry &all : {counts, indices})
      TEGULA_RETURN_IF_ERROR(checkLength(all.at(batch), sizes.heads, "as 'kv_num_blocks[0]' has"));
    for (int64_t head = 0; head < sizes.heads; ++head) {
      for (const Entry &all : {counts, indices})
        TEGULA_RETURN_IF_ERROR(checkLength(all.at(batch).at(head), sizes.rows, "one for each row of blocks"));
      for (int64_t row = 0; row < sizes.rows; ++row) {
        Expected<std::vector<int32_t>> list = readList(
            counts.at(batch).at(head).at(row), indices.at(batch).at(head).at(row), sizes.blocks, taken[lists.size()]);
        if (!list)
          return list.status();
        lists.push_back(std::move(*list));
      }
    }
  }
  return lists;
}

bool has(const json &file, const char *name) { return file.contains(name) && !file.at(name).is_null(); }

/// Returns true if the file has lists of this kind.
Expected<bool> hasLists(const json &file, const Kind &kind) {
  const bool counts = has(file, kind.counts), indices = has(file, kind.indices);
  if (counts == indices)
    return counts;
  return wrong("'{}' is missing; '{}' needs it", counts ? kind.indices : kind.counts,
               counts ? kind.counts : kind.indices);
}

/// Returns the lists of rows of keys that list blocks of queries.
Lists transposed(const Lists &lists, const Sizes &sizes) {
  Lists result(size_t(sizes.batch * sizes.heads * sizes.blocks));
  for (size_t row = 0; row < lists.size(); ++row)
    for (int32_t block : lists[row])
      result[row / size_t(sizes.rows) * size_t(sizes.blocks) + size_t(block)].push_back(
          int32_t(row % size_t(sizes.rows)));
  return result;
}

/// Checks that transposed lists, if there are any, say the same as the others.
Status checkTransposed(const json &file, const Kind &kind, const Kind &of, const Lists &lists, const Sizes &sizes) {
  const Expected<bool> given = hasLists(file, kind);
  if (!given || !*given)
    return given.status();
  std::vector<std::set<int64_t>> taken(size_t(sizes.batch * sizes.heads * sizes.blocks));
  Expected<Lists> read = readLists(file, kind, {sizes.batch, sizes.heads, sizes.blocks, sizes.rows}, taken);
  if (!read)
    return read.status();
  const Lists expected = transposed(lists, sizes);
  for (size_t row = 0; row < expected.size(); ++row) {
    std::ranges::sort((*read)[row]);
    if ((*read)[row] != expected[row])
      return wrong("'{}[{}][{}][{}]' lists other blocks than the transposed '{}'; leave out '{}' and '{}', which are "
                   "not needed",
                   kind.indices, int64_t(row) / sizes.blocks / sizes.heads, int64_t(row) / sizes.blocks % sizes.heads,
                   int64_t(row) % sizes.blocks, of.indices, kind.counts, kind.indices);
  }
  return {};
}

/// Checks that the file is an object, all of whose names are known.
Status checkNames(const json &file) {
  std::vector<std::string> names = {kBlockSize};
  for (const Kind &kind : {kPartial, kFull, kPartialTransposed, kFullTransposed})
    names.insert(names.end(), {kind.counts, kind.indices});
  if (!file.is_object())
    return wrong("it is {}; it must be an object with '{}' and '{}'", describe(file), kPartial.counts,
                 kPartial.indices);
  for (const auto &[name, value] : file.items())
    if (std::ranges::find(names, name) == names.end())
      return wrong("'{}' is not one of {}", name, fmt::join(names, ", "));
  for (const char *name : {kPartial.counts, kPartial.indices})
    if (!has(file, name))
      return wrong("'{}' is missing", name);
  return {};
}

Status readBlockSize(const json &file, GivenBlocks &blocks) {
  constexpr int64_t largest = (int64_t(1) << 30) - 1024;
  if (!has(file, kBlockSize))
    return {};
  const Entry size{file.at(kBlockSize), kBlockSize};
  if (size.value.is_array())
    TEGULA_RETURN_IF_ERROR(checkLength(size, 2, "the queries and the keys of a block"));
  const bool isPair = size.value.is_array();
  const Expected<int64_t> queries = numberOf(isPair ? size.at(0) : size, 1, largest, ""),
                          keys = numberOf(isPair ? size.at(1) : size, 1, largest, "");
  if (!queries || !keys)
    return queries ? keys.status() : queries.status();
  blocks.block_q = *queries;
  blocks.block_k = *keys;
  return {};
}

} // namespace

Expected<GivenBlocks> parseBlocks(const std::string &text, const AttentionShape &shape) {
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded())
    return wrong("it is not JSON");
  TEGULA_RETURN_IF_ERROR(checkNames(file));
  GivenBlocks blocks;
  TEGULA_RETURN_IF_ERROR(readBlockSize(file, blocks));
  const Entry counts{file.at(kPartial.counts), kPartial.counts};
  const Expected<int64_t> batch = sharedLength(counts, shape.batch, "batch entry");
  if (!batch)
    return batch.status();
  const Expected<int64_t> heads = *batch > 0 ? sharedLength(counts.at(0), shape.heads, "head") : 1;
  if (!heads)
    return heads.status();
  const Sizes sizes{*batch, *heads, (shape.seqlen_q + blocks.block_q - 1) / blocks.block_q,
                    (shape.seqlen_k + blocks.block_k - 1) / blocks.block_k};
  blocks.batch = *batch;
  blocks.heads = *heads;
  blocks.rows = sizes.rows;
  std::vector<std::set<int64_t>> taken(size_t(sizes.batch * sizes.heads * sizes.rows));
  Expected<Lists> partial = readLists(file, kPartial, sizes, taken);
  if (!partial)
    return partial.status();
  blocks.partial = std::move(*partial);
  const Expected<bool> hasFull = hasLists(file, kFull);
  if (!hasFull)
    return hasFull.status();
  Expected<Lists> full = *hasFull ? readLists(file, kFull, sizes, taken) : Lists(taken.size());
  if (!full)
    return full.status();
  blocks.full = std::move(*full);
  TEGULA_RETURN_IF_ERROR(checkTransposed(file, kPartialTransposed, kPartial, blocks.partial, sizes));
  TEGULA_RETURN_IF_ERROR(checkTransposed(file, kFullTransposed, kFull, blocks.full, sizes));
  return blocks;
}

std::string toJson(const GivenBlocks &blocks) {
  json file = {{kBlockSize, {blocks.block_q, blocks.block_k}}};
  for (const auto &[kind, lists] : {std::pair(kPartial, &blocks.partial), std::pair(kFull, &blocks.full)}) {
    json counts = json::array(), indices = json::array();
    for (int64_t batch = 0, row = 0; batch < blocks.batch; ++batch)
      for (int64_t head = 0; head < blocks.heads; ++head) {
        json counts_of_head = json::array(), indices_of_head = json::array();
        for (int64_t end = row + blocks.rows; row < end; ++row) {
          counts_of_head.push_back((*lists)[size_t(row)].size());
          indices_of_head.push_back((*lists)[size_t(row)]);
        }
        counts[size_t(batch)].push_back(std::move(counts_of_head));
        indices[size_t(batch)].push_back(std::move(indices_of_head));
      }
    file[kind.counts] = std::move(counts);
    file[kind.indices] = std::move(indices);
  }
  return file.dump();
}

} // namespace tegula::tools
