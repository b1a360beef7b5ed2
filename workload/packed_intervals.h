// SPDX-License-Identifier: MIT
// The intervals of packed sequences on a device.
#pragma once

#include "tegula/kernel_cache.h"
#include "tegula/plan.h"
#include "workload/attention_data.h"

#include <utility>
#include <vector>

namespace tegula::tools {

class PackedIntervals {
public:
  /// Compiles the plan for a problem of packed sequences, and uploads their offsets, or with pages their lengths and
  /// page table. `cache` has the device's kernels.
  static Expected<PackedIntervals> make(const AttentionCase &attention, Device &device, KernelCache &cache);

  /// Writes the intervals of the problem's variant, and with pages page_table and page_lengths. Gives the work to the
  /// device and does not wait for it.
  Status launch(const AttentionTensors &tensors) const;

private:
  PackedIntervals(Plan plan, bool has_pages, int32_t right)
      : plan_(std::move(plan)), has_pages_(has_pages), right_(right) {}

  /// Uploads the next argument of the plan.
  Status addInput(Device &device, const std::vector<int32_t> &numbers, const std::vector<int64_t> &shape);

  Plan plan_;
  bool has_pages_;
  int32_t right_; ///< How many keys after its own a query sees; negative: all.
  std::vector<DeviceTensor> inputs_;
  Buffer workspace_;
};

} // namespace tegula::tools
