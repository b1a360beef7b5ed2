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

  /// Fills q, k, v and d_o with random numbers and makes room for the rest. As many keys as queries; every head has its
  /// own keys.
  explicit Arrays(const tegula::AttentionShape &shape);

  /// [batch, heads, seqlen, kDim]
  tegula::TensorRef view(std::vector<float> &x) const;
  /// [batch, heads, seqlen]
  tegula::TensorRef rows(std::vector<float> &x) const;
};

/// Prints how far each result is from double precision; false if one is too far.
bool checkDilatedRecency(float scale, const Arrays &arrays);
