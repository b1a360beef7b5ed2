// SPDX-License-Identifier: MIT
// The product of queries and keys: q k^T, and the products that a variant adds.
#pragma once

#include "tegula/attention_programs.h"

#include <optional>
#include <span>
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

/// The keys and values of a forward pass: tensors, or pages that one row of keys lies in.
class KeyTensors {
public:
  /// `pages` are page_table and page_lengths, or none.
  KeyTensors(const AttentionConfig &config, View k, View v, std::span<const View> pages)
      : config_(config), k_(k), v_(v), pages_(pages) {}

  Value heads() const { return k_.dim(1); }
  /// Returns the number of keys of an entry of the batch.
  Value count() const { return pages_.empty() ? k_.dim(2) : pages_.front().dim(0) * config_.page_size; }
  /// Return those of one head. `tensors` begin with those of the variant.
  OperandViews keys(VariantViews tensors, Value batch, Value kv_head) const;
  View values(Value batch, Value kv_head) const { return headOf(v_, batch, kv_head); }

private:
  View headOf(View x, Value batch, Value kv_head) const;

  const AttentionConfig &config_;
  View k_, v_;
  std::span<const View> pages_;
};

/// Returns q k^T plus all products. The sum starts from `initial` if there is one.
Value productOf(const Operands &q, const Operands &k, std::optional<Value> initial = {}); // [queries, keys]

} // namespace tegula
