// SPDX-License-Identifier: MIT
#include "operands.h"

namespace tegula {

static OperandViews viewsOf(const AttentionConfig &config, View first, VariantViews tensors, size_t ScoreProduct::*side,
                            Value batch, Value head) {
  OperandViews operands{{first.at(batch, head)}, {config.head_dim}};
  for (const ScoreProduct &product : config.variant.products) {
    operands.views.push_back(tensors[product.*side].at(batch, head));
    operands.dims.push_back(columnsOf(config.variant.tensors[product.*side].last_dim));
  }
  return operands;
}

OperandViews queriesOf(const AttentionConfig &config, View Q, VariantViews tensors, Value batch, Value head) {
  return viewsOf(config, Q, tensors, &ScoreProduct::queries, batch, head);
}

OperandViews keysOf(const AttentionConfig &config, View K, VariantViews tensors, Value batch, Value kv_head) {
  return viewsOf(config, K, tensors, &ScoreProduct::keys, batch, kv_head);
}

OperandViews KeyTensors::keys(VariantViews tensors, Value batch, Value kv_head) const {
  if (pages_.empty())
    return keysOf(config_, k_, tensors, batch, kv_head);
  return {{headOf(k_, batch, kv_head)}, {config_.head_dim}};
}

View KeyTensors::headOf(View x, Value batch, Value kv_head) const {
  return pages_.empty() ? x.at(batch, kv_head) : paged(x.atAxis(1, kv_head), pages_[0], pages_[1], config_.page_size);
}

Operands OperandViews::load(Value row, int rows) const {
  Operands loaded;
  for (size_t n = 0; n < views.size(); ++n)
    loaded.push_back(views[n].load(row, {rows, dims[n]}));
  return loaded;
}

Value productOf(const Operands &q, const Operands &k, std::optional<Value> initial) {
  Var sum = initial ? dot(q[0], transpose(k[0]), *initial) : dot(q[0], transpose(k[0]));
  for (size_t n = 1; n < q.size(); ++n)
    sum = dot(q[n], transpose(k[n]), sum);
  return sum;
}

} // namespace tegula
