// SPDX-License-Identifier: MIT
#include "recorder.h"

#include "text.h"

#include <atomic>

namespace tegula {
namespace {

thread_local Recorder *activeRecorder = nullptr;

uint32_t nextRecording() {
  static std::atomic<uint32_t> next{1};
  return next++;
}

template <class T> void appendBytes(std::string &key, const T &value) {
  key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

bool before(const Location &a, const Location &b) {
  return a.line() != b.line() ? a.line() < b.line() : std::string_view(a.file_name()) < b.file_name();
}

} // namespace

Recorder &Recorder::current() {
  if (activeRecorder)
    return *activeRecorder;
  thread_local Recorder inert(Location(), false);
  return inert;
}

Recorder *Recorder::exchange(Recorder *recorder) { return std::exchange(activeRecorder, recorder); }

Recorder::Recorder(Location where, bool active)
    : where_(where), recording_(active ? nextRecording() : 0), active_(active) {
  Node unknown{.op = Op::Poison, .type = {f32, Shape(5, 1)}, .operands = {}, .text = {}, .where = where};
  graph_.nodes.push_back(std::move(unknown));
  graph_.regions.emplace_back();
}

//===-- Uses -----------------------------------------------------------------------------------------------------===//

bool Recorder::inScope(RegionId region) const {
  for (RegionId open = region_; open != region; open = graph_.regions[open].parent)
    if (open == 0)
      return false;
  return true;
}

std::string Recorder::placeOf(RegionId region) const {
  const Node &owner = graph_[graph_.regions[region].owner];
  return (owner.op == Op::For ? "the loop at line " : "the branch at line ") + std::to_string(owner.where.line());
}

NodeId Recorder::use(Value value, Location where) {
  if (!owns(value.recording_))
    return fail(where, value.recording_ ? "this value belongs to another recording"
                                        : "this value was made outside of record()");
  const Node &node = graph_[value.node_];
  if (node.op == Op::Poison || inScope(node.region))
    return value.node_;
  return fail(where,
              "this value was made inside " + placeOf(node.region) +
                  " and is used outside of it; declare a Var before it and assign to the Var inside",
              {{value.made_, "made here"}}, node.type);
}

Term Recorder::use(const Operand &operand) {
  Term term;
  term.made = operand.where_;
  switch (operand.kind_) {
  case Operand::Kind::Value:
    term.id = use(operand.value_, operand.where_);
    term.made = operand.value_.made_;
    break;
  case Operand::Kind::Integer:
    term.kind = Term::Kind::Integer;
    term.integer = operand.integer_;
    break;
  case Operand::Kind::Floating:
    term.kind = Term::Kind::Floating;
    term.floating = operand.floating_;
    break;
  case Operand::Kind::Condition:
    term.kind = Term::Kind::Condition;
    term.integer = operand.integer_;
    break;
  }
  return term;
}

//===-- Nodes ----------------------------------------------------------------------------------------------------===//

NodeId Recorder::append(Node node) {
  if (!active_)
    return 0;
  node.region = region_;
  node.epoch = graph_.regions[node.region].anchors.size();
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.size() - 1;
}

NodeId Recorder::poison(Type guess) {
  return append({.op = Op::Poison, .type = std::move(guess), .operands = {}, .text = {}, .where = where_});
}

NodeId Recorder::parameter(std::string name, Type type, Location where) {
  parameters_.push_back({name, type.view_rank ? Parameter::Kind::tensor : Parameter::Kind::scalar,
                         type.view_rank ? inMemory(type.dtype) : type.dtype, type.view_rank, false});
  int64_t number = parameters_.size() - 1;
  return append({.op = Op::Parameter,
                 .type = std::move(type),
                 .operands = {},
                 .text = std::move(name),
                 .number = number,
                 .where = where});
}

std::string Recorder::keyOf(const Node &node) const {
  std::string key;
  appendBytes(key, node.op);
  appendBytes(key, node.type.dtype);
  appendBytes(key, node.type.view_rank);
  appendBytes(key, node.number);
  appendBytes(key, node.type.shape.size());
  appendBytes(key, node.operands.size());
  for (int64_t size : node.type.shape)
    appendBytes(key, size);
  for (NodeId operand : node.operands)
    appendBytes(key, operand);
  return key + node.text;
}

/// Returns the node of the innermost open region that computes the same, or a new node. If equal nodes lie between the
/// same two anchors, the first line counts, whatever the order in which the C++ compiler evaluates arguments.
NodeId Recorder::share(Node node, std::string key) {
  for (NodeId operand : node.operands)
    if (poisoned(operand))
      return poison(std::move(node.type));
  for (RegionId region = region_;; region = graph_.regions[region].parent) {
    auto found = graph_.regions[region].known.find(key);
    if (found != graph_.regions[region].known.end()) {
      Node &known = graph_.nodes[found->second];
      bool sameStep = region == region_ && known.epoch == graph_.regions[region].anchors.size();
      if (sameStep && before(node.where, known.where))
        known.where = node.where;
      return found->second;
    }
    if (region == 0)
      break;
  }
  NodeId id = append(std::move(node));
  if (active_)
    graph_.regions[region_].known.emplace(std::move(key), id);
  return id;
}

NodeId Recorder::pure(Op op, Type type, std::vector<NodeId> operands, Location where, std::string text,
                      int64_t number) {
  Node node{.op = op,
            .type = std::move(type),
            .operands = std::move(operands),
            .text = std::move(text),
            .number = number,
            .where = where};
  std::string key = keyOf(node);
  return share(std::move(node), std::move(key));
}

NodeId Recorder::read(Op op, Type type, std::vector<NodeId> operands, Location where, std::string text) {
  Node node{
      .op = op, .type = std::move(type), .operands = std::move(operands), .text = std::move(text), .where = where};
  std::string key = keyOf(node);
  appendBytes(key, region_);
  appendBytes(key, graph_.regions[region_].anchors.size());
  return share(std::move(node), std::move(key));
}

void Recorder::effect(Op op, std::vector<NodeId> operands, Location where) {
  for (NodeId operand : operands)
    if (poisoned(operand))
      return;
  markWritten(operands[1]);
  Type type = graph_[operands[0]].type;
  anchor({.op = op, .type = type, .operands = std::move(operands), .text = {}, .where = where});
}

void Recorder::report(Op op, std::vector<NodeId> operands, std::string label, Location where) {
  for (NodeId operand : operands)
    if (poisoned(operand))
      return;
  Type type = graph_[operands.back()].type;
  anchor({.op = op, .type = type, .operands = std::move(operands), .text = std::move(label), .where = where});
}

/// Appends a node that keeps its place among the effects of its region.
void Recorder::anchor(Node node) {
  NodeId id = append(std::move(node));
  graph_.regions[region_].anchors.push_back(id);
}

Parameter &Recorder::tensorOf(NodeId view) {
  while (makesView(graph_[view].op))
    view = graph_[view].operands[0];
  return parameters_[graph_[view].number];
}

void Recorder::markWritten(NodeId view) { tensorOf(view).written = true; }

void Recorder::checkTables() {
  for (const auto &[view, where] : tables_)
    if (const Parameter &tensor = tensorOf(view); tensor.written)
      fail(where,
           "paged: the program writes '" + tensor.name + "'; a table of pages is a tensor that the program only reads");
}

bool Recorder::markCounter(NodeId view) {
  Parameter &parameter = parameters_[graph_[view].number];
  parameter.written = true;
  return !std::exchange(parameter.counter, true);
}

NodeId Recorder::fail(Location where, std::string message, std::vector<Note> notes, Type guess) {
  if (!active_)
    return 0;
  diagnostics_.add(where, std::move(message), std::move(notes));
  return poison(std::move(guess));
}

//===-- Vars -----------------------------------------------------------------------------------------------------===//

uint32_t Recorder::declare(NodeId initial, Location where) {
  if (!active_)
    return 0;
  variables_.push_back({initial, graph_[initial].type, region_, where, true, poisoned(initial)});
  return variables_.size() - 1;
}

void Recorder::release(uint32_t slot) {
  if (active_)
    variables_[slot].alive = false;
}

Value Recorder::current(uint32_t slot) {
  NodeId id = 0;
  if (active_)
    id = variables_[slot].poisoned ? poison(variables_[slot].type) : variables_[slot].current;
  return value(id, graph_[id].where);
}

void Recorder::assign(uint32_t slot, Value value) {
  if (!active_)
    return;
  Variable &variable = variables_[slot];
  NodeId id = use(value, value.made_);
  if (poisoned(id) || variable.poisoned)
    id = poison(variable.type);
  else if (variable.region == region_)
    variable.type = graph_[id].type;
  else if (graph_[id].type != variable.type) {
    id = fail(value.made_,
              "a Var that holds " + describe(variable.type) + " cannot become " + describe(graph_[id].type) +
                  " inside of a loop or branch",
              {{variable.where, "the Var is declared here"}}, variable.type);
    variable.poisoned = true;
  }
  variable.current = id;
}

} // namespace tegula
