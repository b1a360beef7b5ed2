// SPDX-License-Identifier: MIT
// Loops and branches: which Vars they carry, and the objects that open and close them.
#include "tegula/control.h"

#include "convert.h"
#include "recorder.h"
#include "steps.h"
#include "tegula/ops.h"
#include "text.h"

#include <algorithm>

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

/// Opens a loop or branch. It carries every Var that is visible here; finish() drops the Vars that do not change.
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

FlowId Recorder::openLoop(LoopKind kind, std::vector<NodeId> operands, Location where, std::string attributes) {
  if (!active_)
    return 0;
  FlowId id = openFlow(Op::For, std::move(operands), where);
  openRegion(id);
  Flow &flow = graph_.flows[id];
  flow.kind = kind;
  flow.attributes = std::move(attributes);
  flow.induction = hidden(Op::Argument, {kind == LoopKind::Dynamic ? i32 : DType::index, {}}, flow.node, -1);
  for (size_t i = 0; i < flow.carried.size(); ++i) {
    Variable &variable = variables_[flow.carried[i].slot];
    flow.carried[i].argument = hidden(Op::Argument, variable.type, flow.node, i);
    variable.current = flow.carried[i].argument;
  }
  return id;
}

bool Recorder::isInside(Op op) const {
  for (RegionId region = region_; region != 0; region = graph_.regions[region].parent)
    if (graph_[graph_.regions[region].owner].op == op)
      return true;
  return false;
}

bool Recorder::inLoop() const { return isInside(Op::For); }
bool Recorder::inBranch() const { return isInside(Op::If); }

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

/// Returns to the parent region. A Var that changed becomes a result; another Var has its initial value everywhere.
void Recorder::finish(FlowId id) {
  region_ = graph_.regions[region_].parent;
  Flow &flow = graph_.flows[id];
  bool loop = graph_[flow.node].op == Op::For;
  for (size_t i = 0; i < flow.carried.size(); ++i) {
    Carried &carried = flow.carried[i];
    NodeId initial = graph_.resolve(carried.initial);
    bool unchanged =
        loop ? carried.yielded[0] == carried.argument : carried.yielded[0] == initial && carried.yielded[1] == initial;
    if (!unchanged && flow.kind == LoopKind::Dynamic) {
      fail(graph_[flow.node].where,
           "dynamicRange: its iterations, which different program instances run, assign to a Var of outside",
           {{variables_[carried.slot].where, "the Var is declared here"}});
      unchanged = true;
    }
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

namespace {

uint32_t openRange(LoopKind kind, const Operand &begin, const Operand &end, const Operand &step, Location where,
                   const std::vector<Steps> &lists = {}) {
  Recorder &r = Recorder::current();
  Term steps = r.use(step);
  if (steps.kind == Term::Kind::Integer && steps.integer <= 0)
    r.fail(where, "range: the step is " + std::to_string(steps.integer) + "; it must be positive");
  Converter convert(r, "range", where);
  NodeId first = convert.position(r.use(begin)), last = convert.position(r.use(end));
  return r.openLoop(kind, {first, last, convert.position(steps)}, where, attributesOf(r, lists, where));
}

void checkCounter(const Converter &convert, NodeId counter) {
  Recorder &r = convert.r;
  if (r.poisoned(counter))
    return;
  if (r.type(counter) != Type{i32, {}, 1} || r.node(counter).op != Op::Parameter)
    convert.fail("the counter is " + describe(r.type(counter)) +
                 "; it must be a tensor argument of type i32 and rank 1");
  else if (!r.markCounter(counter))
    convert.fail("this counter counts another loop; each loop needs its own");
  if (r.inLoop())
    convert.fail("this loop is inside of another one; nothing would set its counter back to 0");
}

uint32_t openDynamic(const View &counter, const Operand &end, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "dynamicRange", where);
  NodeId view = r.use(counter, where);
  checkCounter(convert, view);
  return r.openLoop(LoopKind::Dynamic, {view, convert.cast(convert.position(r.use(end)), i32)}, where);
}

} // namespace

Range::Range(std::function<uint32_t()> open, Location where)
    : openLoop_(std::move(open)), where_(where), recording_(Recorder::current().recording()) {}

Range range(Operand begin, Operand end, Operand step, Location where) {
  return {[=] { return openRange(LoopKind::Ordered, begin, end, step, where); }, where};
}
Range range(Operand begin, Operand end, Operand step, Steps steps, Location where) {
  return range(begin, end, step, std::vector{std::move(steps)}, where);
}
Range range(Operand begin, Operand end, Operand step, std::vector<Steps> steps, Location where) {
  return {[=] { return openRange(LoopKind::Ordered, begin, end, step, where, steps); }, where};
}
Range parallelRange(Operand begin, Operand end, Operand step, Location where) {
  return {[=] { return openRange(LoopKind::Parallel, begin, end, step, where); }, where};
}
Range dynamicRange(View counter, Operand end, Location where) {
  return {[=] { return openDynamic(counter, end, where); }, where};
}

Range::Iterator Range::begin() {
  loop_ = openLoop_();
  recording_ = Recorder::current().recording();
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

static bool isPrintable(std::string_view label) {
  return std::all_of(label.begin(), label.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

/// Returns whether a function may give `x` to the host with a label. If not, the program has failed.
static bool checkReport(Recorder &r, const std::string &function, std::string_view label, const Term &x,
                        Location where) {
  if (!isPrintable(label))
    r.fail(where, function + ": '" + std::string(label) +
                      "' is no label; legal are printable ASCII characters, without quotes and backslashes");
  else if (x.literal())
    r.fail(where, function + ": a literal is known before the kernel runs; " + function +
                      " takes a scalar or a tile of the program");
  else
    return true;
  return false;
}

void print(std::string_view label, Operand x, Location where) {
  Recorder &r = Recorder::current();
  const Term term = r.use(x);
  if (checkReport(r, "print", label, term, where))
    r.report(Op::Print, {term.id}, std::string(label), where);
}

void print(std::string_view label, Operand x, Operand condition, Location where) {
  when(condition, [&] { print(label, x, where); }, {}, where);
}

void deviceAssert(Operand condition, std::string_view label, Operand x, Location where) {
  Recorder &r = Recorder::current();
  const Term term = r.use(x);
  if (!checkReport(r, "deviceAssert", label, term, where))
    return;
  const NodeId holds = Converter(r, "deviceAssert", where).condition(r.use(condition));
  const Value everywhere = all(r.value(holds, where), where);
  r.report(Op::Assert, {r.use(everywhere).id, term.id}, std::string(label), where);
}

} // namespace tegula
