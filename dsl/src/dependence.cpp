// SPDX-License-Identifier: MIT
#include "dependence.h"

#include <unordered_map>
#include <unordered_set>

namespace tegula {
namespace {

bool mixes(Op op) {
  switch (op) {
  case Op::Transpose:
  case Op::Columns:
  case Op::Join:
  case Op::Dot:
  case Op::Reduce:
  case Op::Cumsum:
  case Op::Any:
  case Op::SoftmaxUpdate:
  case Op::SoftmaxOutput:
  case Op::SoftmaxLse:
    return true;
  default:
    return false;
  }
}

/// Returns the nodes that a node is computed from. A value that a loop or branch changes depends on its operands, and
/// on all values that the Var has in it.
std::vector<NodeId> sourcesOf(const Graph &graph, NodeId id) {
  const Node &node = graph[id];
  if (node.alias)
    return {node.alias};
  const Carried *carried = graph.carried(id);
  if (!carried)
    return node.operands;
  std::vector<NodeId> sources = graph[node.owner].operands;
  sources.push_back(carried->initial);
  for (NodeId yielded : carried->yielded)
    if (yielded != 0)
      sources.push_back(yielded);
  return sources;
}

using Users = std::unordered_map<NodeId, std::vector<NodeId>>;

/// Returns the users of each node that `output` is computed from.
Users usersBefore(const Graph &graph, NodeId output) {
  Users users;
  std::unordered_set<NodeId> seen = {output};
  std::vector<NodeId> pending = {output};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    for (NodeId source : sourcesOf(graph, id)) {
      users[source].push_back(id);
      if (seen.insert(source).second)
        pending.push_back(source);
    }
  }
  return users;
}

} // namespace

std::optional<NodeId> findMixing(const Graph &graph, NodeId input, NodeId output) {
  const Users users = usersBefore(graph, output);
  std::optional<NodeId> first;
  std::unordered_set<NodeId> seen = {input};
  std::vector<NodeId> pending = {input};
  while (!pending.empty()) {
    const auto found = users.find(pending.back());
    pending.pop_back();
    if (found == users.end())
      continue;
    for (NodeId user : found->second)
      if (seen.insert(user).second) {
        pending.push_back(user);
        if (mixes(graph[user].op) && (!first || user < *first))
          first = user;
      }
  }
  return first;
}

bool dependsOn(const Graph &graph, NodeId input, NodeId output) {
  return input == output || usersBefore(graph, output).contains(input);
}

std::string nameOf(const Node &node) {
  switch (node.op) {
  case Op::Dot:
    return "a dot";
  case Op::Reduce:
    return "a reduction";
  case Op::Cumsum:
    return "a cumsum";
  case Op::Transpose:
    return "a transpose";
  case Op::Columns:
    return "columns";
  case Op::Join:
    return "joined columns";
  case Op::Any:
    return "any or allFinite";
  case Op::SoftmaxUpdate:
  case Op::SoftmaxOutput:
  case Op::SoftmaxLse:
    return "an OnlineSoftmax";
  default:
    return node.owner ? "a Var that a loop or branch changes" : info(node.op).mnemonic;
  }
}

} // namespace tegula
