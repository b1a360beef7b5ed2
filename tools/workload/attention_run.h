// SPDX-License-Identifier: MIT
// One attention problem on a device: compiled, with random inputs in its memory, ready to run again and again.
#pragma once

#include "workload/attention_case.h"
#include "workload/device_tensor.h"

#include <memory>

namespace tegula::tools {

struct AttentionTensors {
  DeviceTensor q, k, v, o, lse;
  DeviceTensor d_o, dq, dk, dv; ///< Empty unless the problem has a backward pass.
};

class AttentionRun {
public:
  /// Compiles and fills the inputs. ResourceExhausted if the tensors do not fit into the device's memory.
  /// `cache` has the device's kernels.
  static Expected<AttentionRun> make(const AttentionCase &attention, std::shared_ptr<Device> device,
                                     KernelCache &cache);

  /// Each gives the work to the device and does not wait for it.
  Status forward() const;
  Status backward() const; ///< After forward.

  Device &device() const { return *device_; }
  const AttentionPlan &plan() const { return plan_; }
  const AttentionTensors &tensors() const { return tensors_; }
  double compileMs() const { return compile_ms_; } ///< From recording to loaded kernels, forward and backward.
  int64_t workspaceBytes() const { return workspace_.bytes(); }

private:
  AttentionRun(const AttentionCase &attention, std::shared_ptr<Device> device, AttentionPlan plan)
      : attention_(attention), device_(std::move(device)), plan_(std::move(plan)) {}

  Status allocate();
  Status fillInputs() const;

  AttentionCase attention_;
  std::shared_ptr<Device> device_;
  AttentionPlan plan_;
  AttentionTensors tensors_;
  Buffer workspace_;
  double compile_ms_ = 0;
};

} // namespace tegula::tools
