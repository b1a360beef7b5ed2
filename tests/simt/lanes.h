// SPDX-License-Identifier: MIT
// Runs C++ functions as kernels of the executor.
#pragma once

#include "tegula/simt_device.h"
#include "tegula/simt_ops.h"

#include <cstring>
#include <random>
#include <vector>

namespace tegula::test {

/// The run of a kernel that reads one tensor of words, `in`, and writes another one, `out`.
struct Run {
  SimtKernel kernel;
  std::vector<int32_t> in;
  size_t out_words = 1;
  uint32_t threads = 32;
  uint32_t shared_bytes = 4096;
  uint32_t instances_per_sm = 1;
  SimtInterleaving schedule = {};
  int64_t instances = 1;
  uint32_t cluster = 1;
  int32_t fill = -1;        ///< The words of `out` before the run.
  bool takes_turns = false; ///< Site 2 waits for a turn.
};

struct Outcome {
  std::vector<int32_t> out;
  std::vector<SimtFinding> findings;
  std::vector<SimtTraffic> traffic;
};

Outcome run(const Run &run);
/// Runs a kernel, expects no findings, and returns `out`.
std::vector<int32_t> results(const Run &run);

/// The executor as a kernel sees it, with shorter calls. The caller numbers the sites.
class Me {
public:
  Me(const SimtOps *ops, SimtLane *lane, const int64_t *words) : ops(ops), lane(lane), words_(words) {}

  uint32_t thread() const { return ops->special(lane, uint32_t(SimtRegister::thread)); }
  uint32_t rank() const { return ops->special(lane, uint32_t(SimtRegister::cluster_rank)); }
  uint64_t in(uint32_t word) const { return uint64_t(words_[0]) + 4 * word; }
  uint64_t out(uint32_t word) const { return uint64_t(words_[3]) + 4 * word; } ///< After base, size and stride of `in`.

  uint32_t load(uint32_t word) const {
    uint32_t value = 0;
    ops->load(lane, 0, 1, in(word), 4, &value);
    return value;
  }
  template <class T> void store(uint32_t word, T value) const {
    static_assert(sizeof value == 4);
    ops->store(lane, 1, 1, out(word), 4, &value);
  }
  void write(uint32_t site, uint32_t byte, uint32_t value) const {
    ops->store_shared(lane, site, 1, kSimtSharedBase + byte, 4, &value);
  }
  uint32_t read(uint32_t site, uint32_t byte) const {
    uint32_t value = 0;
    ops->load_shared(lane, site, 1, kSimtSharedBase + byte, 4, &value);
    return value;
  }
  void barrier(uint32_t site) const { ops->barrier(lane, site, 0, 0); }

  const SimtOps *ops;
  SimtLane *lane;

private:
  const int64_t *words_;
};

/// Makes a kernel of a function of Me.
template <void (*Body)(const Me &)> void asKernel(const SimtOps *ops, SimtLane *lane, const int64_t *words) {
  Body(Me(ops, lane, words));
}

/// Executes one mma. `in` has the words of a (4), b (2) and c (4) of each lane; `out` gets the words of d.
template <SimtMma Kind> void multiply(const Me &me) {
  uint32_t words[10];
  for (uint32_t i = 0; i < 10; ++i)
    words[i] = me.load(10 * me.thread() + i);
  float d[4];
  me.ops->mma(me.lane, 2, uint32_t(Kind), words, words + 4, words + 6, d);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, d[i]);
}

std::vector<int32_t> randomWords(size_t count, uint64_t seed);

} // namespace tegula::test
