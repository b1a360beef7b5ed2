// SPDX-License-Identifier: MIT
// Builds the graph of one program: places nodes in regions, shares equal ones, carries Vars through loops and
// branches, and collects errors.
#pragma once

#include "diagnostics.h"
#include "graph.h"
#include "tegula/record.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// An operand whose value was checked, or a literal whose dtype depends on what it meets.
struct Term {
  enum class Kind : uint8_t { Node, Integer, Floating, Condition };
  Kind kind = Kind::Node;
  NodeId id = 0;
  int64_t integer = 0;
  double floating = 0;
  Location made; ///< The line of the expression that has this value. Equal expressions share a node.

  bool literal() const { return kind != Kind::Node; }
};

class Recorder {
public:
  /// Returns the recorder of this thread. Outside record(), the recorder ignores everything, so that nothing can crash.
  static Recorder &current();
  static Recorder *exchange(Recorder *recorder);

  explicit Recorder(Location where, bool active = true);

  // Handles.
  Value value(NodeId id, Location made) const { return {id, recording_, made}; }
  Value foreign(uint32_t recording) const { return {0, recording, where_}; }
  View view(NodeId id) const { return {value(id, graph_[id].where)}; }
  uint32_t recording() const { return recording_; }
  const Graph &graph() const { return graph_; }
  const Node &node(NodeId id) const { return graph_[id]; }
  const Type &type(NodeId id) const { return graph_[id].type; }
  const Type &type(Value value) const { return graph_[owns(value.recording_) ? value.node_ : 0].type; }
  static Location madeAt(Value value) { return value.made_; }
  bool owns(uint32_t recording) const { return recording == recording_; }

  // Uses: report a value from another recording, and return poison in its place.
  NodeId use(Value value, Location where);
  NodeId use(const View &view, Location where) { return use(view.node_, where); }
  Term use(const Operand &operand);
  const Type &type(const View &view) const { return type(view.node_); }

  // Nodes.
  bool poisoned(NodeId id) const { return graph_[id].op == Op::Poison; }
  NodeId poison(Type guess);
  NodeId parameter(std::string name, Type type, Location where);
  NodeId pure(Op op, Type type, std::vector<NodeId> operands, Location where, std::string text = {},
              int64_t number = 0);
  /// Records a read of memory, which stays between the effects around it.
  NodeId read(Op op, Type type, std::vector<NodeId> operands, Location where, std::string text = {});
  /// Records an effect. Its operands are the tile, the view and the positions.
  void effect(Op op, std::vector<NodeId> operands, Location where);
  /// Records an op that gives the last operand, a value, to the host with a label.
  void report(Op op, std::vector<NodeId> operands, std::string label, Location where);

  // Vars.
  uint32_t declare(NodeId initial, Location where);
  void release(uint32_t slot);
  void assign(uint32_t slot, Value value);
  Value current(uint32_t slot);

  // Control flow.
  /// Opens a loop. Its operands are begin, end and step, or a counter and the end.
  FlowId openLoop(LoopKind kind, std::vector<NodeId> operands, Location where, std::string attributes = {});
  /// Returns true if a loop is open.
  bool inLoop() const;
  /// Returns true if a branch is open.
  bool inBranch() const;
  /// Marks the tensor of a view as written.
  void markWritten(NodeId view);
  /// Notes that the program must not write the tensor of `view`, which is a table of pages.
  void markTable(NodeId view, Location where) { tables_.push_back({view, where}); }
  /// Reports tables of pages that the program writes.
  void checkTables();
  /// Makes the tensor a counter. Returns false if it is one already.
  bool markCounter(NodeId view);
  /// Returns the effects of the innermost open loop or branch so far.
  const std::vector<NodeId> &effects() const { return graph_.regions[region_].anchors; }
  /// Gives an operation a label.
  void setLabel(NodeId id, std::string label) { graph_.nodes[id].label = std::move(label); }
  NodeId induction(FlowId loop) const;
  void closeLoop(FlowId loop);
  FlowId openBranch(NodeId condition, Location where);
  void openOtherwise(FlowId branch);
  void closeBranch(FlowId branch);
  /// Leaves a loop or branch, and those inside it, as if it had not been entered. Returns false if it is not open.
  bool abandon(FlowId flow);

  // Errors; the result is poison.
  NodeId fail(Location where, std::string message, std::vector<Note> notes = {}, Type guess = {});
  Diagnostics &diagnostics() { return diagnostics_; }

  const std::vector<Parameter> &parameters() const { return parameters_; }
  Location where() const { return where_; }

private:
  struct Variable {
    NodeId current;
    Type type;
    RegionId region;
    Location where;
    bool alive;
    bool poisoned; ///< An error has been reported, so that later assignments and uses cannot be checked.
  };

  bool inScope(RegionId region) const;
  NodeId append(Node node);
  void anchor(Node node);
  NodeId share(Node node, std::string key);
  std::string keyOf(const Node &node) const;
  NodeId hidden(Op op, Type type, NodeId owner, int64_t number);
  FlowId openFlow(Op op, std::vector<NodeId> operands, Location where);
  void openRegion(FlowId flow);
  void finish(FlowId flow);
  bool isOpen(FlowId flow) const;
  /// Returns true if a region that is open belongs to a node with this op.
  bool isInside(Op op) const;
  std::string placeOf(RegionId region) const;

  Graph graph_;
  Diagnostics diagnostics_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<NodeId, Location>> tables_;
  Parameter &tensorOf(NodeId view);
  std::vector<Variable> variables_;
  Location where_;
  RegionId region_ = 0;
  uint32_t recording_;
  bool active_;
};

} // namespace tegula
