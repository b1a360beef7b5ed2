// SPDX-License-Identifier: MIT
#include "ring_plan.h"

Step RingPlan::step(int step) const {
  if (!causal)
    return {all(), all(), false};
  if (step == 0)
    return {all(), all(), true}; // Both chunks are in the order of the sequence.
  const bool is_earlier = source(step) < rank;
  // An earlier rank's first chunk lies before both of ours, and its second chunk after them. A later rank's chunks both
  // lie between ours.
  return is_earlier ? Step{all(), firstChunk(), false} : Step{secondChunk(), all(), false};
}

std::vector<Share> RingPlan::queryShares() const {
  const Range every{0, ranks};
  if (!causal)
    return {{all(), every}};
  return {{firstChunk(), {0, rank + 1}}, {secondChunk(), every}}; // Steps 1 to `rank` have keys of earlier ranks.
}

std::vector<Share> RingPlan::keyShares() const {
  const Range every{0, ranks};
  if (!causal)
    return {{all(), every}};
  // To the ranks after this one, its keys are those of an earlier rank. The last `rank` steps are of ranks before it.
  return {{firstChunk(), every}, {secondChunk(), {ranks - 1 - rank, ranks}}};
}

int64_t RingPlan::wholePosition(int64_t local) const {
  if (!causal)
    return rank * length + local;
  const int64_t chunk = length / 2;
  return local < chunk ? rank * chunk + local : (2 * ranks - 1 - rank) * chunk + (local - chunk);
}
