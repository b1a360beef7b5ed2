// SPDX-License-Identifier: MIT
// The intervals of packed sequences on a device.
#pragma once

#include "tegula/kernel_cache.h"
#include "tegula/plan.h"
#include "workload/device_tensor.h"
#include "workload/packed_sequences.h"

#include <span>
#include <utility>

namespace tegula::tools {

class PackedIntervals {
public:
  /// Compiles the plan and uploads the offsets. `cache` has the device's kernels.
  static Expected<PackedIntervals> make(const PackedSequences &sequences, Device &device, KernelCache &cache);

  /// Writes the tensors of documents(). Gives the work to the device and does not wait for it.
  Status launch(std::span<const DeviceTensor> documents) const;

private:
  PackedIntervals(Plan plan, DeviceTensor offsets_q, DeviceTensor offsets_k, int32_t right)
      : plan_(std::move(plan)), offsets_q_(std::move(offsets_q)), offsets_k_(std::move(offsets_k)), right_(right) {}

  Plan plan_;
  DeviceTensor offsets_q_, offsets_k_;
  int32_t right_; ///< How many keys after its own a query sees; negative: all.
};

} // namespace tegula::tools
