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
// both advance. The parts of a run have places one after another. With parts of a fixed number of keys, a part takes
// the place of a block, and each span has one.
//
// Short runs that are many are not cut: each is computed by an instance of its own, which also writes its result.
#include "tegula/decode.h"

#include "arguments.h"
#include "decode_prefix.h"
#include "plan_check.h"
#include "scores.h"
#include "spec_arguments.h"
#include "tegula/guard.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace tegula {

using namespace decoding;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int kSpansAtOnce = 8;    ///< Spans of an instance of `decode_spans`. More take longer to fetch as code.
constexpr int kFirstParts = 8;     ///< The first parts of a run, which `decode_merge` adds at once.
constexpr int kPartsTogether = 32; ///< The parts after them that it adds at once.
constexpr int kRowsMerged = 4;     ///< Rows of a run that `decode_merge_rows` merges in an instance.
/// Parts that `decode_merge_rows` loads at once. It merges if runs have at most as many parts on average.
constexpr int kFewParts = 4;
constexpr int64_t kMostBlocks = int64_t(1) << 30; ///< Programs count blocks with 32 bits.
constexpr int kLeastRowsOfBox = 8;                ///< TMA loads a box of each page, which has at least as many rows.
constexpr int kMaxValueDim = 512;
constexpr int kShortKeys = 1024, kManyRuns = 128; ///< Runs that are not cut have at most and are at least as many.

/// The columns of `spans`. A span has the runs and the units of blocks from a first one to one before an end.
constexpr int kFirstRun = 0, kEndRun = 1, kFirstUnit = 2, kEndUnit = 3, kSpanColumns = 4;

/// Writes `starts` [batch], the units of one head in all sequences before each one, and `spans` [spans, kSpanColumns].
void decodeSpans(const Config &c, View Q, View K, View lengths, View starts, View spans, std::span<const View> views) {
  const Sizes32 n(Q, K);
  const Cache cache(c, Q, K, lengths, views);
  const auto unitsOf = [&](const Interval &keys) { return Blocks(c, keys, n.queries).units; };

  Var all = fill({1}, 0);
  for (Value first : range(0, lengths.dim(0), kChunk)) {
    Value isSequence = cast(i32, first) + iota(kChunk) < narrow(lengths.dim(0));
    all = all + reduceSum(select(isSequence, unitsOf(cache.load(first, kChunk)), 0), 0);
  }
  const Value total = all * n.kv_heads, perSpan = max(ceilDiv(total, narrow(spans.dim(0))), 1); // [1]
  const Value number = narrow(programId(0)) * kSpansAtOnce + iota(kSpansAtOnce);                // [kSpansAtOnce]
  const Value begin = min(number * perSpan, total), end = min(begin + perSpan, total);

  // The run of a unit: all sequences that end before it, and then heads of the next one.
  struct Place {
    Value unit;
    Var sequence = fill({kSpansAtOnce}, 0), before = fill({kSpansAtOnce}, 0);
  } places[] = {{begin}, {max(end - 1, 0)}};
  Var earlier = fill({1}, 0);
  for (Value first : range(0, lengths.dim(0), kChunk)) {
    Value isSequence = cast(i32, first) + iota(kChunk) < narrow(lengths.dim(0));
    Value units = select(isSequence, unitsOf(cache.load(first, kChunk)), 0); // [kChunk]
    Value ends = earlier + cumsum(units, 0);
    starts.storeWhere(programId(0) == 0, first, ends - units);
    for (Place &place : places) {
      Value isBefore = (asRow(ends * n.kv_heads) <= asColumn(place.unit)) & asRow(isSequence); // [kSpansAtOnce, kChunk]
      place.sequence = place.sequence + reduceSum(select(isBefore, 1, 0), 1);
      place.before = place.before + reduceSum(select(isBefore, asRow(units), 0), 1);
    }
    earlier = earlier + reduceSum(units, 0);
  }
  const auto runOf = [&](const Place &place) {
    Value units = unitsOf(cache.gather(place.sequence));
    return place.sequence * n.kv_heads + (place.unit - place.before * n.kv_heads) / max(units, 1);
  };
  const Value firstRun = runOf(places[0]), lastRun = runOf(places[1]);
  const Value columns[kSpanColumns] = {firstRun, select(begin < end, lastRun + 1, firstRun), begin, end};
  for (int column = 0; column < kSpanColumns; ++column)
    spans.store({programId(0) * kSpansAtOnce, column}, asColumn(columns[column]));
  if (cache.prefix())
    storePrefixSizes(c, Q, K, cache, lengths.dim(0));
}

/// The condition of the scores of a tile, and what the variant makes of them.
class DecodeScores {
public:
  DecodeScores(const Config &c, const Sizes32 &n, const Sequence &sequence, const Rows &rows, VariantViews tensors)
      : c_(c), bands_(c.problem.variant.bands), tensors_(tensors), head_(headOf(n, sequence, rows)),
        query_(asColumn(rows.query)), keys_(sequence.keys), before_(sequence.before), rows_(rows.sequences) {
    if (c.problem.causal)
      bands_.push_back({std::nullopt, 0, Alignment::bottom_right});
  }

  /// Returns the scores of `keys` keys from `key` on, -inf where there are none. Only a `last` tile may reach beyond
  /// the last key.
  Value operator()(Value s, Value key, int keys, bool last) const {
    const Variant &variant = c_.problem.variant;
    const Value number = asRow(key + iota(keys)); // In the cache.
    const ScoreIndex index{head_, query_, before_ ? number + *before_ : number, c_.problem.dtype};
    const Value least = rows_ ? rows_->least : head_.seqlen_k, most = rows_ ? rows_->most : head_.seqlen_k;
    const Value firstOfDiagonal = narrow(least - head_.seqlen_q), lastOfDiagonal = narrow(most) - 1;
    const auto first = [&] { return before_ ? narrow(key) + *before_ : narrow(key); };
    std::optional<Value> seen;
    const auto add = [&](Value condition) { seen.emplace(seen ? *seen & condition : condition); };
    if (last)
      add(rows_ ? number < keys_.end : index.key < index.seqlen_k);
    if (c_.problem.begins)
      add((narrow(key) >= keys_.begin) | (number >= keys_.begin));
    for (const Band &band : bands_) { // A scalar tells that a band has the whole tile.
      const Value diagonal = index.diagonal(Alignment::bottom_right);
      if (band.right)
        add((first() + (keys - 1) <= firstOfDiagonal + *band.right) | (index.key <= diagonal + *band.right));
      if (band.left)
        add((first() >= lastOfDiagonal - *band.left) | (index.key >= diagonal - *band.left));
    }
    if (variant.mask)
      add(variant.maskAt(index, tensors_));
    const Value score = variant.score ? variant.scoreAt(s, index, tensors_) : s;
    return seen ? select(*seen, score, -infinity) : score;
  }

private:
  static HeadIndex headOf(const Sizes32 &n, const Sequence &sequence, const Rows &rows) {
    if (rows.sequences)
      return {rows.sequences->batch, asColumn(rows.head), n.queries, rows.sequences->seqlen_k};
    const Value end = sequence.before ? sequence.keys.end + *sequence.before : sequence.keys.end;
    return {sequence.batch, asColumn(rows.head), wide(n.queries), wide(end)};
  }

  const Config &c_;
  std::vector<Band> bands_;
  VariantViews tensors_;
  HeadIndex head_;
  Value query_;
  Interval keys_;
  std::optional<Value> before_;
  std::optional<Rows::Sequences> rows_;
};

} // namespace

SoftmaxPart decoding::decodePart(const Config &c, const DecodeViews &views, const Sequence &sequence, const Sizes32 &n,
                                 Value kv_head, const Rows &rows, Value first, Value end) {
  const int block_n = c.schedule.block_n;
  const DecodeScores scores(c, n, sequence, rows, views.cache.others);
  const auto queries = [&] {
    if (c.problem.latent && !rows.sequences) // Rows of many columns are worth a copy of their vectors.
      return packedRows(views.q.at(sequence.batch), n, kv_head).load(rows.first, {c.schedule.block_m, c.headColumns()});
    const Value batch = rows.sequences ? rows.sequences->batch : sequence.batch;
    return views.q.gather(batch, asColumn(rows.head), asColumn(rows.query), asRow(iota(c.headColumns())));
  };
  const Value q = queries();
  OnlineSoftmax softmax(c.schedule.block_m, c.valueColumns());
  const auto tileAt = [&](View x, bool is_v, Value key) {
    return views.cache.tileAt(x, is_v, sequence.batch, kv_head, key);
  };
  const auto load = [&](View x, bool is_v, Value key, int keys, int columns) {
    const KeyTile tile = tileAt(x, is_v, key);
    return tile.matrix.load(tile.row, {keys, columns});
  };
  const auto update = [&](Value k, Value v, Value key, int keys, bool last) {
    const Value zero = constant(c.problem.dtype, 0);
    const Value seen = c.problem.begins ? select(asColumn(key + iota(keys)) >= sequence.keys.begin, v, zero) : v;
    softmax.update(scores(dot(q, transpose(k)) * views.scale, key, keys, last), seen);
  };
  const Value seenTo = rows.sequences ? rows.sequences->least : sequence.keys.end;
  const Value firstSeen = max(first, wide(firstKey(c, {sequence.keys.begin, seenTo}, n.queries)));
  views.cache.assertPages(views.k, false, sequence.batch, firstSeen, end);
  if (views.v)
    views.cache.assertPages(*views.v, true, sequence.batch, firstSeen, end);
  if (!views.v) { // The tile of v is a part of that of k. Its rows after the last key are 0, because none is loaded.
    for (Value key : range(first, end, block_n)) {
      const KeyTile tile = tileAt(views.k, false, key);
      Value k = tile.matrix.rows(tile.row, tile.row + (end - key)).load(0, {block_n, c.headColumns()});
      update(k, columns(k, 0, c.valueColumns()), key, block_n, true);
    }
    return {softmax.output(), softmax.logSumExp()};
  }
  const auto add = [&](Value key, int keys, bool last) {
    Value k = load(views.k, false, key, keys, c.headColumns());
    Var v = load(*views.v, true, key, keys, c.valueColumns());
    if (last) // What lies after the last key may be NaN.
      v = select(asColumn(key + iota(keys)) < end, v, constant(c.problem.dtype, 0));
    update(k, v, key, keys, last);
  };
  const Value whole = max(end / block_n * block_n, first);
  for (Value key : range(first, whole, block_n))
    add(key, block_n, false);
  for (Value key : range(whole, end, kLeastKeysOfTile))
    add(key, kLeastKeysOfTile, true);
  return {softmax.output(), softmax.logSumExp()};
}

Sequence decoding::sequenceOf(const Config &c, const Cache &cache, const Sizes32 &n, Value batch) {
  const Interval keys = cache.gather(batch);
  cache.assertRoom(batch, keys);
  return {batch, keys, Blocks(c, keys, n.queries), cache.keysBefore()};
}

namespace {

void decode(const Config &c, const DecodeViews &views, View starts, View spans, View parts, View part_lse) {
  const Sizes32 n(views.q, views.k);
  const Value span = programId(0);
  const Value begin = spans.gather(span, kFirstUnit), end = spans.gather(span, kEndUnit);
  const Value firstRun = spans.gather(span, kFirstRun), endRun = spans.gather(span, kEndRun);
  for (Value run : parallelRange(wide(firstRun), wide(endRun))) {
    const Value batch = wide(narrow(run) / n.kv_heads), kv_head = wide(narrow(run) % n.kv_heads);
    const Sequence sequence = sequenceOf(c, views.cache, n, batch);
    const Value start = starts.gather(batch) * n.kv_heads + narrow(kv_head) * sequence.blocks.units;
    const Value first = sequence.blocks.first + max(begin - start, 0) * c.unit();
    const Value last = sequence.blocks.first + min(end - start, sequence.blocks.units) * c.unit();
    const Value row = programId(1) * c.schedule.block_m;
    const SoftmaxPart part =
        decodePart(c, views, sequence, n, kv_head, Rows(n, row, c.schedule.block_m, narrow(kv_head)),
                   wide(first * c.schedule.block_n), wide(min(last * c.schedule.block_n, sequence.keys.end)));
    parts.at(run + span).store(row, part.output);
    part_lse.at(run + span).store(row, part.lse);
  }
}

/// Computes runs that are not cut. `sinks` is a view of f32 [heads], if there are sinks.
void decodeWhole(const Config &c, const DecodeViews &views, View O, View L, std::span<const View> sinks) {
  const Sizes32 n(views.q, views.k);
  const Value kv_head = programId(1), batch = programId(2);
  const Sequence sequence = sequenceOf(c, views.cache, n, batch);
  const Rows rows(n, programId(0) * c.schedule.block_m, c.schedule.block_m, narrow(kv_head));
  const SoftmaxPart part = decodePart(c, views, sequence, n, kv_head, rows,
                                      wide(sequence.blocks.first * c.schedule.block_n), wide(sequence.keys.end));
  Var lse = part.lse, o = part.output;
  if (!sinks.empty()) { // A sink is a part whose output is 0.
    const Value sink = sinks.front().gather(rows.head), higher = max(lse, sink);
    const Value origin = select(higher == -infinity, 0.0, higher);
    const Value sum = exp(lse - origin) + exp(sink - origin), merged = select(sum == 0.0, -infinity, higher + log(sum));
    o = o * asColumn(exp(lse - select(sum == 0.0, 0.0, merged)));
    lse = merged;
  }
  O.scatter(cast(O.dtype(), o), batch, asColumn(rows.head), asColumn(rows.query), asRow(iota(c.valueColumns())));
  L.scatter(lse, batch, rows.head, rows.query);
}

/// The places of the parts of a run, [first, end).
struct Places {
  Value first, end;
};

Places placesOf(const Sequence &sequence, const Sizes32 &n, Value kv_head, View starts, View spans) {
  const Value units = sequence.blocks.units;
  const Value start = starts.gather(sequence.batch) * n.kv_heads + narrow(kv_head) * units;
  const Value perSpan = max(spans.gather(0, kEndUnit), 1); // Span 0 begins with unit 0.
  const Value run = narrow(sequence.batch) * n.kv_heads + narrow(kv_head);
  const Value first = run + start / perSpan, last = run + (start + units - 1) / perSpan;
  return {first, select(units > 0, last + 1, first)};
}

/// The parts of a row that lie in one tensor: those at the places `first` to `end` - 1.
struct PartsOfRow {
  View parts, lse; ///< [places, rows, value_dim] and [places, rows]
  Value row, first, end;

  /// Calls `add(places)` for all parts, with places i32 [count] of which those after the last part are -1.
  template <class Add> void forEach(const Add &add) const {
    const Value rest = min(first + kFirstParts, end);
    const auto some = [&](Value from, Value to, int count) {
      for (Value place : range(wide(from), wide(to), count)) {
        const Value at = narrow(place) + iota(count);
        add(select(at < end, at, -1));
      }
    };
    some(first, rest, kFirstParts);
    some(rest, end, kPartsTogether);
  }
  Value lseAt(Value places) const { return select(places < 0, -infinity, lse.gather(places, row)); }
};

/// Merges the parts of a row of a run. Those of the prefix, if there is one, and the sinks, f32 [heads], if there are
/// some, are the last of `views`.
void decodeMerge(const Config &c, View Q, View K, View lengths, View starts, View spans, View parts, View part_lse,
                 View O, View L, std::span<const View> views) {
  const Sizes32 n(Q, K);
  const Cache cache(c, Q, K, lengths, views);
  const std::span<const View> prefix = cache.others.first(c.problem.prefix ? 2 : 0),
                              sinks = cache.others.subspan(prefix.size());
  const Value row = programId(0), kv_head = programId(1), batch = programId(2);
  const Value head = wide(narrow(kv_head) * n.group + narrow(row) / n.queries), query = wide(narrow(row) % n.queries);
  const auto [first, end] = placesOf(sequenceOf(c, cache, n, batch), n, kv_head, starts, spans);
  std::vector<PartsOfRow> lists = {{parts, part_lse, row, first, end}};
  if (!prefix.empty())
    lists.push_back({prefix[0].at(kv_head), prefix[1].at(kv_head), narrow(batch) * n.group * n.queries + narrow(row),
                     constant(i32, 0), narrow(prefix[0].dim(1))});

  Var most = sinks.empty() ? fill({1}, -infinity) : fill({1}, sinks.front().gather(head));
  Var sum = select(most == -infinity, 0.0, fill({1}, 1.0));
  for (const PartsOfRow &list : lists)
    list.forEach([&](Value places) {
      Value lse = list.lseAt(places), higher = max(most, reduceMax(lse, 0));
      Value origin = select(higher == -infinity, 0.0, higher);
      sum = sum * exp(most - origin) + reduceSum(exp(lse - origin), 0);
      most = higher;
    });
  const Value lse = select(sum == 0.0, -infinity, most + log(sum)), origin = select(sum == 0.0, 0.0, lse); // [1]

  Var o = fill({c.valueColumns()}, 0.0);
  for (const PartsOfRow &list : lists)
    list.forEach([&](Value places) {
      Value weight = exp(list.lseAt(places) - origin);
      Value tile = list.parts.gather(asColumn(places), list.row, asRow(iota(c.valueColumns())));
      o = o + reduceSum(asColumn(weight) * tile, 0);
    });
  O.at(batch, head, query).store(0, o);
  L.at(batch, head).store(query, lse);
}

/// Merges the parts of kRowsMerged rows of a run, which are few: the softmax of parts whose scores are their lse and
/// whose values are their results. The last of `views` is that of sinks, f32 [heads], if there are sinks.
void decodeMergeRows(const Config &c, View Q, View K, View lengths, View starts, View spans, View parts, View part_lse,
                     View O, View L, std::span<const View> views) {
  const Sizes32 n(Q, K);
  const Cache cache(c, Q, K, lengths, views);
  const std::span<const View> sinks = cache.others;
  const Value row = programId(0) * kRowsMerged, kv_head = programId(1), batch = programId(2);
  const Rows rows(n, row, kRowsMerged, narrow(kv_head));
  const auto [first, end] = placesOf(sequenceOf(c, cache, n, batch), n, kv_head, starts, spans);
  const View own = parts.rows(wide(first), wide(end)), own_lse = part_lse.rows(wide(first), wide(end));

  Var most = sinks.empty() ? fill({kRowsMerged}, -infinity) : sinks.front().gather(rows.head);
  Var sum = select(most == -infinity, 0.0, fill({kRowsMerged}, 1.0)), o = fill({kRowsMerged, c.valueColumns()}, 0.0);
  const Value count = wide(end - first);
  for (Value part : range(0, count, kFewParts)) {
    std::vector<Value> lses, results; // Those after the last part have no weight.
    for (int i = 0; i < kFewParts; ++i) {
      lses.push_back(select(part + i < count, own_lse.at(part + i).load(row, {kRowsMerged}), -infinity));
      results.push_back(own.at(part + i).load({row, 0}, {kRowsMerged, c.valueColumns()}));
    }
    for (int i = 0; i < kFewParts; ++i) {
      const Value higher = max(most, lses[i]), origin = select(higher == -infinity, 0.0, higher);
      const Value before = exp(most - origin), weight = exp(lses[i] - origin);
      sum = sum * before + weight;
      o = o * asColumn(before) + asColumn(weight) * results[i];
      most = higher;
    }
  }
  packedRows(O.at(batch), n, kv_head).store({row, 0}, o / asColumn(select(sum == 0.0, 1.0, sum)));
  L.scatter(select(sum == 0.0, -infinity, most + log(sum)), batch, rows.head, rows.query);
}

//===-- Plan -----------------------------------------------------------------------------------------------------===//

const Size kSpans("num_spans");

/// Returns the tensors of Cache that only some problems have.
std::vector<ArgumentSpec> cacheTensors(const DecodeProblem &problem) {
  std::vector<ArgumentSpec> arguments;
  const std::vector<Size> table =
      problem.page_offsets ? std::vector{Size("table_entries")} : std::vector{kBatch, Size("pages_of_sequence")};
  if (problem.page_size != 0)
    arguments.push_back(input("page_table", i32, table));
  if (problem.page_table_v)
    arguments.push_back(input("page_table_v", i32, table));
  if (problem.page_offsets)
    arguments.push_back(input("page_offsets", i32, {kBatch + 1}));
  if (problem.begins)
    arguments.push_back(input("begins", i32, {kBatch}));
  if (problem.prefix)
    arguments.push_back(prefixSizes());
  return arguments;
}

std::vector<ArgumentSpec> sinkTensor(const DecodeProblem &problem) {
  if (!problem.sinks)
    return {};
  return {input("sinks", f32, {kHeads})};
}

} // namespace

std::vector<ArgumentSpec> decoding::variantTensors(const Variant &variant) {
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

std::vector<ArgumentSpec> decoding::joined(std::vector<ArgumentSpec> first,
                                           const std::vector<std::vector<ArgumentSpec>> &more) {
  for (const std::vector<ArgumentSpec> &part : more)
    first.insert(first.end(), part.begin(), part.end());
  return first;
}

std::vector<ArgumentSpec> decoding::keysOf(bool latent, const TensorSpec &q, const TensorSpec &k, const TensorSpec &v) {
  if (latent)
    return {q, k};
  return {q, k, v};
}

std::vector<TensorArg> decoding::listed(const std::vector<ArgumentSpec> &arguments) {
  std::vector<TensorArg> list;
  for (const ArgumentSpec &argument : arguments)
    list.push_back(arg(std::get<TensorSpec>(argument)));
  return list;
}

namespace {

/// The tensors that all problems have.
struct Shared {
  explicit Shared(const DecodeProblem &p)
      : q(input("q", p.dtype, {kBatch, kHeads, kQueries, p.head_dim})), k(ofKeys(p, "k", "pages", p.head_dim)),
        v(ofKeys(p, "v", p.page_table_v ? "pages_v" : "pages", p.value_dim)), lengths(input("lengths", i32, {kBatch})),
        starts(workspace("starts", i32, {kBatch})), spans(workspace("spans", i32, {kSpans, kSpanColumns})),
        parts(workspace("parts", f32, {places(), rows(), p.value_dim})),
        part_lse(workspace("part_lse", f32, {places(), rows()})),
        o(output("o", p.dtype, {kBatch, kHeads, kQueries, p.value_dim})),
        lse(output("lse", f32, {kBatch, kHeads, kQueries})) {}

  static TensorSpec ofKeys(const DecodeProblem &p, const char *name, const char *pages, int columns) {
    if (p.page_size != 0)
      return input(name, p.dtype, {Size(pages), kKvHeads, p.page_size, columns});
    return input(name, p.dtype, {kBatch, kKvHeads, Size("seqlen_k"), columns});
  }
  static Size rows() { return kHeads / kKvHeads * kQueries; }
  static Size places() { return kBatch * kKvHeads + kSpans; }

  TensorSpec q, k, v, lengths, starts, spans, parts, part_lse, o, lse;
};

} // namespace

Schedule decoding::scheduleOf(const DecodeProblem &problem, const Target &target) {
  if (problem.schedule != Schedule())
    return problem.schedule;
  const int rows = std::clamp(problem.expected_rows, 1, 64);
  const auto keys = [&](int most) { return keysOfTile(problem, most); };
  if (target.name == "cpu")
    return {.block_m = rows <= 8 ? rows : 16, .block_n = keys(64)};
  const bool isHopper = target.arch == "sm_90a";
  const bool isLoadedByTma = isHopper && sizeOf(problem.dtype) == 2 && problem.page_size % kLeastRowsOfBox == 0;
  // Two warpgroups share the columns of both products. With begins, they would have to read the tile of v first.
  if (problem.latent && !problem.begins && isLoadedByTma)
    return {.block_m = 64, .block_n = keys(64), .num_warps = 8, .num_stages = 2, .roles = Roles::load};
  if (std::max(problem.head_dim, problem.value_dim) > kUsualHeadDim) { // Accumulators and tiles fill a multiprocessor.
    if (!isHopper || sizeOf(problem.dtype) != 2)
      return {.block_m = 16, .block_n = 16, .num_warps = 4, .num_stages = 1};
    return {.block_m = rows > 16 ? 64 : 16,
            .block_n = keys(32),
            .num_warps = rows > 16 ? 8 : 4,
            .num_stages = rows > 16 ? 1 : 2};
  }
  if (isLoadedByTma && rows > 16)
    return {.block_m = 64,
            .block_n = keys(64),
            .num_warps = 4,
            .num_stages = 2,
            .roles = Roles::load,
            .instances_per_sm = std::max(problem.head_dim, problem.value_dim) > 128 ? 1 : 2};
  return {.block_m = 16, .block_n = keys(32), .num_warps = 1, .num_stages = 2};
}

namespace {

/// Returns the most keys that a sequence has room for: with page offsets, all sequences together.
Size capacityOf(const DecodeProblem &problem) {
  if (problem.page_size == 0)
    return Size("seqlen_k");
  return Size(problem.page_offsets ? "table_entries" : "pages_of_sequence") * problem.page_size;
}

KernelSpec spansKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> cache = joined(cacheTensors(c.problem), {prefixCache(c.problem)});
  const auto record = [c, t, list = listed(cache)](const Sizes &) {
    const auto kernel = [&c](View q, View k, View lengths, View starts, View spans, std::span<const View> views) {
      decodeSpans(c, q, k, lengths, starts, spans, views);
    };
    return recordList("decode_spans", kernel, list, arg(t.q), arg(t.k), arg(t.lengths), arg(t.starts), arg(t.spans));
  };
  return KernelSpec::ofPrograms("decode_spans", joined({t.q, t.k, t.lengths, t.starts, t.spans}, {cache}), record)
      .grid(ceilDiv(kSpans, kSpansAtOnce));
}

KernelSpec partsKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> more = joined(cacheTensors(c.problem), {variantTensors(c.problem.variant)});
  const auto record = [c, t, list = listed(more)](const Sizes &) {
    const auto kernel = [&](View q, View k, std::optional<View> v, View lengths, View starts, View spans, View parts,
                            View part_lse, Value scale, std::span<const View> views) {
      decode(c, {q, k, v, scale, Cache(c, q, k, lengths, views)}, starts, spans, parts, part_lse);
    };
    return recordKeys("decode", c.problem.latent, t.q, t.k, t.v, kernel, list, arg(t.lengths), arg(t.starts),
                      arg(t.spans), arg(t.parts), arg(t.part_lse), ScalarArg{"scale", f32});
  };
  return KernelSpec::ofPrograms(
             "decode",
             joined(keysOf(c.problem.latent, t.q, t.k, t.v),
                    {{t.lengths, t.starts, t.spans, t.parts, t.part_lse, scalar("scale", f32)}, more}),
             record)
      .grid(kSpans, ceilDiv(Shared::rows(), c.schedule.block_m))
      .defaults(c.schedule);
}

/// Returns a kernel that merges parts, `rows` of a run in an instance. `merge` is its program.
template <class Merge>
KernelSpec mergeKernel(const Config &c, const Shared &t, const char *name, int rows, const Merge &merge) {
  const std::vector<ArgumentSpec> more =
      joined(cacheTensors(c.problem), {prefixParts(c.problem), sinkTensor(c.problem)});
  const auto record = [c, t, name, merge, list = listed(more)](const Sizes &) {
    const auto kernel = [&](View q, View k, View lengths, View starts, View spans, View parts, View part_lse, View o,
                            View lse, std::span<const View> views) {
      merge(c, q, k, lengths, starts, spans, parts, part_lse, o, lse, views);
    };
    return recordList(name, kernel, list, arg(t.q), arg(t.k), arg(t.lengths), arg(t.starts), arg(t.spans), arg(t.parts),
                      arg(t.part_lse), arg(t.o), arg(t.lse));
  };
  return KernelSpec::ofPrograms(
             name, joined({t.q, t.k, t.lengths, t.starts, t.spans, t.parts, t.part_lse, t.o, t.lse}, {more}), record)
      .grid(ceilDiv(Shared::rows(), rows), kKvHeads, kBatch);
}

KernelSpec wholeKernel(const Config &c, const Shared &t) {
  const std::vector<ArgumentSpec> variant = variantTensors(c.problem.variant);
  const std::vector<ArgumentSpec> more = joined(cacheTensors(c.problem), {variant, sinkTensor(c.problem)});
  const auto record = [c, t, list = listed(more), tensors = variant.size()](const Sizes &) {
    const auto kernel = [&](View q, View k, std::optional<View> v, View lengths, Value scale, View o, View lse,
                            std::span<const View> views) {
      Cache cache(c, q, k, lengths, views);
      const std::span<const View> sinks = cache.others.subspan(tensors);
      cache.others = cache.others.first(tensors);
      decodeWhole(c, {q, k, v, scale, cache}, o, lse, sinks);
    };
    return recordKeys("decode_whole", c.problem.latent, t.q, t.k, t.v, kernel, list, arg(t.lengths),
                      ScalarArg{"scale", f32}, arg(t.o), arg(t.lse));
  };
  return KernelSpec::ofPrograms(
             "decode_whole",
             joined(keysOf(c.problem.latent, t.q, t.k, t.v), {{t.lengths, scalar("scale", f32), t.o, t.lse}, more}),
             record)
      .grid(ceilDiv(Shared::rows(), c.schedule.block_m), kKvHeads, kBatch)
      .defaults(c.schedule);
}

Status checkDecode(const DecodeProblem &problem) {
  TEGULA_RETURN_IF_ERROR(checkProblem({.dtype = problem.dtype,
                                       .head_dim = problem.head_dim,
                                       .value_dim = problem.value_dim,
                                       .causal = problem.causal ? Causal::bottom_right : Causal::none,
                                       .variant = problem.variant,
                                       .sinks = problem.sinks},
                                      {}));
  if (problem.value_dim > kMaxValueDim)
    return invalidArgument("value_dim", "it is " + std::to_string(problem.value_dim) + "; it must be from 1 to " +
                                            std::to_string(kMaxValueDim));
  if (problem.latent && problem.value_dim > problem.head_dim)
    return invalidArgument("value_dim", "it is " + std::to_string(problem.value_dim) +
                                            "; with latent it must be at most head_dim, " +
                                            std::to_string(problem.head_dim));
  if (problem.page_size < 0)
    return invalidArgument("page_size", "it is " + std::to_string(problem.page_size) + "; it must be at least 0");
  for (const auto &[name, isSet] :
       {std::pair{"page_offsets", problem.page_offsets}, {"page_table_v", problem.page_table_v}})
    if (isSet && problem.page_size == 0)
      return invalidArgument(name, "it is set, but page_size is 0; only a problem with pages has a page table");
  if (problem.lengths == CacheLengths::last_page && !problem.page_offsets)
    return invalidArgument("lengths", "they are those of last pages, but page_offsets is not set");
  if (problem.page_table_v && (problem.latent || problem.prefix))
    return {ErrorCode::unsupported, std::string("argument 'page_table_v': it is set with ") +
                                        (problem.latent ? "latent, which has no argument v" : "prefix") +
                                        "; then v has the pages of k"};
  const Schedule &schedule = problem.schedule;
  const int mostKeys = keysOfTile(problem, 256);
  if (schedule != Schedule() &&
      (schedule.block_m < 1 || schedule.block_m > 256 || schedule.block_n % kLeastKeysOfTile != 0 ||
       schedule.block_n < kLeastKeysOfTile || mostKeys % schedule.block_n != 0))
    return invalidArgument("schedule", "block_m is " + std::to_string(schedule.block_m) + " and block_n " +
                                           std::to_string(schedule.block_n) + "; block_m must be from 1 to 256, and " +
                                           "block_n a multiple of 16 that divides " + std::to_string(mostKeys));
  if (problem.keys_per_part < 0 || problem.keys_per_part % mostKeys != 0)
    return invalidArgument("keys_per_part", "it is " + std::to_string(problem.keys_per_part) +
                                                "; it must be 0 or a multiple of " + std::to_string(mostKeys));
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
    const Size capacity = capacityOf(problem);
    const Size runs = kBatch * kKvHeads, tiles = max(ceilDiv(Shared::rows(), c.schedule.block_m), 1);
    const auto mostOf = [&](int keys) { // The most parts of `keys` keys.
      return problem.page_offsets ? kKvHeads * (ceilDiv(capacity, keys) + kBatch) : runs * ceilDiv(capacity, keys);
    };
    const bool isFixed = problem.keys_per_part != 0, mayBeWhole = !isFixed && !problem.page_offsets && !problem.prefix;
    const Size spans = isFixed ? mostOf(problem.keys_per_part) : concurrency() / tiles;
    const Size isWhole = mayBeWhole ? (capacity <= kShortKeys) & (runs >= kManyRuns) : Size(0);
    // With parts of a fixed number of keys, all runs are merged in one order, whatever the batch.
    const bool mergesRows = problem.expected_rows >= kRowsMerged && !problem.prefix && !isFixed;
    const Size hasFewParts = mergesRows ? kSpans <= runs * kFewParts : Size(0);
    std::vector<KernelSpec> kernels = {
        spansKernel(c, tensors).when(isWhole == 0), partsKernel(c, tensors).when(isWhole == 0),
        mergeKernel(c, tensors, "decode_merge", 1, decodeMerge).when((isWhole == 0) & (hasFewParts == 0))};
    if (mergesRows)
      kernels.push_back(mergeKernel(c, tensors, "decode_merge_rows", kRowsMerged, decodeMergeRows)
                            .when((isWhole == 0) & hasFewParts));
    if (mayBeWhole)
      kernels.push_back(wholeKernel(c, tensors).when(isWhole));
    if (problem.prefix)
      kernels.insert(kernels.end() - 1, prefixKernel(problem, target, tensors.q, tensors.k, tensors.v));
    PlanSpec plan =
        PlanSpec("decode", std::move(kernels))
            .preparation(1)
            .choice("num_spans", max(spans, 1), "decode")
            .require(kHeads % max(kKvHeads, 1) == 0, "the heads of k must divide those of q")
            .require(capacity + prefixCapacity(problem) <= kMaxDiagonal,
                     problem.page_offsets ? "all sequences together have room for more than 2^30 - 1024 keys"
                                          : "a sequence has room for more than 2^30 - 1024 keys")
            .require(mostOf(c.schedule.block_n) <= kMostBlocks,
                     "all sequences together have room for more than 2^30 blocks of keys");
    if (!problem.prefix)
      return plan;
    return std::move(plan).choice("num_prefix_parts", numPrefixParts(problem, target), "decode_prefix");
  });
}

} // namespace tegula
