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
