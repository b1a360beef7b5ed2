// SPDX-License-Identifier: MIT
// Decoding (FlashDecoding, Dao et al. 2023), for sequences of any lengths. A run is the keys of one head of k in one
// sequence. Runs stand in a row, head after head, sequence after sequence, and are cut in blocks of keys. Each program
// instance works on a span of this row; all spans have the same number of blocks. The part of a run that lies in a span
// is computed and stored by itself:
//
//   runs    |      0      |  1  |         2           |
//   spans   |    0    |    1    |    2    |    3      |
//   parts   |  0.0    |0.1|1.1|2.1|  2.2  |   2.3     |       run.span
//
// Part r.s has the place r + s. No other part has this place, because from one part to the next the run, the span or
// both advance. The parts of a run have places one after another.
#include "tegula/decode.h"

#include "arguments.h"
#include "narrow.h"
#include "plan_check.h"
#include "scores.h"
#include "tegula/guard.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int kChunk = 128;     ///< Sequences that `decode_spans` looks at together.
constexpr int kSpansAtOnce = 8; ///< Spans that an instance of it computes. More make code that takes longer to fetch.
constexpr int kPartsTogether = 32;                ///< Parts of a run that `decode_merge` adds at once.
constexpr int64_t kMostBlocks = int64_t(1) << 30; ///< Programs count blocks with 32 bits.
constexpr int kLastKeys = 16; ///< Keys of a tile after the last whole block; block_n is a multiple of it.

/// The columns of `spans`. A span has the runs and the blocks from a first one to one before an end.
constexpr int kFirstRun = 0, kEndRun = 1, kFirstBlock = 2, kEndBlock = 3, kSpanColumns = 4;

struct Config {
  DecodeProblem problem;
  Schedule schedule; ///< Has block_m, the rows of a tile, and block_n, the keys of a block.
};

/// Returns the first key that the first query of a sequence sees, as far as bands tell. `length` is a scalar or a tile.
Value firstKey(const Config &c, Value length, Value queries) {
  std::optional<int64_t> left;
  for (const Band &band : c.problem.variant.bands)
    if (band.left)
      left = std::min(*band.left, left.value_or(kMaxWindow));
  return left ? max(length - queries - *left, 0) : constant(i32, 0);
}

/// The blocks of keys that a program visits in a sequence.
struct Blocks {
  Blocks(const Config &c, Value length, Value queries)
      : first(firstKey(c, length, queries) / c.schedule.block_n),
        count(max(ceilDiv(length, c.schedule.block_n) - first, 0)) {}
  Value first, count;
};

/// Returns a length that no memory contradicts.
Value clipped(Value length, Value capacity) { return min(max(length, 0), capacity); }

/// Sizes of a launch, i32.
struct Sizes32 {
  Sizes32(View q, View k) : queries(narrow(q.dim(2))), kv_heads(narrow(k.dim(1))), group(narrow(q.dim(1)) / kv_heads) {}
  Value queries, kv_heads;
  Value group; ///< Query heads of a head of k.
};

/// Returns the most keys that a sequence can have.
Value capacityOf(const Config &c, View k, std::span<const View> table) {
  return narrow(table.empty() ? k.dim(2) : table.front().dim(1) * c.problem.page_size);
}

/// Writes `starts` [batch], the blocks of one head in all sequences before each one, and `spans` [spans, kSpanColumns].
void decodeSpans(const Config &c, View Q, View K, View lengths, View starts, View spans, std::span<const View> table) {
  const Sizes32 n(Q, K);
  const Value capacity = capacityOf(c, K, table);
  const auto blocksOf = [&](Value length) { return Blocks(c, clipped(length, capacity), n.queries).count; };

  Var all = fill({1}, 0);
  for (Value first : range(0, lengths.dim(0), kChunk)) {
    Value isSequence = cast(i32, first) + iota(kChunk) < narrow(lengths.dim(0));
    all = all + reduceSum(select(isSequence, blocksOf(lengths.load(first, {kChunk})), 0), 0);
  }
  const Value total = all * n.kv_heads, perSpan = max(ceilDiv(total, narrow(spans.dim(0))), 1); // [1]
  const Value number = narrow(programId(0)) * kSpansAtOnce + iota(kSpansAtOnce);                // [kSpansAtOnce]
  const Value begin = min(number * perSpan, total), end = min(begin + perSpan, total);

  // The run of a block: all sequences that end before it, and then heads of the next one.
  struct Place {
    Value block;
    Var sequence = fill({kSpansAtOnce}, 0), before = fill({kSpansAtOnce}, 0);
  } places[] = {{begin}, {max(end - 1, 0)}};
  Var earlier = fill({1}, 0);
  for (Value first : range(0, lengths.dim(0), kChunk)) {
    Value isSequence = cast(i32, first) + iota(kChunk) < narrow(lengths.dim(0));
    Value blocks = select(isSequence, blocksOf(lengths.load(first, {kChunk})), 0); // [kChunk]
    Value ends = earlier + cumsum(blocks, 0);
    starts.storeWhere(programId(0) == 0, first, ends - blocks);
    for (Place &place : places) {
      Value isBefore =
          (asRow(ends * n.kv_heads) <= asColumn(place.block)) & asRow(isSequence); // [kSpansAtOnce, kChunk]
      place.sequence = place.sequence + reduceSum(select(isBefore, 1, 0), 1);
      place.before = place.before + reduceSum(select(isBefore, asRow(blocks), 0), 1);
    }
    earlier = earlier + reduceSum(blocks, 0);
  }
  const auto runOf = [&](const Place &place) {
    Value blocks = blocksOf(lengths.gather(place.sequence));
    return place.sequence * n.kv_heads + (place.block - place.before * n.kv_heads) / max(blocks, 1);
  };
  const Value firstRun = runOf(places[0]), lastRun = runOf(places[1]);
  const Value columns[kSpanColumns] = {firstRun, select(begin < end, lastRun + 1, firstRun), begin, end};
  for (int column = 0; column < kSpanColumns; ++column)
    spans.store({programId(0) * kSpansAtOnce, column}, asColumn(columns[column]));
}

/// The rows of a tile: queries of all query heads that share a head of k, the queries of a head one after another.
struct Rows {
  Rows(const Sizes32 &n, Value first, int count, Value kv_head) : Rows(n, narrow(first) + iota(count), kv_head) {}
  Value head, query; ///< i32 [count]; a head of -1 has no elements in any tensor.

private:
  Rows(const Sizes32 &n, const Value &row, Value kv_head)
      : head(select(row < n.group * n.queries, kv_head * n.group + row / n.queries, -1)), query(row % n.queries) {}
};

/// A sequence of a launch.
struct Sequence {
  Value batch, length;
  Blocks blocks;
};

/// The condition of the scores of a tile, and what the variant makes of them.
class DecodeScores {
public:
  DecodeScores(const Config &c, const Sizes32 &n, const Sequence &sequence, const Rows &rows, VariantViews tensors)
      : c_(c), bands_(c.problem.variant.bands),
        tensors_(tensors), head_{sequence.batch, asColumn(rows.head), wide(n.queries), wide(sequence.length)},
        query_(asColumn(rows.query)) {
    if (c.problem.causal)
      bands_.push_back({std::nullopt, 0, Alignment::bottom_right});
  }

  /// Returns the scores of `keys` keys from `key` on, -inf where there are none. Only a `last` tile may reach beyond
  /// the last key.
  Value operator()(Value s, Value key, int keys, bool last) const {
    const Variant &variant = c_.problem.variant;
    const ScoreIndex index{head_, query_, asRow(key + iota(keys)), c_.problem.dtype};
    const Value firstOfDiagonal = narrow(head_.seqlen_k - head_.seqlen_q), lastOfDiagonal = narrow(head_.seqlen_k) - 1;
    std::optional<Value> seen;
    const auto add = [&](Value condition) { seen.emplace(seen ? *seen & condition : condition); };
    if (last)
      add(index.key < index.seqlen_k);
    for (const Band &band : bands_) { // A scalar tells that a band has the whole tile.
      const Value diagonal = index.diagonal(Alignment::bottom_right);
      if (band.right)
        add((narrow(key) + (keys - 1) <= firstOfDiagonal + *band.right) | (index.key <= diagonal + *band.right));
      if (band.left)
        add((narrow(key) >= lastOfDiagonal - *band.left) | (index.key >= diagonal - *band.left));
    }
    if (variant.mask)
      add(variant.maskAt(index, tensors_));
    const Value score = variant.score ? variant.scoreAt(s, index, tensors_) : s;
    return seen ? select(*seen, score, -infinity) : score;
  }

private:
  const Config &c_;
  std::vector<Band> bands_;
  VariantViews tensors_;
  HeadIndex head_;
  Value query_;
};

/// The tensors of `decode`.
struct DecodeViews {
  View q, k, v, lengths, starts, spans, parts, part_lse;
  Value scale;
  std::span<const View> table, tensors;
};

/// Computes a part: attention of the rows of `rows` on the keys `first` to `end` - 1, multiples of block_n except for
/// the last key.
SoftmaxPart decodePart(const Config &c, const DecodeViews &views, const Sequence &sequence, const Sizes32 &n,
                       Value kv_head, const Rows &rows, Value first, Value end) {
  const int block_n = c.schedule.block_n, page = c.problem.page_size;
  const DecodeScores scores(c, n, sequence, rows, views.tensors);
  const Value q =
      views.q.gather(sequence.batch, asColumn(rows.head), asColumn(rows.query), asRow(iota(c.problem.head_dim)));
  OnlineSoftmax softmax(c.schedule.block_m, c.problem.value_dim);
  const auto load = [&](View x, Value key, int keys, int columns) {
    const Value owner = page != 0 ? wide(views.table.front().gather(sequence.batch, key / page)) : sequence.batch;
    return x.at(owner, kv_head).load(page != 0 ? key % page : key, {keys, columns});
  };
  const auto add = [&](Value key, int keys, bool last) {
    Value k = load(views.k, key, keys, c.problem.head_dim);
    Var v = load(views.v, key, keys, c.problem.value_dim);
    if (last) // What lies after the last key may be NaN.
      v = select(asColumn(key + iota(keys)) < end, v, constant(c.problem.dtype, 0));
    softmax.update(scores(dot(q, transpose(k)) * views.scale, key, keys, last), v);
  };
  const Value whole = max(end / block_n * block_n, first);
  for (Value key : range(first, whole, block_n))
    add(key, block_n, false);
  for (Value key : range(whole, end, kLastKeys))
    add(key, kLastKeys, true);
  return {softmax.output(), softmax.logSumExp()};
}

void decode(const Config &c, const DecodeViews &views) {
  const Sizes32 n(views.q, views.k);
  const Value span = programId(0), capacity = capacityOf(c, views.k, views.table);
  const Value begin = views.spans.gather(span, kFirstBlock), end = views.spans.gather(span, kEndBlock);
  const Value firstRun = views.spans.gather(span, kFirstRun), endRun = views.spans.gather(span, kEndRun);
  for (Value run : parallelRange(wide(firstRun), wide(endRun))) {
    const Value batch = wide(narrow(run) / n.kv_heads), kv_head = wide(narrow(run) % n.kv_heads);
    const Value length = clipped(views.lengths.gather(batch), capacity);
    const Sequence sequence{batch, length, Blocks(c, length, n.queries)};
    const Value start = views.starts.gather(batch) * n.kv_heads + narrow(kv_head) * sequence.blocks.count;
    const Value first = sequence.blocks.first + max(begin - start, 0);
    const Value last = sequence.blocks.first + min(end - start, sequence.blocks.count);
    const Value row = programId(1) * c.schedule.block_m;
    const SoftmaxPart part =
        decodePart(c, views, sequence, n, kv_head, Rows(n, row, c.schedule.block_m, narrow(kv_head)),
                   wide(first * c.schedule.block_n), wide(min(last * c.schedule.block_n, length)));
    views.parts.at(run + span).store(row, part.output);
    views.part_lse.at(run + span).store(row, part.lse);
  }
}

/// Merges the parts of a row of a run. `sinks` is a view of f32 [heads], if there are sinks.
void decodeMerge(const Config &c, View Q, View K, View lengths, View starts, View spans, View parts, View part_lse,
                 View O, View L, std::span<const View> table, std::span<const View> sinks) {
  const Sizes32 n(Q, K);
  const Value row = programId(0), kv_head = programId(1), batch = programId(2);
  const Value head = wide(narrow(kv_head) * n.group + narrow(row) / n.queries), query = wide(narrow(row) % n.queries);
  const Blocks blocks(c, clipped(lengths.gather(batch), capacityOf(c, K, table)), n.queries);
  const Value start = starts.gather(batch) * n.kv_heads + narrow(kv_head) * blocks.count;
  const Value perSpan = max(spans.gather(0, kEndBlock), 1); // Span 0 begins with block 0.
  const Value run = narrow(batch) * n.kv_heads + narrow(kv_head);
  const Value first = run + start / perSpan, last = run + (start + blocks.count - 1) / perSpan;
  const Value end = select(blocks.count > 0, last + 1, first);
  const auto placesFrom = [&](Value place) { // [kPartsTogether], -1 where there is no part.
    Value at = narrow(place) + iota(kPartsTogether);
    return select(at < end, at, -1);
  };
  const auto lseAt = [&](Value places) { return select(places < 0, -infinity, part_lse.gather(places, row)); };

  Var most = sinks.empty() ? fill({1}, -infinity) : fill({1}, sinks.front().gather(head));
  Var sum = select(most == -infinity, 0.0, fill({1}, 1.0));
  for (Value place : range(wide(first), wide(end), kPartsTogether)) {
    Value lse = lseAt(placesFrom(place)), higher = max(most, reduceMax(lse, 0));
    Value origin = select(higher == -infinity, 0.0, higher);
    sum = sum * exp(most - origin) + reduceSum(exp(lse - origin), 0);
    most = higher;
  }
  const Value lse = select(sum == 0.0, -infinity, most + log(sum)), origin = select(sum == 0.0, 0.0, lse); // [1]

  Var o = fill({c.problem.value_dim}, 0.0);
  for (Value place : range(wide(first), wide(end), kPartsTogether)) {
    Value places = placesFrom(place), weight = exp(lseAt(places) - origin); // [kPartsTogether]
    Value tile = parts.gather(asColumn(places), row, asRow(iota(c.problem.value_dim)));
    o = o + reduceSum(asColumn(weight) * tile, 0);
  }
  O.at(batch, head, query).store(0, o);
  L.at(batch, head).store(query, lse);
}

//===-- Plan -----------------------------------------------------------------------------------------------------===//

const Size kBatch("batch"), kHeads("heads"), kKvHeads("kv_heads"), kQueries("seqlen_q"), kSpans("num_spans");

/// Returns the arguments of a kernel that its program needs only for some problems.
std::vector<ArgumentSpec> pageTable(const DecodeProblem &problem) {
  if (problem.page_size == 0)
    return {};
  return {input("page_table", i32, {kBatch, Size("pages_of_sequence")})};
}

std::vector<ArgumentSpec> sinkTensor(const DecodeProblem &problem) {
  if (!problem.sinks)
    return {};
  return {input("sinks", f32, {kHeads})};
}

std::vector<ArgumentSpec> variantTensors(const Variant &variant) {
  std::vector<ArgumentSpec> arguments;
  for (const VariantTensor &tensor : variant.tensors) {
    std::vector<Size> shape = freeShape(tensor.name, tensor.rank());
    for (size_t axis = 0; axis < tensor.axes.size(); ++axis)
      switch (tensor.axes[axis]) {
      case Axis::batch:
        shape[axis] = kBatch;
        break;
      case Axis::heads:
        shape[axis] = kHeads;
        break;
      case Axis::kv_heads:
        shape[axis] = kKvHeads;
        break;
      case Axis::seqlen_q:
        shape[axis] = kQueries;
        break;
      case Axis::seqlen_k:
      case Axis::up_to_seqlen_k:
      case Axis::any: // The kernel reads 0 beyond the tensor.
        break;
      }
    arguments.push_back(input(tensor.name, tensor.dtype, std::move(shape)));
  }
  return arguments;
}

std::vector<ArgumentSpec> joined(std::vector<ArgumentSpec> first, const std::vector<std::vector<ArgumentSpec>> &more) {
  for (const std::vector<ArgumentSpec> &part : more)
    first.insert(first.end(), part.begin(), part.end());
  return first;
}

/// Returns the parameter of a program for a tensor.
TensorArg arg(const TensorSpec &tensor) { return {tensor.name, tensor.dtype, int(tensor.shape.size())}; }

/// Returns the tensors of a program that stand at the end of its arguments.
std::vector<TensorArg> listed(const std::vector<ArgumentSpec> &arguments) {
  std::vector<TensorArg> list;
  for (const ArgumentSpec &argument : arguments)
    list.push_back(arg(std::get<TensorSpec>(argument)));
  return list;
}

/// The tensors that all problems have.
struct Shared {
  explicit Shared(const DecodeProblem &p)
      : q(input("q", p.dtype, {kBatch, kHeads, kQueries, p.head_dim})), k(ofKeys(p, "k", p.head_dim)),
        v(ofKeys(p, "v", p.value_dim)), lengths(input("lengths", i32, {kBatch})),
        starts(workspace("starts", i32, {kBatch})), spans(workspace("spans", i32, {kSpans, kSpanColumns})),
        parts(workspace("parts", f32, {places(), rows(), p.value_dim})),
        part_lse(workspace("part_lse", f32, {places(), rows()})),
        o(output("o", p.dtype, {kBatch, kHeads, kQueries, p.value_dim})),
        lse(output("lse", f32, {kBatch, kHeads, kQueries})) {}

  static TensorSpec ofKeys(const DecodeProblem &p, const char *name, int columns) {
    if (p.page_size != 0)
      return input(name, p.dtype, {Size("pages"), kKvHeads, p.page_size, columns});
    return input(name, p.dtype, {kBatch, kKvHeads, Size("seqlen_k"), columns});
  }
  static Size rows() { return kHeads / kKvHeads * kQueries; }
  static Size places() { return kBatch * kKvHeads + kSpans; }

  TensorSpec q, k, v, lengths, starts, spans, parts, part_lse, o, lse;
};

Schedule scheduleOf(const DecodeProblem &problem, const Target &target) {
  if (problem.schedule != Schedule())
    return problem.schedule;
  const int rows = std::clamp(problem.expected_rows, 1, 64);
  const auto keys = [&](int most) { return problem.page_size == 0 ? most : std::min(problem.page_size, most); };
  if (target.name == "cpu")
    return {.block_m = rows <= 8 ? rows : 16, .block_n = keys(64)};
  if (target.arch == "sm_90a" && sizeOf(problem.dtype) == 2 && rows > 16)
    return {.block_m = 64,
            .block_n = keys(64),
            .num_warps = 4,
            .num_stages = 2,
            .roles = Roles::load,
            .instances_per_sm = 2};
  return {.block_m = 16, .block_n = keys(32), .num_warps = 1, .num_stages = 2};
}

KernelSpec spansKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> table = pageTable(c.problem);
  const auto record = [c, t, list = listed(table)](const Sizes &) {
    const auto kernel = [&c](View q, View k, View lengths, View starts, View spans, std::span<const View> table) {
      decodeSpans(c, q, k, lengths, starts, spans, table);
    };
    return recordList("decode_spans", kernel, list, arg(t.q), arg(t.k), arg(t.lengths), arg(t.starts), arg(t.spans));
  };
  return KernelSpec::ofPrograms("decode_spans", joined({t.q, t.k, t.lengths, t.starts, t.spans}, {table}), record)
      .grid(ceilDiv(kSpans, kSpansAtOnce));
}

KernelSpec partsKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> table = pageTable(c.problem), tensors = variantTensors(c.problem.variant);
  const auto record = [c, t, list = listed(joined(table, {tensors})), pages = table.size()](const Sizes &) {
    const auto kernel = [&](View q, View k, View v, View lengths, View starts, View spans, View parts, View part_lse,
                            Value scale, std::span<const View> views) {
      decode(c, {q, k, v, lengths, starts, spans, parts, part_lse, scale, views.first(pages), views.subspan(pages)});
    };
    return recordList("decode", kernel, list, arg(t.q), arg(t.k), arg(t.v), arg(t.lengths), arg(t.starts), arg(t.spans),
                      arg(t.parts), arg(t.part_lse), ScalarArg{"scale", f32});
  };
  return KernelSpec::ofPrograms(
             "decode",
             joined({t.q, t.k, t.v, t.lengths, t.starts, t.spans, t.parts, t.part_lse, scalar("scale", f32)},
                    {table, tensors}),
             record)
      .grid(kSpans, ceilDiv(Shared::rows(), c.schedule.block_m))
      .defaults(c.schedule);
}

KernelSpec mergeKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> table = pageTable(c.problem), sinks = sinkTensor(c.problem);
  const auto record = [c, t, list = listed(joined(table, {sinks})), pages = table.size()](const Sizes &) {
    const auto kernel = [&](View q, View k, View lengths, View starts, View spans, View parts, View part_lse, View o,
                            View lse, std::span<const View> views) {
      decodeMerge(c, q, k, lengths, starts, spans, parts, part_lse, o, lse, views.first(pages), views.subspan(pages));
    };
    return recordList("decode_merge", kernel, list, arg(t.q), arg(t.k), arg(t.lengths), arg(t.starts), arg(t.spans),
                      arg(t.parts), arg(t.part_lse), arg(t.o), arg(t.lse));
  };
  return KernelSpec::ofPrograms(
             "decode_merge",
             joined({t.q, t.k, t.lengths, t.starts, t.spans, t.parts, t.part_lse, t.o, t.lse}, {table, sinks}), record)
      .grid(Shared::rows(), kKvHeads, kBatch);
}

Status checkDecode(const DecodeProblem &problem) {
  TEGULA_RETURN_IF_ERROR(checkProblem({.dtype = problem.dtype,
                                       .head_dim = problem.head_dim,
                                       .value_dim = problem.value_dim,
                                       .causal = problem.causal ? Causal::bottom_right : Causal::none,
                                       .variant = problem.variant,
                                       .sinks = problem.sinks},
                                      {}));
  if (problem.page_size != 0 && (problem.page_size < 16 || (problem.page_size & (problem.page_size - 1)) != 0))
    return invalidArgument("page_size", "it is " + std::to_string(problem.page_size) +
                                            "; it must be 0, or a power of two from 16 on");
  const Schedule &schedule = problem.schedule;
  const int mostKeys = problem.page_size != 0 ? std::min(problem.page_size, 256) : 256;
  if (schedule != Schedule() && (schedule.block_m < 1 || schedule.block_m > 256 || schedule.block_n % kLastKeys != 0 ||
                                 schedule.block_n < kLastKeys || mostKeys % schedule.block_n != 0))
    return invalidArgument("schedule", "block_m is " + std::to_string(schedule.block_m) + " and block_n " +
                                           std::to_string(schedule.block_n) + "; block_m must be from 1 to 256, and " +
                                           "block_n a multiple of 16 that divides " + std::to_string(mostKeys));
  const Variant &variant = problem.variant;
  const char *part = !variant.products.empty() ? "a product"
                     : variant.hasRanges()     ? "a range"
                     : !variant.any_of.empty() ? "a union"
                     : variant.probability     ? "a function 'probability'"
                                               : nullptr;
  if (part != nullptr)
    return {ErrorCode::unsupported, "variant '" + variant.name + "' has " + part +
                                        ", which decoding does not have; it has bands, a score and a mask"};
  for (const Band &band : variant.bands)
    if (band.alignment != Alignment::bottom_right)
      return {ErrorCode::unsupported,
              "a band of variant '" + variant.name + "' counts from top_left; decoding counts from bottom_right"};
  return {};
}

} // namespace

Expected<PlanSpec> decodeAttention(const DecodeProblem &problem, const Target &target) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    TEGULA_RETURN_IF_ERROR(checkDecode(problem));
    const Config c{problem, scheduleOf(problem, target)};
    const Shared tensors(problem);
    const Size capacity = problem.page_size != 0 ? Size("pages_of_sequence") * problem.page_size : Size("seqlen_k");
    return PlanSpec("decode", {spansKernel(c, tensors), partsKernel(c, tensors), mergeKernel(c, tensors)})
        .choice("num_spans", max(concurrency() / max(ceilDiv(Shared::rows(), c.schedule.block_m), 1), 1), "decode")
        .require(kHeads % max(kKvHeads, 1) == 0, "the heads of k must divide those of q")
        .require(capacity <= kMaxDiagonal, "a sequence has room for more than 2^30 - 1024 keys")
        .require(kBatch * kKvHeads * ceilDiv(capacity, c.schedule.block_n) <= kMostBlocks,
                 "all sequences together have room for more than 2^30 blocks of keys");
  });
}

} // namespace tegula
