// SPDX-License-Identifier: MIT
// Random tensors for the example, and the same attention in double precision, as plain loops.
#pragma once

#include "tegula/attention.h"

#include <vector>

inline constexpr int64_t kDim = 64;

struct Arrays {
  std::vector<float> q, k, v, o, lse;
  std::vector<float> d_o, dq, dk, dv;
  tegula::AttentionShape shape;

  /// Random q, k, v and d_o; room for the rest.
  Arrays(const tegula::AttentionShape &shape, float scale);

  /// [batch, heads, seqlen, kDim]
  tegula::TensorRef view(std::vector<float> &x) const;
  /// [batch, heads, seqlen]
  tegula::TensorRef rows(std::vector<float> &x) const;
};

/// Prints how far each result is from double precision; false if one is too far.
bool checkDilatedRecency(const tegula::AttentionShape &shape, float scale, const Arrays &arrays);
