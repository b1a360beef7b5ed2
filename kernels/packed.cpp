// SPDX-License-Identifier: MIT
#include "tegula/packed.h"

#include "narrow.h"
#include "tegula/guard.h"

namespace tegula {
namespace {

constexpr int kPositions = 256; ///< Positions of a program instance.
constexpr int kChunk = 64;      ///< Sequences that it looks at together.

/// Writes for each position of the sequences of `own` which positions of `other` it sees: from its own one - before to
/// its own one + after.
void intervals(View own, View other, Value before, Value after, View begin, View end) {
  const Value sequences = narrow(own.dim(0)) - 1;
  const Value at = narrow(programId(0) * kPositions) + iota(kPositions); // [kPositions]
  const Value all = own.gather(sequences), positions = narrow(begin.dim(0));
  deviceAssert(all <= positions, "the last offset, and the positions that there are", listed({all, positions}));
  Var passed = fill({kPositions}, 0); // Sequences that end before the position.
  for (Value first : range(0, wide(sequences), kChunk)) {
    const Value number = narrow(first) + iota(kChunk);
    const Value ends = select(number < sequences, own.gather(number + 1), 0x7fffffff);
    const Value falls = reduceMin(select(ends < own.gather(number), number + 1, 0x7fffffff), 0); // [1]
    deviceAssert(falls == 0x7fffffff, "the number of the first offset that is less than the one before it", falls);
    passed = passed + reduceSum(select(asRow(ends) <= asColumn(at), 1, 0), 1);
  }
  const Value sequence = min(passed, sequences - 1), last = other.gather(sequence + 1);
  const Value diagonal = at + (last - own.gather(sequence + 1));
  Var from = other.gather(sequence), to = last;
  from = select((before < 0) | (diagonal - from <= before), from, diagonal - before); // No bound overflows 32 bits.
  to = select((after < 0) | (last - diagonal <= after), to, diagonal + after + 1);
  // What is empty stays at the place of its neighbours.
  from = select(passed < sequences, from, last);
  to = select(passed < sequences, max(from, to), last);
  begin.store(programId(0) * kPositions, from);
  end.store(programId(0) * kPositions, to);
}

KernelSpec kernelOf(KernelName name, bool ofQueries) {
  const Size offsets("offsets"), positions(ofQueries ? "queries" : "keys");
  const TensorSpec q = input("offsets_q", i32, {offsets}), k = input("offsets_k", i32, {offsets});
  const TensorSpec begin = output(ofQueries ? "begin" : "query_begin", i32, {positions}),
                   end = output(ofQueries ? "end" : "query_end", i32, {positions});
  const auto kernel = [ofQueries](View q, View k, Value left, Value right, View begin, View end) {
    if (ofQueries)
      intervals(q, k, left, right, begin, end);
    else
      intervals(k, q, right, left, begin, end);
  };
  return KernelSpec(name, kernel, q, k, scalar("left", i32), scalar("right", i32), begin, end)
      .grid(ceilDiv(positions, kPositions));
}

} // namespace

Expected<PlanSpec> packedIntervals() noexcept {
  return guarded([]() -> Expected<PlanSpec> {
    return PlanSpec("packed_intervals", {kernelOf("packed_queries", true), kernelOf("packed_keys", false)});
  });
}

} // namespace tegula
