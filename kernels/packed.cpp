// SPDX-License-Identifier: MIT
#include "tegula/packed.h"

#include "narrow.h"
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

/// Writes for each position of `own` which positions of `other` it sees: from its own one - before to its own one +
/// after.
void storeIntervals(const Packed &own, const Packed &other, Value at, Value before, Value after) {
  const Value sequences = own.sequences(), sequence = min(own.passed, sequences - 1);
  const Value last = other.offsets.gather(sequence + 1);
  const Value diagonal = at + (last - own.offsets.gather(sequence + 1));
  Var from = other.offsets.gather(sequence), to = last;
  from = select((before < 0) | (diagonal - from <= before), from, diagonal - before); // No bound overflows 32 bits.
  to = select((after < 0) | (last - diagonal <= after), to, diagonal + after + 1);
  // What is empty stays at the place of its neighbours.
  from = select(own.passed < sequences, from, last);
  to = select(own.passed < sequences, max(from, to), last);
  own.begin.store(programId(0) * kPositions, from);
  own.end.store(programId(0) * kPositions, to);
}

/// A program instance works on the same positions of queries and of keys. It finds the sequences of both by one binary
/// search, because it mostly waits for memory.
void intervals(View offsets_q, View offsets_k, Value left, Value right, View begin, View end, View query_begin,
               View query_end) {
  Packed queries(offsets_q, begin, end), keys(offsets_k, query_begin, query_end);
  const Value at = narrow(programId(0) * kPositions) + iota(kPositions); // [kPositions]
  queries.check();
  keys.check();
  for (Value bit : range(1, kBits + 1)) {
    const Value step = constant(i32, 1) << (kBits - narrow(bit));
    queries.pass(step, at);
    keys.pass(step, at);
  }
  storeIntervals(queries, keys, at, left, right);
  storeIntervals(keys, queries, at, right, left);
}

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

} // namespace tegula
