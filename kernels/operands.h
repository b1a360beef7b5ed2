// SPDX-License-Identifier: MIT
// The product of queries and keys: q k^T, and the products that a variant adds.
#pragma once

#include "tegula/attention_programs.h"

#include <optional>
#include <vector>

namespace tegula {

/// Rows of q, or of k, then the same rows of the operands of all products.
using Operands = std::vector<Value>;

/// One head of q, or of k, then the same head of the operands of all products.
struct OperandViews {
  std::vector<View> views;
  std::vector<int> dims; ///< The last dimensions of the views.

  Operands load(Value row, int rows) const;
};

// `tensors` begin with those of the variant.
OperandViews queriesOf(const AttentionConfig &config, View Q, VariantViews tensors, Value batch, Value head);
OperandViews keysOf(const AttentionConfig &config, View K, VariantViews tensors, Value batch, Value kv_head);

/// Returns q k^T plus all products. The sum starts from `initial` if there is one.
Value productOf(const Operands &q, const Operands &k, std::optional<Value> initial = {}); // [queries, keys]

} // namespace tegula
