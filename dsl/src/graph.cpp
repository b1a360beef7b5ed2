// SPDX-License-Identifier: MIT
#include "graph.h"

namespace tegula {

const OpInfo &info(Op op) {
  static constexpr OpInfo kInfos[] = {
#define TEGULA_OP(name, mnemonic, form) {mnemonic, Form::form},
      TEGULA_OPS(TEGULA_OP)
#undef TEGULA_OP
  };
  return kInfos[static_cast<size_t>(op)];
}

bool makesView(Op op) { return op == Op::Slice || op == Op::Rows || op == Op::Pages; }

NodeId Graph::resolve(NodeId id) const {
  while (nodes[id].alias)
    id = nodes[id].alias;
  return id;
}

const Carried *Graph::carried(NodeId id) const {
  const Node &node = nodes[id];
  return node.owner && node.number >= 0 ? &flows[nodes[node.owner].number].carried[node.number] : nullptr;
}

} // namespace tegula
