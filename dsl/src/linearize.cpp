// SPDX-License-Identifier: MIT
#include "linearize.h"

#include <algorithm>
#include <utility>

namespace tegula {
namespace {

bool readsMemory(Op op) { return op == Op::Load || op == Op::Gather; }

/// Marks the nodes that effects need, and the loops and branches around them.
class Liveness {
public:
  explicit Liveness(const Graph &graph) : graph_(graph), live_(graph.nodes.size()) {}

  std::vector<bool> run() {
    for (const Region &region : graph_.regions)
      for (NodeId anchor : region.anchors)
        if (graph_[anchor].op != Op::For && graph_[anchor].op != Op::If)
          need(anchor);
    while (!pending_.empty()) {
      NodeId id = pending_.back();
      pending_.pop_back();
      expand(graph_[id]);
    }
    return std::move(live_);
  }

private:
  void need(NodeId id) {
    id = graph_.resolve(id);
    if (live_[id])
      return;
    live_[id] = true;
    pending_.push_back(id);
  }

  void expand(const Node &node) {
    for (NodeId operand : node.operands)
      need(operand);
    if (NodeId around = graph_.regions[node.region].owner)
      need(around);
    if (!node.owner)
      return;
    need(node.owner);
    if (node.number < 0)
      return;
    const Flow &flow = graph_.flows[graph_[node.owner].number];
    const Carried &carried = flow.carried[node.number];
    need(carried.initial);
    for (size_t i = 0; i < flow.regions.size(); ++i)
      need(carried.yielded[i]);
  }

  const Graph &graph_;
  std::vector<bool> live_;
  std::vector<NodeId> pending_;
};

/// Walks the program once in its order. Without `rank`, it finds the order in which loads are needed. With `rank`, it
/// places loads before the anchor that follows them.
class Walk {
public:
  Walk(const Graph &graph, const std::vector<bool> &live, const std::vector<uint32_t> *rank)
      : graph_(graph), rank_(rank), placed_(graph.nodes.size()), waiting_(graph.regions.size()) {
    order_.live = live;
    order_.regions.resize(graph.regions.size());
    if (rank)
      collectReads();
  }

  void run() { region(0); }
  Order order() && { return std::move(order_); }

  std::vector<uint32_t> ranks() const {
    std::vector<uint32_t> rank(graph_.nodes.size());
    for (size_t i = 0; i < reads_.size(); ++i)
      rank[reads_[i]] = i;
    return rank;
  }

private:
  void collectReads() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id)
      if (order_.live[id] && readsMemory(graph_[id].op))
        waiting_[graph_[id].region].push_back(id);
    for (std::vector<NodeId> &reads : waiting_)
      std::sort(reads.begin(), reads.end(), [&](NodeId a, NodeId b) {
        return std::pair(graph_[a].epoch, (*rank_)[a]) < std::pair(graph_[b].epoch, (*rank_)[b]);
      });
  }

  void region(RegionId id) {
    const Region &region = graph_.regions[id];
    for (size_t epoch = 0; epoch < region.anchors.size(); ++epoch) {
      NodeId anchor = region.anchors[epoch];
      if (!order_.live[anchor])
        continue;
      placeOperands(anchor);
      placeReads(id, epoch);
      place(anchor);
    }
  }

  void placeReads(RegionId region, size_t epoch) {
    for (NodeId read : waiting_[region])
      if (graph_[read].epoch <= epoch)
        need(read);
  }

  void placeOperands(NodeId anchor) {
    const Node &node = graph_[anchor];
    for (NodeId operand : node.operands)
      need(operand);
    if (node.op != Op::For && node.op != Op::If)
      return;
    const Flow &flow = graph_.flows[node.number];
    for (const Carried &carried : flow.carried)
      if (node.op == Op::For && order_.carries(carried))
        need(carried.initial);
    for (size_t i = 0; i < flow.regions.size(); ++i) {
      region(flow.regions[i]);
      for (const Carried &carried : flow.carried)
        if (order_.carries(carried))
          need(carried.yielded[i]);
    }
  }

  /// Places a node after its operands. Not recursive: a chain of operations may be long.
  void need(NodeId root) {
    std::vector<std::pair<NodeId, size_t>> path = {{graph_.resolve(root), 0}};
    while (!path.empty()) {
      auto &[id, next] = path.back();
      const Node &node = graph_[id];
      if (placed_[id] || next == node.operands.size()) {
        NodeId done = id;
        path.pop_back();
        place(done);
      } else {
        path.push_back({graph_.resolve(node.operands[next++]), 0});
      }
    }
  }

  void place(NodeId id) {
    const Node &node = graph_[id];
    if (placed_[id])
      return;
    placed_[id] = true;
    if (info(node.op).form != Form::Hidden)
      order_.regions[node.region].push_back(id);
    if (readsMemory(node.op))
      reads_.push_back(id);
  }

  const Graph &graph_;
  const std::vector<uint32_t> *rank_;
  std::vector<bool> placed_;
  std::vector<std::vector<NodeId>> waiting_; // The live reads of each region, sorted; by RegionId.
  std::vector<NodeId> reads_;
  Order order_;
};

} // namespace

Order linearize(const Graph &graph) {
  std::vector<bool> live = Liveness(graph).run();
  Walk first(graph, live, nullptr);
  first.run();
  std::vector<uint32_t> rank = first.ranks();
  Walk second(graph, live, &rank);
  second.run();
  return std::move(second).order();
}

} // namespace tegula
