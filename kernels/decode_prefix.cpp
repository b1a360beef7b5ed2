// SPDX-License-Identifier: MIT
#include "decode_prefix.h"

#include "arguments.h"
#include "plan_check.h"
#include "spec_arguments.h"

#include <algorithm>

namespace tegula::decoding {
namespace {

const Size kParts("num_prefix_parts");
constexpr int kManyRows = 64; ///< The rows of a full tile, as scheduleOf() counts them.

/// Returns the problem whose only sequence is the prefix.
DecodeProblem problemOf(const DecodeProblem &problem) {
  DecodeProblem prefix = problem;
  prefix.page_offsets = prefix.begins = prefix.prefix = false;
  prefix.lengths = CacheLengths::all;
  return prefix;
}

/// Returns the schedule for tiles that are full of rows.
Schedule fullTiles(DecodeProblem problem, const Target &target) {
  problem.expected_rows = kManyRows;
  const Schedule schedule = scheduleOf(problem, target);
  const int columns = std::max(problem.head_dim, problem.value_dim);
  if (problem.schedule != Schedule() || target.name == "cpu" || columns > kUsualHeadDim)
    return schedule;
  const int bytesOfRow = columns * int(sizeOf(problem.dtype));
  if (bytesOfRow > 512)
    return {.block_m = 16, .block_n = 16, .num_warps = 4, .num_stages = 1};
  const bool isWide = bytesOfRow > 256;
  const auto keys = [&](int most) { return keysOfTile(problem, most); };
  if (schedule.roles != Roles::load)
    return {.block_m = isWide ? 32 : 64, .block_n = keys(32), .num_warps = 4, .num_stages = isWide ? 1 : 2};
  return {.block_m = isWide ? 64 : 128,
          .block_n = keys(isWide ? 64 : 128),
          .num_warps = isWide ? 4 : 8,
          .num_stages = 2,
          .roles = Roles::load};
}

Size rowsOfHead() { return kBatch * (kHeads / kKvHeads) * kQueries; }

/// Returns the keys or values of a prefix without pages.
TensorSpec ofKeys(const DecodeProblem &problem, const char *name, int columns) {
  return input(name, problem.dtype, {1, kKvHeads, Size("prefix_keys"), columns});
}

TensorSpec partsOfPrefix(const DecodeProblem &problem) {
  return workspace("prefix_parts", f32, {kKvHeads, kParts, rowsOfHead(), problem.value_dim});
}
TensorSpec lseOfPrefix() { return workspace("prefix_lse", f32, {kKvHeads, kParts, rowsOfHead()}); }
TensorSpec prefixLengths() { return input("prefix_lengths", i32, {1}); }
/// Returns the number of keys of each sequence together with the prefix.
TensorSpec allKeys() { return workspace("all_keys", i32, {kBatch}); }

/// Returns the page table of the prefix; nothing without pages.
std::vector<ArgumentSpec> pageTable(const DecodeProblem &problem) {
  if (problem.page_size == 0)
    return {};
  return {input("prefix_page_table", i32, {1, Size("pages_of_prefix")})};
}

/// Returns rows of the sequences of `q`, one sequence after another.
Rows rowsFrom(Value first, int count, const Sizes32 &n, View q, View all_keys, View sizes, Value kv_head) {
  const Value row = narrow(first) + iota(count), ofSequence = n.group * n.queries;
  const Value batch = row / ofSequence, inSequence = row % ofSequence;
  const Value head = select(batch < narrow(q.dim(0)), narrow(kv_head) * n.group + inSequence / n.queries, -1);
  return {first,
          head,
          inSequence % n.queries,
          {asColumn(batch), asColumn(all_keys.gather(batch)), sizes.gather(kLeastKeys), sizes.gather(kMostKeys)}};
}

/// Computes attention of a tile of rows on a part of the prefix.
void decodePrefix(const Config &c, const DecodeViews &views, View all_keys, View sizes, View parts, View lse) {
  const Sizes32 n(views.q, views.k);
  const Value part = programId(0), first_row = programId(1) * c.schedule.block_m, kv_head = programId(2);
  const Sequence prefix = sequenceOf(c, views.cache, n, constant(DType::index, 0));
  const Rows rows = rowsFrom(first_row, c.schedule.block_m, n, views.q, all_keys, sizes, kv_head);

  const int block_n = c.schedule.block_n;
  const Value end = prefix.keys.end, blocks = ceilDiv(end, block_n);
  const Value seen = firstKey(c, {prefix.keys.begin, rows.sequences->least}, n.queries) / block_n;
  // Parts of a fixed size begin at multiples of it, whatever the shortest sequence sees.
  const bool isFixed = c.problem.keys_per_part != 0;
  const Value origin = isFixed ? constant(i32, 0) : seen;
  const Value ofPart = max(ceilDiv(blocks - origin, narrow(parts.dim(1))), c.unit());
  const Value begin = origin + narrow(part) * ofPart;
  const SoftmaxPart result = decodePart(c, views, prefix, n, kv_head, rows, wide(max(begin, seen) * block_n),
                                        wide(min((begin + ofPart) * block_n, end)));
  parts.at(kv_head, part).store(first_row, result.output);
  lse.at(kv_head, part).store(first_row, result.lse);
}

} // namespace

TensorSpec prefixSizes() { return workspace("prefix_sizes", i32, {kPrefixSizes}); }

std::vector<ArgumentSpec> prefixCache(const DecodeProblem &problem) {
  if (!problem.prefix)
    return {};
  const std::vector<ArgumentSpec> table = pageTable(problem);
  return {allKeys(), prefixLengths(), table.empty() ? ofKeys(problem, "prefix_k", problem.head_dim) : table.front()};
}

std::vector<ArgumentSpec> prefixParts(const DecodeProblem &problem) {
  if (!problem.prefix)
    return {};
  return {partsOfPrefix(problem), lseOfPrefix()};
}

Size prefixCapacity(const DecodeProblem &problem) {
  if (!problem.prefix)
    return 0;
  return problem.page_size != 0 ? Size("pages_of_prefix") * problem.page_size : Size("prefix_keys");
}

Size numPrefixParts(const DecodeProblem &problem, const Target &target) {
  const Schedule schedule = fullTiles(problem, target);
  const Size tiles = max(ceilDiv(rowsOfHead(), schedule.block_m) * kKvHeads, 1);
  const Size most = max(ceilDiv(prefixCapacity(problem), std::max(problem.keys_per_part, schedule.block_n)), 1);
  return problem.keys_per_part != 0 ? most : min(max(concurrency() / tiles, 1), most);
}

void storePrefixSizes(const Config &c, View q, View k, const Cache &cache, Value batch) {
  const View all_keys = cache.others[0], lengths = cache.others[1], keys = cache.others[2];
  const bool hasPages = c.problem.page_size != 0;
  const Config of_prefix{problemOf(c.problem), c.schedule};
  const Cache prefix(of_prefix, q, hasPages ? k : keys, lengths, cache.others.subspan(hasPages ? 2 : 3));
  const Value before = prefix.gather(constant(DType::index, 0)).end, isFirst = programId(0) == 0;
  Var least = fill({1}, int(kMaxDiagonal)), most = fill({1}, 0);
  for (Value first : range(0, batch, kChunk)) {
    const Value isSequence = narrow(first) + iota(kChunk) < narrow(batch);
    const Value count = before + cache.load(first, kChunk).end;
    all_keys.storeWhere(isFirst, first, count);
    least = min(least, reduceMin(select(isSequence, count, int(kMaxDiagonal)), 0));
    most = max(most, reduceMax(select(isSequence, count, 0), 0));
  }
  const Value sizes[kPrefixSizes] = {fill({1}, 0) + before, least, most};
  for (int n = 0; n < kPrefixSizes; ++n)
    cache.prefix()->storeWhere(isFirst, n, sizes[n]);
}

KernelSpec prefixKernel(const DecodeProblem &problem, const Target &target, const TensorSpec &q, const TensorSpec &of_k,
                        const TensorSpec &of_v) {
  const Config c{problemOf(problem), fullTiles(problem, target)};
  const bool hasPages = problem.page_size != 0;
  const TensorSpec k = hasPages ? of_k : ofKeys(problem, "prefix_k", problem.head_dim),
                   v = hasPages ? of_v : ofKeys(problem, "prefix_v", problem.value_dim);
  const std::vector<ArgumentSpec> more = joined(pageTable(problem), {variantTensors(problem.variant)});
  const auto record = [=, list = listed(more)](const Sizes &) {
    const auto kernel = [&](View q, View k, std::optional<View> v, View lengths, View all_keys, View sizes, View parts,
                            View lse, Value scale, std::span<const View> views) {
      decodePrefix(c, {q, k, v, scale, Cache(c, q, k, lengths, views)}, all_keys, sizes, parts, lse);
    };
    return recordKeys("decode_prefix", problem.latent, q, k, v, kernel, list, arg(prefixLengths()), arg(allKeys()),
                      arg(prefixSizes()), arg(partsOfPrefix(problem)), arg(lseOfPrefix()), ScalarArg{"scale", f32});
  };
  return KernelSpec::ofPrograms(
             "decode_prefix",
             joined(keysOf(problem.latent, q, k, v), {{prefixLengths(), allKeys(), prefixSizes(),
                                                       partsOfPrefix(problem), lseOfPrefix(), scalar("scale", f32)},
                                                      more}),
             record)
      .grid(kParts, ceilDiv(rowsOfHead(), c.schedule.block_m), kKvHeads)
      .defaults(c.schedule);
}

} // namespace tegula::decoding
