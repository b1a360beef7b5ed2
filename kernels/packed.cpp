// SPDX-License-Identifier: MIT
#include "tegula/packed.h"

#include "arguments.h"
#include "narrow.h"
#include "plan_check.h"
#include "spec_arguments.h"
#include "tegula/attention_variant.h"
#include "tegula/guard.h"

namespace tegula {
namespace {

constexpr int kPositions = 256; ///< Positions of a program instance.
constexpr int kChunk = 64;      ///< Offsets that are checked together.
constexpr int kBits = 31;       ///< Bits of a number of sequences.

/// Packed queries, or packed keys.
struct Packed {
  View offsets, begin, end;
  Var passed; ///< For each position of the program instance: the sequences that end before it.

  Packed(View offsets, View begin, View end)
      : offsets(offsets), begin(begin), end(end), passed(fill({kPositions}, 0)) {}

  Value sequences() const { return narrow(offsets.dim(0)) - 1; }
  Interval positionsOf(Value sequence) const { return {offsets.gather(sequence), offsets.gather(sequence + 1)}; }

  /// Asserts that offsets do not decrease, and that there are positions up to the last one.
  void check() const {
    const Value all = offsets.gather(sequences()), positions = narrow(begin.dim(0));
    deviceAssert(all <= positions, "the last offset, and the positions that there are", listed({all, positions}));
    for (Value first : range(0, wide(sequences()), kChunk)) {
      const Value number = narrow(first) + iota(kChunk);
      const Value ends = select(number < sequences(), offsets.gather(number + 1), 0x7fffffff);
      const Value falls = reduceMin(select(ends < offsets.gather(number), number + 1, 0x7fffffff), 0); // [1]
      deviceAssert(falls == 0x7fffffff, "the number of the first offset that is less than the one before it", falls);
    }
  }

  /// Passes `step` more sequences if all of them end before the positions `at`.
  void pass(Value step, Value at) {
    const Value next = passed + step;
    passed = select((next <= sequences()) & (offsets.gather(next) <= at), next, passed);
  }
};

/// Writes for each position of `own` which other positions it sees: from its own one - before to its own one + after.
/// `others(sequence)` returns those of a sequence.
template <class Others>
void storeIntervals(const Packed &own, const Others &others, Value at, Value before, Value after) {
  const Value sequences = own.sequences(), sequence = min(own.passed, sequences - 1);
  const Interval all = others(sequence);
  const Value last = all.end, diagonal = at + (last - own.offsets.gather(sequence + 1));
  Var from = all.begin, to = last;
  from = select((before < 0) | (diagonal - from <= before), from, diagonal - before); // No bound overflows 32 bits.
  to = select((after < 0) | (last - diagonal <= after), to, diagonal + after + 1);
  // What is empty stays at the place of its neighbours.
  from = select(own.passed < sequences, from, last);
  to = select(own.passed < sequences, max(from, to), last);
  own.begin.store(programId(0) * kPositions, from);
  own.end.store(programId(0) * kPositions, to);
}

/// Checks the offsets of both, and finds the sequences of the positions `at` by one binary search, because it mostly
/// waits for memory.
void findSequences(Packed &one, Packed &other, Value at) {
  one.check();
  other.check();
  for (Value bit : range(1, kBits + 1)) {
    const Value step = constant(i32, 1) << (kBits - narrow(bit));
    one.pass(step, at);
    other.pass(step, at);
  }
}

/// A program instance works on the same positions of queries and of keys.
void intervals(View offsets_q, View offsets_k, Value left, Value right, View begin, View end, View query_begin,
               View query_end) {
  Packed queries(offsets_q, begin, end), keys(offsets_k, query_begin, query_end);
  const Value at = narrow(programId(0) * kPositions) + iota(kPositions); // [kPositions]
  findSequences(queries, keys, at);
  storeIntervals(queries, [&](Value sequence) { return keys.positionsOf(sequence); }, at, left, right);
  storeIntervals(keys, [&](Value sequence) { return queries.positionsOf(sequence); }, at, right, left);
}

/// The pages of sequences.
class PagedSequences {
public:
  /// `table` is [sequences, pages of a sequence], or [entries] if `offsets` has a view.
  PagedSequences(int page_size, View lengths, View table, std::span<const View> offsets)
      : page_size(page_size), lengths_(lengths), table_(table), offsets_(offsets) {}

  Value count() const { return narrow(lengths_.dim(0)); }
  /// Returns the entries of the table that a sequence has.
  Value room(Value sequence) const {
    return offsets_.empty() ? narrow(table_.dim(1)) : max(begin(sequence + 1) - begin(sequence), 0);
  }
  /// Returns the keys of a sequence for which there is room.
  Value keys(Value sequence) const { return clamp(lengths_.gather(sequence), 0, room(sequence) * page_size); }
  Value length(Value sequence) const { return lengths_.gather(sequence); }
  /// Returns an entry of a sequence.
  Value page(Value sequence, Value entry) const {
    return offsets_.empty() ? table_.gather(sequence, entry) : table_.gather(begin(sequence) + entry);
  }

  const int page_size;

private:
  Value begin(Value sequence) const { return clamp(offsets_.front().gather(sequence), 0, narrow(table_.dim(0))); }

  View lengths_, table_;
  std::span<const View> offsets_;
};

/// Writes `first_pages`: how many pages the sequences before each one have, and last how many all have.
void firstPages(const PagedSequences &sequences, View first_pages) {
  Var before = fill({1}, 0);
  for (Value first : range(0, first_pages.dim(0), kChunk)) {
    const Value number = narrow(first) + iota(kChunk), exists = number < sequences.count();
    const Value keys = sequences.keys(number), pages = select(exists, ceilDiv(keys, sequences.page_size), 0);
    const Value without = reduceMin(select(exists & (sequences.length(number) > keys), number, 0x7fffffff), 0); // [1]
    deviceAssert(without == 0x7fffffff, "the number of the first sequence whose keys have too few pages", without);
    first_pages.store(first, before + cumsum(pages, 0) - pages);
    before = before + reduceSum(pages, 0);
  }
}

/// A program instance works on as many queries as entries of `pages`.
void packedPages(const PagedSequences &sequences, View first_pages, Packed queries, Value left, Value right, View pages,
                 View page_lengths) {
  const int page_size = sequences.page_size;
  Packed entries(first_pages, pages, page_lengths);
  const Value at = narrow(programId(0) * kPositions) + iota(kPositions); // [kPositions]
  findSequences(queries, entries, at);
  const auto keysOf = [&](Value sequence) -> Interval {
    const Value begin = first_pages.gather(sequence) * page_size;
    return {begin, begin + sequences.keys(sequence)};
  };
  storeIntervals(queries, keysOf, at, left, right);
  const Value sequence = entries.passed, isEntry = sequence < sequences.count();
  const Value entry = at - first_pages.gather(sequence), rest = sequences.keys(sequence) - entry * page_size;
  pages.store(programId(0) * kPositions, select(isEntry, sequences.page(sequence, entry), -1));
  page_lengths.store(programId(0) * kPositions, select(isEntry, min(rest, page_size), 0));
}

/// The arguments that say where pages are.
struct PagedArguments {
  explicit PagedArguments(const PackedPagesProblem &problem)
      : table(input("page_table", i32,
                    problem.page_offsets ? std::vector{Size("room")} : std::vector{sequences, Size("room")})) {
    if (problem.page_offsets)
      offsets.push_back({"page_offsets", i32, 1});
  }
  /// Returns the arguments of a kernel: what all have, `own`, then the offsets.
  std::vector<ArgumentSpec> with(const std::vector<ArgumentSpec> &own) const {
    std::vector<ArgumentSpec> all = {lengths, table};
    all.insert(all.end(), own.begin(), own.end());
    for (const TensorArg &tensor : offsets)
      all.push_back(input(tensor.name, tensor.dtype, {sequences + 1}));
    return all;
  }

  Size sequences = Size("sequences");
  TensorSpec lengths = input("lengths", i32, {sequences}), table,
             first_pages = workspace("first_pages", i32, {sequences + 1});
  std::vector<TensorArg> offsets; ///< page_offsets, if there are any.
};

} // namespace

Expected<PlanSpec> packedIntervals() noexcept {
  return guarded([]() -> Expected<PlanSpec> {
    const Size offsets("offsets"), queries("queries"), keys("keys");
    KernelSpec kernel("packed_intervals", intervals, input("offsets_q", i32, {offsets}),
                      input("offsets_k", i32, {offsets}), scalar("left", i32), scalar("right", i32),
                      output("begin", i32, {queries}), output("end", i32, {queries}),
                      output("query_begin", i32, {keys}), output("query_end", i32, {keys}));
    return PlanSpec("packed_intervals", {std::move(kernel).grid(ceilDiv(max(queries, keys), kPositions))});
  });
}

Expected<PlanSpec> packedPages(const PackedPagesProblem &problem) noexcept {
  return guarded([&]() -> Expected<PlanSpec> {
    const int page_size = problem.page_size;
    if (page_size < 1 || page_size > kMaxDiagonal)
      return invalidArgument("page_size", "it is " + std::to_string(page_size) + "; it must be from 1 to " +
                                              std::to_string(kMaxDiagonal));
    const Size queries("queries"), entries("entries"), room("room");
    const PagedArguments given(problem);
    const TensorSpec offsets_q = input("offsets_q", i32, {given.sequences + 1}),
                     begin = output("begin", i32, {queries}), end = output("end", i32, {queries}),
                     pages = output("pages", i32, {entries}), page_lengths = output("page_lengths", i32, {entries});
    const auto recordFirst = [=](const Sizes &) {
      const auto kernel = [&](View lengths, View table, View first_pages, std::span<const View> offsets) {
        firstPages({page_size, lengths, table, offsets}, first_pages);
      };
      return recordList("packed_first_pages", kernel, given.offsets, arg(given.lengths), arg(given.table),
                        arg(given.first_pages));
    };
    const auto recordPages = [=](const Sizes &) {
      const auto kernel = [&](View lengths, View table, View first_pages, View offsets_q, Value left, Value right,
                              View begin, View end, View pages, View page_lengths, std::span<const View> offsets) {
        packedPages({page_size, lengths, table, offsets}, first_pages, Packed(offsets_q, begin, end), left, right,
                    pages, page_lengths);
      };
      return recordList("packed_pages", kernel, given.offsets, arg(given.lengths), arg(given.table),
                        arg(given.first_pages), arg(offsets_q), ScalarArg{"left", i32}, ScalarArg{"right", i32},
                        arg(begin), arg(end), arg(pages), arg(page_lengths));
    };
    KernelSpec first = KernelSpec::ofPrograms("packed_first_pages", given.with({given.first_pages}), recordFirst);
    KernelSpec all = KernelSpec::ofPrograms("packed_pages",
                                            given.with({given.first_pages, offsets_q, scalar("left", i32),
                                                        scalar("right", i32), begin, end, pages, page_lengths}),
                                            recordPages);
    return PlanSpec("packed_pages", {std::move(first), std::move(all).grid(ceilDiv(max(queries, entries), kPositions))})
        .require(room * page_size <= kMaxDiagonal, "page_table has room for more than 2^30 - 1024 keys")
        .require(entries * page_size <= kMaxDiagonal, "pages have room for more than 2^30 - 1024 keys");
  });
}

} // namespace tegula
