// SPDX-License-Identifier: MIT
// One case of attention under one schedule of the simt device after the other.
#pragma once

#include "harness/case.h"
#include "tegula/simt_device.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tegula::testing {

/// Attention with one head of keys for two of queries.
Case attentionCase(DType dtype, int64_t head_dim, int64_t queries, int64_t keys);

/// Expects that nothing is reported, that results are within the bound, and that they are the same bits every time.
class Schedules {
public:
  /// `target`: "simt" or "simt:ARCH", the same for the whole process.
  Schedules(const Case &c, const std::string &target);

  /// Makes the launches of a case under the schedule of this seed; how many they are.
  int64_t run(uint64_t seed);

private:
  /// Of dq, which is summed by additions in no order, the bits may differ.
  void compare(Tensors &tensors);

  Case case_;
  SimtDevice &device_;
  std::vector<std::vector<std::byte>> first_;
  std::vector<float> dq_;
};

} // namespace tegula::testing
