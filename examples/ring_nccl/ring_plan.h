// SPDX-License-Identifier: MIT
// The keys that a rank has in each step, and the partial results that it adds up. The layout of a causal ring is that
// of Llama 3's context parallelism (2024): of 2 N chunks, rank r holds chunks r and 2 N - 1 - r, so all ranks have
// equal work in each step.
#pragma once

#include <cstdint>
#include <vector>

/// Positions `begin` to `end` - 1.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Attention of some of a rank's queries on some of the keys that are here. Positions count from the begin of a part.
struct Step {
  Range queries, keys;
  bool masked; ///< A query sees the keys up to its own position in the part.
};

/// Rows of a result, and the partial results that have something to add to them.
struct Share {
  Range rows, parts;
};

struct RingPlan {
  int rank, ranks;
  int64_t length; ///< Positions of a rank's part.
  bool causal;

  int next() const { return (rank + 1) % ranks; }
  int previous() const { return (rank + ranks - 1) % ranks; }
  /// Returns the rank whose keys are here in a step, and to which their gradients go.
  int source(int step) const { return (rank + ranks - step) % ranks; }
  /// Returns the rank that has this rank's keys in a step.
  int holder(int step) const { return (rank + step) % ranks; }

  Step step(int step) const;

  /// Returns the shares of o and dq, whose part i comes from step i.
  std::vector<Share> queryShares() const;
  /// Returns the shares of dk and dv, whose parts keyPart() orders.
  std::vector<Share> keyShares() const;
  /// Returns the place of the gradients from `step` among the parts of dk and dv: this rank's own are the last.
  int keyPart(int step) const { return (step + ranks - 1) % ranks; }

  /// Returns the position in the sequence of position `local` of the part.
  int64_t wholePosition(int64_t local) const;
  Range all() const { return {0, length}; }

private:
  Range firstChunk() const { return {0, length / 2}; }
  Range secondChunk() const { return {length / 2, length}; }
};
