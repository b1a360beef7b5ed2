// SPDX-License-Identifier: MIT
#include "strips.h"

#include "arguments.h"
#include "kernel_config.h"
#include "narrow.h"
#include "scores.h"

namespace tegula {
namespace {

/// The fewest blocks of a long sequence. Short ones share blocks, so that many of them do not take a block each.
constexpr int kLong = 2;
/// The sequences, or the blocks of one, that a program instance works on at once.
constexpr int kChunk = 128;

/// The rows of sequences, and the blocks that begin in them. What follows the last sequence is one, too. All numbers
/// are i32, scalars or tiles.
class Sequences {
public:
  Sequences(View offsets, Value rows, int block) : offsets_(offsets), rows_(narrow(rows)), block_(block) {}

  Value count() const { return narrow(offsets_.dim(0)); }
  Value begin(Value number) const { return select(number <= 0, 0, offset(number)); }
  Value end(Value number) const { return select(number >= count() - 1, rows_, offset(number + 1)); }
  Value length(Value number) const { return max(end(number) - begin(number), 0); }
  Value isLong(Value number) const { return length(number) >= kLong * block_; }

  /// Returns how many blocks begin in a sequence. Those of a long one begin at its first row. One more follows its end,
  /// and has short sequences up to a multiple of the block. Other blocks begin at such multiples.
  Value blocks(Value number) const {
    const Value first = begin(number), last = end(number);
    const Value isShortNext = (number + 1 < count()) & (length(number + 1) < kLong * block_);
    const Value own = upTo(last - first) + select(isShortNext & (last % block_ != 0), 1, 0);
    return select(isLong(number), own, max(upTo(last) - upTo(first), 0));
  }

  /// Returns the number of blocks that cover `rows`.
  Value upTo(Value rows) const { return (rows + (block_ - 1)) / block_; }
  Value rows() const { return rows_; }

private:
  Value offset(Value number) const { return max(min(offsets_.gather(number), rows_), 0); }

  View offsets_;
  Value rows_;
  int block_;
};

/// The other sequences, as far as the blocks of one depend on them: i32 [1].
struct Neighbours {
  Var before;   ///< How many blocks the sequences have that come before it in the list.
  Var all;      ///< How many blocks all sequences have.
  Var nextLong; ///< Where the next long sequence begins.
};

Neighbours neighboursOf(const Sequences &of, Value number) {
  Neighbours found{fill({1}, 0), fill({1}, 0), broadcast(of.rows(), {1})};
  const auto sizeOf = [&](Value n) { return select(of.isLong(n), of.length(n), 0); };
  const Value size = sizeOf(number);
  for (Value first : range(0, wide(of.count()), kChunk)) {
    const Value other = narrow(first) + iota(kChunk), others = sizeOf(other); // [kChunk]
    const Value blocks = select(other < of.count(), of.blocks(other), 0);
    const Value isBefore = (others > size) | ((others == size) & (other < number));
    found.all = found.all + reduceSum(blocks, 0);
    found.before = found.before + reduceSum(select(isBefore, blocks, 0), 0);
    const Value isNext = (other > number) & (other < of.count()) & of.isLong(other);
    found.nextLong = min(found.nextLong, reduceMin(select(isNext, of.begin(other), of.rows()), 0));
  }
  return found;
}

/// Lists the blocks of the sequence of a program instance. If `last_first`, those of a long sequence come in reverse.
void listStrips(View strips, View offsets, Value rows, int block, bool last_first) {
  const Sequences sequences(offsets, rows, block);
  const Value number = narrow(programId(0)), begin = sequences.begin(number), end = sequences.end(number);
  const Neighbours neighbours = neighboursOf(sequences, number);
  const Value isLong = sequences.isLong(number), blocks = sequences.blocks(number), own = sequences.upTo(end - begin);
  for (Value done : range(0, wide(blocks), kChunk)) {
    const Value n = narrow(done) + iota(kChunk); // [kChunk]
    const Value inOrder = last_first ? own - 1 - n : n;
    const Value inLong = select(n < own, begin + inOrder * block, end);
    const Value first = select(isLong, inLong, (sequences.upTo(begin) + n) * block);
    const Value multiple = (first / block + 1) * block, whole = min(first + block, end);
    const Value last = select(isLong & (n < own), whole, min(multiple, neighbours.nextLong));
    const Value place = select(n < blocks, 1 + neighbours.before + n, -1); // -1 is dropped.
    strips.at(0).scatter(first, place);
    strips.at(1).scatter(last, place);
  }
  when(number == 0, [&] { strips.at(0).store(0, neighbours.all); });
}

Expected<Program> recordStrips(const AttentionConfig &config, Pass pass) {
  const bool isForward = pass == Pass::forward;
  const bool lastFirst = isForward && laterQueriesSeeMore(config.causal, config.variant);
  auto kernel = [&](View tensor, View strips, View offsets) {
    listStrips(strips, offsets, tensor.dim(2), isForward ? config.block_m : config.block_n, lastFirst);
  };
  return record(isForward ? "strips_of_queries" : "strips_of_keys", kernel, tensor(config, isForward ? "q" : "k"),
                TensorArg{isForward ? "query_strips" : "key_strips", i32, 2},
                TensorArg{isForward ? kQueryOffsets : kKeyOffsets, i32, 1});
}

} // namespace

bool hasStrips(const AttentionProblem &problem, std::string_view program) {
  const Variant &variant = problem.variant;
  const bool isBackward = program == visitorOf(Pass::backward);
  return (program == visitorOf(Pass::forward) || isBackward) && variant.sequences && !variant.probability &&
         !blockMaskOf(problem).exists() && problem.dropout_p == 0 && !(isBackward && problem.deterministic);
}

Value countOfStrips(View strips) { return strips.gather(0, 0); }

BlockRows rowsOfStrip(View strips, Value block) {
  const Value place = block + 1, isListed = narrow(block) < countOfStrips(strips);
  const auto listed = [&](int row) { return wide(select(isListed, max(strips.gather(row, place), 0), 0)); };
  return {listed(0), listed(1)};
}

Size mostStrips(const Size &length, int block) { return ceilDiv(length, block) + 3 * (length / (kLong * block)) + 2; }

Size mostStrips(const Size &length, int block, const Size &sequences) {
  return min(mostStrips(length, block), ceilDiv(length, block) + 2 * sequences);
}

Expected<Program> recordStripsOfQueries(const AttentionConfig &config) { return recordStrips(config, Pass::forward); }

Expected<Program> recordStripsOfKeys(const AttentionConfig &config) { return recordStrips(config, Pass::backward); }

} // namespace tegula
