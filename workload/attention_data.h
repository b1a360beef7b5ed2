// SPDX-License-Identifier: MIT
// The tensors of one attention problem in a device's memory, to be computed by any plan for it.
#pragma once

#include "workload/attention_case.h"
#include "workload/device_tensor.h"

#include <memory>

namespace tegula::tools {

struct AttentionTensors {
  DeviceTensor q, k, v, o, lse;
  DeviceTensor d_o, dq, dk, dv;                ///< Empty unless the problem has a backward pass.
  std::vector<DeviceTensor> variant;           ///< As Variant::tensors.
  std::vector<DeviceTensor> variant_gradients; ///< Written by the backward pass; for tensors that want one.
  DeviceTensor dropout_state;                  ///< Empty unless the problem has dropout.
  std::vector<DeviceTensor> blocks;            ///< As BlockMaskTensors, or empty.
  DeviceTensor diagonal_offset;                ///< Empty unless the problem has one.
  DeviceTensor sinks, d_sinks;                 ///< Empty unless the problem has sinks, and d_sinks a backward pass.
  DeviceTensor page_table, page_lengths;       ///< Empty unless the problem has pages.
};

/// Returns the lists of a call that gives blocks; without given blocks, none.
BlockMaskTensors blockMaskTensors(const AttentionTensors &tensors);

class AttentionData {
public:
  /// Fills the inputs with random numbers. Returns resource_exhausted if the tensors do not fit into the device's
  /// memory.
  static Expected<AttentionData> make(const AttentionCase &attention, const AttentionPlan &plan,
                                      std::shared_ptr<Device> device);

  /// Each gives the work to the device and does not wait for it.
  Status forward(const AttentionPlan &plan) const;
  Status backward(const AttentionPlan &plan) const; ///< After forward.

  /// Sets the gradients of the variant's tensors to 0, which backward adds to.
  Status clearVariantGradients() const;

  /// Fills what a plan writes with NaN.
  Status spoilOutputs() const;
  /// Fills the rows of pages with NaN that are no key of a sequence.
  Status spoilUnusedRows() const;

  Device &device() const { return *device_; }
  const AttentionTensors &tensors() const { return tensors_; }
  const AttentionCase &attention() const { return attention_; }
  const Variant &variant() const { return attention_.problem.variant; }
  bool hasSinks() const { return attention_.problem.sinks; }
  /// Before launches of another plan of the same problem, whose schedule may need more workspace.
  Status makeRoomFor(const AttentionPlan &plan);
  int64_t workspaceBytes() const { return workspace_.bytes(); }
  /// Returns the bytes of all tensors and the workspace.
  int64_t bytes() const;

private:
  AttentionData(const AttentionCase &attention, std::shared_ptr<Device> device)
      : attention_(attention), device_(std::move(device)) {}

  Status allocate(int64_t workspace_bytes);
  Status allocateWorkspace(int64_t bytes);
  Status fillInputs() const;
  Status fillVariant() const;
  Status fillDropoutState() const;
  Status fillDiagonalOffset() const;
  Status fillBlocks() const;

  AttentionCase attention_;
  std::shared_ptr<Device> device_;
  AttentionTensors tensors_;
  Buffer workspace_;
};

} // namespace tegula::tools
