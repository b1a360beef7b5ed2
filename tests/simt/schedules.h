// SPDX-License-Identifier: MIT
// Runs one case of attention under one schedule of the simt device after another.
#pragma once

#include "harness/case.h"
#include "tegula/simt_device.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tegula::testing {

/// Returns attention with one kv head for two query heads.
Case attentionCase(DType dtype, int64_t head_dim, int64_t queries, int64_t keys);

/// A case that runs under many schedules. Expects that nothing is reported, that results are within the bound, and that
/// they have the same bits every time.
class Schedules {
public:
  /// Takes `target`, "simt" or "simt:ARCH", which must be the same for the whole process.
  Schedules(const Case &c, const std::string &target);

  /// Makes the launches of a case under the schedule of this seed, and returns their number.
  int64_t run(uint64_t seed);

private:
  /// Compares results with the first run's. The bits of dq may differ unless the case is deterministic: its additions
  /// have no order.
  void compare(Tensors &tensors);

  Case case_;
  SimtDevice &device_;
  std::vector<std::vector<std::byte>> first_;
  std::vector<float> dq_;
};

} // namespace tegula::testing
