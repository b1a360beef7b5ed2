// SPDX-License-Identifier: MIT
// Loops and branches: which Vars they carry, and the objects that open and close them.
#include "tegula/control.h"

#include "convert.h"
#include "recorder.h"
#include "text.h"

namespace tegula {

//===-- Recorder -------------------------------------------------------------------------------------------------===//

NodeId Recorder::hidden(Op op, Type type, NodeId owner, int64_t number) {
  return append({.op = op,
                 .type = std::move(type),
                 .operands = {},
                 .text = {},
                 .number = number,
                 .where = graph_[owner].where,
                 .owner = owner});
}

/// Every Var that is visible here may be carried; those that turn out not to change are dropped at the end.
FlowId Recorder::openFlow(Op op, std::vector<NodeId> operands, Location where) {
  FlowId id = graph_.flows.size();
  NodeId node = append(
      {.op = op, .type = {}, .operands = std::move(operands), .text = {}, .number = int64_t(id), .where = where});
  graph_.regions[region_].anchors.push_back(node);
  Flow flow{.node = node, .regions = {}, .carried = {}};
  for (uint32_t slot = 0; slot < variables_.size(); ++slot)
    if (variables_[slot].alive && !variables_[slot].poisoned && inScope(variables_[slot].region))
      flow.carried.push_back({.slot = slot, .initial = variables_[slot].current});
  graph_.flows.push_back(std::move(flow));
  return id;
}

void Recorder::openRegion(FlowId flow) {
  RegionId id = graph_.regions.size();
  graph_.regions.push_back({.parent = region_, .owner = graph_.flows[flow].node, .anchors = {}, .known = {}});
  graph_.flows[flow].regions.push_back(id);
  region_ = id;
}

FlowId Recorder::openLoop(NodeId begin, NodeId end, NodeId step, bool parallel, Location where) {
  if (!active_)
    return 0;
  FlowId id = openFlow(Op::For, {begin, end, step}, where);
  openRegion(id);
  Flow &flow = graph_.flows[id];
  flow.parallel = parallel;
  flow.induction = hidden(Op::Argument, {DType::index, {}}, flow.node, -1);
  for (size_t i = 0; i < flow.carried.size(); ++i) {
    Variable &variable = variables_[flow.carried[i].slot];
    flow.carried[i].argument = hidden(Op::Argument, variable.type, flow.node, i);
    variable.current = flow.carried[i].argument;
  }
  return id;
}

NodeId Recorder::induction(FlowId loop) const { return active_ ? graph_.flows[loop].induction : 0; }

void Recorder::closeLoop(FlowId loop) {
  if (!active_ || !isOpen(loop))
    return;
  for (Carried &carried : graph_.flows[loop].carried)
    carried.yielded[0] = graph_.resolve(variables_[carried.slot].current);
  finish(loop);
}

FlowId Recorder::openBranch(NodeId condition, Location where) {
  if (!active_)
    return 0;
  FlowId id = openFlow(Op::If, {condition}, where);
  openRegion(id);
  return id;
}

void Recorder::openOtherwise(FlowId branch) {
  if (!active_)
    return;
  region_ = graph_.regions[region_].parent;
  for (Carried &carried : graph_.flows[branch].carried) {
    carried.yielded[0] = graph_.resolve(variables_[carried.slot].current);
    variables_[carried.slot].current = carried.initial;
  }
  openRegion(branch);
}

void Recorder::closeBranch(FlowId branch) {
  if (!active_)
    return;
  for (Carried &carried : graph_.flows[branch].carried)
    carried.yielded[1] = graph_.resolve(variables_[carried.slot].current);
  finish(branch);
}

/// Back in the parent region: what changed becomes a result, what did not is its initial value everywhere.
void Recorder::finish(FlowId id) {
  region_ = graph_.regions[region_].parent;
  Flow &flow = graph_.flows[id];
  bool loop = graph_[flow.node].op == Op::For;
  for (size_t i = 0; i < flow.carried.size(); ++i) {
    Carried &carried = flow.carried[i];
    NodeId initial = graph_.resolve(carried.initial);
    bool unchanged =
        loop ? carried.yielded[0] == carried.argument : carried.yielded[0] == initial && carried.yielded[1] == initial;
    if (unchanged && loop)
      graph_.nodes[carried.argument].alias = initial;
    if (!unchanged)
      carried.result = hidden(Op::Result, variables_[carried.slot].type, flow.node, i);
    variables_[carried.slot].current = unchanged ? carried.initial : carried.result;
  }
}

bool Recorder::isOpen(FlowId flow) const {
  for (RegionId region = region_; region != 0; region = graph_.regions[region].parent)
    if (graph_.regions[region].owner == graph_.flows[flow].node)
      return true;
  return false;
}

bool Recorder::abandon(FlowId flow) {
  if (!active_ || !isOpen(flow))
    return false;
  for (const Carried &carried : graph_.flows[flow].carried)
    variables_[carried.slot].current = carried.initial;
  region_ = graph_[graph_.flows[flow].node].region;
  return true;
}

//===-- range ----------------------------------------------------------------------------------------------------===//

Range::Range(Operand begin, Operand end, Operand step, bool parallel, Location where)
    : begin_(begin), end_(end), step_(step), parallel_(parallel), where_(where),
      recording_(Recorder::current().recording()) {}

Range range(Operand begin, Operand end, Operand step, Location where) { return {begin, end, step, false, where}; }
Range parallelRange(Operand begin, Operand end, Operand step, Location where) {
  return {begin, end, step, true, where};
}

Range::Iterator Range::begin() {
  Recorder &r = Recorder::current();
  Term step = r.use(step_);
  if (step.kind == Term::Kind::Integer && step.integer <= 0)
    r.fail(where_, "range: the step is " + std::to_string(step.integer) + "; it must be positive");
  Converter convert(r, "range", where_);
  NodeId bounds[3] = {convert.position(r.use(begin_)), convert.position(r.use(end_)), convert.position(step)};
  loop_ = r.openLoop(bounds[0], bounds[1], bounds[2], parallel_, where_);
  recording_ = r.recording();
  open_ = true;
  ran_ = false;
  return Iterator(this);
}

Value Range::Iterator::operator*() const {
  Recorder &r = Recorder::current();
  return r.value(r.induction(range_->loop_), range_->where_);
}

Range::Iterator &Range::Iterator::operator++() {
  Recorder &r = Recorder::current();
  if (range_->open_ && r.owns(range_->recording_))
    r.closeLoop(range_->loop_);
  range_->open_ = false;
  range_->ran_ = true;
  return *this;
}

Range::~Range() {
  Recorder &r = Recorder::current();
  if (open_ && r.owns(recording_) && r.abandon(loop_))
    r.fail(where_, "this loop was left by break, return or an exception; its body is recorded once and must run to its "
                   "end, so use when(...) for what depends on the device");
}

//===-- when -----------------------------------------------------------------------------------------------------===//

namespace {

/// Leaves the branch if one of its blocks throws.
class BranchGuard {
public:
  BranchGuard(Recorder &r, FlowId branch) : r_(r), branch_(branch) {}
  ~BranchGuard() {
    if (!closed_)
      r_.abandon(branch_);
  }
  void close() {
    r_.closeBranch(branch_);
    closed_ = true;
  }

private:
  Recorder &r_;
  FlowId branch_;
  bool closed_ = false;
};

NodeId scalarCondition(Recorder &r, Converter &convert, const Operand &operand, Location where) {
  NodeId condition = convert.condition(r.use(operand));
  if (r.poisoned(condition) || r.type(condition).scalar())
    return condition;
  return r.fail(where, "when: the condition is " + describe(r.type(condition)) +
                           ", but a branch needs a scalar; use select(...) for tiles");
}

} // namespace

void when(Operand condition, Block then, Block otherwise, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "when", where);
  FlowId branch = r.openBranch(scalarCondition(r, convert, condition, where), where);
  BranchGuard guard(r, branch);
  then();
  r.openOtherwise(branch);
  otherwise();
  guard.close();
}

} // namespace tegula
