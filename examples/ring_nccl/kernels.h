// SPDX-License-Identifier: MIT
// The kernels of a rank. They are compiled or loaded when they are made; a launch does neither.
#pragma once

#include "options.h"
#include "ring_plan.h"
#include "tegula/tegula.hpp"

#include <memory>
#include <vector>

/// Tensors that both passes read. q [batch, heads, queries, dim]; k and v [batch, kv_heads, keys, dim].
struct Inputs {
  tegula_tensor q, k, v;
};
struct Outputs {
  tegula_tensor o, lse;
};
struct Gradients {
  tegula_tensor dq, dk, dv;
};
/// Memory that only one launch uses at a time, and the stream of all launches.
struct Workspace {
  void *data = nullptr;
  int64_t bytes = 0;
  void *stream = nullptr;
};

/// Attention with one kind of mask, forward and backward.
class Attention {
public:
  /// Makes it for parts of about `length` positions. It computes all lengths.
  Attention(const tegula::host::Context &context, const Options &options, bool causal, int64_t length);

  void forward(const Inputs &in, const Outputs &out, const Workspace &workspace) const;
  void backward(const Inputs &in, const Outputs &out, const tegula_tensor &d_o, const Gradients &gradients,
                const Workspace &workspace) const;
  /// Returns the bytes of workspace that both passes need.
  int64_t workspaceBytes(int64_t queries, int64_t keys) const;

private:
  Options options_;
  tegula::host::Plan plan_;
};

/// Merges the results of attention on disjoint keys.
class Merge {
public:
  Merge(const tegula::host::Context &context, const Options &options);
  /// Merges o_parts [parts, batch, heads, rows, dim] by lse_parts [parts, batch, heads, rows].
  void launch(const Outputs &parts, const Outputs &merged, void *stream) const;

private:
  tegula::host::Plan plan_;
};

/// Sums partial gradients in f32.
class SumParts {
public:
  SumParts(const tegula::host::Context &context, const Options &options);
  /// Sums parts [parts, batch, heads, rows, dim].
  void launch(const tegula_tensor &parts, const tegula_tensor &sum, void *stream) const;

private:
  std::shared_ptr<tegula_kernel> kernel_;
};

struct Kernels {
  Kernels(const tegula::host::Context &context, const Options &options);

  Attention unmasked, causal; ///< Both the same if the ring has no causal mask.
  Merge merge;
  SumParts sum;
};
