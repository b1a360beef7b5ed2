// SPDX-License-Identifier: MIT
// One rank of a ring: its parts of all tensors, and its two passes. Ring attention: Liu, Zaharia and Abbeel, "Ring
// Attention with Blockwise Transformers for Near-Infinite Context", 2023.
#pragma once

#include "device.h"
#include "exchange.h"
#include "inputs.h"
#include "kernels.h"
#include "ring_plan.h"
#include "tensors.h"

#include <initializer_list>
#include <memory>
#include <vector>

/// The parts of a pass that run. Timing leaves out kernels or exchanges, and results are then wrong.
enum class Work { all, kernels, exchanges };

class Rank {
public:
  /// Allocates everything, and fills q, k, v and d_o. `kernels`, `device` and `exchange` must outlive the rank.
  Rank(const Options &options, const RingPlan &plan, const Kernels &kernels, Device &device, Exchange &exchange);

  /// Enqueues the forward pass, which writes o and lse.
  void forward(Work work);
  /// Enqueues the backward pass, which reads o and lse, and writes dq, dk and dv.
  void backward(Work work);

  /// Enqueues attention of this rank's queries on its own keys only, in one call: what a ring of one rank computes,
  /// without its merges and sums.
  void forwardOfOwnKeys();
  void backwardOfOwnKeys();

  /// The results, [batch, heads, length, head_dim] or [batch, heads, length]; dk and dv have kv_heads.
  const Outputs &outputs() const { return outputs_; }
  Gradients gradients() const { return {dq_, firstHalf(dkv_), secondHalf(dkv_)}; }
  const RingPlan &plan() const { return plan_; }
  /// Returns the bytes of all tensors and of the workspace.
  int64_t bytes() const { return bytes_; }

private:
  tegula_tensor allocate(int32_t dtype, std::initializer_list<int64_t> shape);
  void fill(const tegula_tensor &x, Input input, const RandomInputs &inputs);

  const tegula_tensor &kvOf(int step) const { return step == 0 ? kv_ : arriving_[step % 2]; }
  const Attention &attention(bool masked) const { return masked ? kernels_.causal : kernels_.unmasked; }
  Inputs ownInputs() const { return {q_, firstHalf(kv_), secondHalf(kv_)}; }
  Transfer keysAfter(int step) const;
  Transfer gradientsOf(int step) const;
  void attend(int step) const;
  void differentiate(int step, Range kv_heads, const tegula_tensor &dkv) const;
  void mergeOutputs() const;
  void sumGradients() const;

  const Options options_;
  const RingPlan plan_;
  const Kernels &kernels_;
  Device &device_;
  Exchange &exchange_;
  std::vector<std::shared_ptr<void>> memory_;
  int64_t bytes_ = 0;
  Workspace workspace_;

  // k and v are one tensor [2 * batch, kv_heads, length, head_dim], so that one message has both. So are dk and dv.
  tegula_tensor q_, kv_, d_o_, dq_, dkv_;
  Outputs outputs_;
  tegula_tensor arriving_[2]; ///< Keys and values of other ranks: those of this step, and those of the next one.
  tegula_tensor leaving_[2];  ///< Gradients of other ranks' keys: those of this step, and those that travel.
  Outputs parts_;             ///< o and lse of each step. The backward pass keeps dq of each step in `parts_.o`.
  tegula_tensor dkv_parts_;   ///< Gradients of this rank's keys from each rank, in the order of RingPlan::keyPart.
};
