// SPDX-License-Identifier: MIT
#include "print.h"

#include "linearize.h"
#include "tegula/ops.h"
#include "text.h"

namespace tegula {
namespace {

class Printer {
public:
  Printer(const Recorder &recorder)
      : recorder_(recorder), graph_(recorder.graph()), order_(linearize(graph_)), names_(graph_.nodes.size()) {}

  std::string program(std::string_view name) {
    text_ =
        "module attributes {tile.version = 1 : i64} {\n  func.func @" + std::string(name) + "(" + signature() + ") {\n";
    std::string loc = locText(recorder_.where());
    depth_ = 2;
    region(0);
    text_ += "    return " + loc + "\n  } " + loc + "\n} " + loc + "\n";
    return std::move(text_);
  }

private:
  std::string signature() {
    std::string text;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node &node = graph_[id];
      if (node.op != Op::Parameter)
        continue;
      names_[id] = "%" + node.text;
      text += text.empty() ? "" : ", ";
      text += names_[id] + ": " + mlirText(node.type) + " {tile.name = \"" + node.text + "\"" +
              attributes(recorder_.parameters()[node.number]) + "}";
    }
    return text;
  }

  static std::string attributes(const Parameter &parameter) {
    return std::string(parameter.written ? ", tile.written" : "") + (parameter.counter ? ", tile.counter" : "");
  }

  void region(RegionId id) {
    for (NodeId node : order_.regions[id])
      operation(node);
  }

  void begin() { text_.append(2 * depth_, ' '); }
  void end(const Node &node) { text_ += " " + locText(node.where) + "\n"; }

  void operation(NodeId id) {
    const Node &node = graph_[id];
    if (node.op == Op::For || node.op == Op::If)
      return node.op == Op::For ? loop(id) : branch(id);
    begin();
    if (!isEffect(node.op))
      text_ += fresh(id) + (node.op == Op::SoftmaxUpdate ? ":3 = " : " = ");
    text_ += std::string(info(node.op).mnemonic) + body(node);
    end(node);
  }

  static bool isEffect(Op op) {
    return op == Op::Store || op == Op::StoreWhere || op == Op::AtomicAdd || op == Op::OrderedAdd ||
           op == Op::Scatter || op == Op::ScatterAdd || op == Op::Print || op == Op::Assert;
  }

  std::string body(const Node &node) {
    std::string type = " : " + mlirText(node.type);
    switch (info(node.op).form) {
    case Form::Same:
      return " " + operands(node, 0) + type;
    case Form::Compare:
      return " " + node.text + ", " + operands(node, 0) + " : " + typeOf(node, 0);
    case Form::Convert:
      return " " + operands(node, 0) + " : " + typeOf(node, 0) + " to " + mlirText(node.type);
    case Form::Reshape:
      return " " + operands(node, 0) + (node.text.empty() ? "" : " " + node.text) + " : " + typeOf(node, 0) + " -> " +
             mlirText(node.type);
    default:
      return special(node);
    }
  }

  std::string special(const Node &node) {
    std::string type = mlirText(node.type), number = std::to_string(node.number);
    switch (node.op) {
    case Op::Constant:
      return " " + node.text + (node.type == Type{DType::i1, {}} ? "" : " : " + type);
    case Op::Select:
      return " " + operands(node, 0) + " : " + (node.type.scalar() ? "" : typeOf(node, 0) + ", ") + type;
    case Op::FastTanh:
      return " " + operands(node, 0) + " fastmath<afn> : " + type;
    case Op::Iota:
      return " : " + type;
    case Op::ProgramId:
    case Op::NumPrograms:
      return " " + number;
    case Op::Dim:
      return " " + use(node, 0) + " " + number + " : " + typeOf(node, 0);
    case Op::Rows:
      return " " + use(node, 0) + "[" + operands(node, 1) + "] : " + type;
    case Op::Pages:
      return " " + use(node, 0) + (node.operands.size() > 1 ? "[" + use(node, 1) + "]" : "") +
             (node.operands.size() > 2 ? " lengths " + use(node, 2) : "") + (node.number > 0 ? " page " + number : "") +
             " : " + types(node, 0) + " -> " + type;
    case Op::Slice:
      return " " + use(node, 0) + "[" + operands(node, 1) + "]" + (node.number > 0 ? " axis " + number : "") + " : " +
             typeOf(node, 0) + " -> " + type;
    case Op::Load:
      return " " + use(node, 0) + "[" + operands(node, 1) + "]" + attributes(node, node.text) + " : " +
             typeOf(node, 0) + " -> " + type;
    case Op::Gather:
      return " " + use(node, 0) + "[" + operands(node, 1) + "]" + attributes(node) + " : " + types(node, 0) + " -> " +
             type;
    case Op::Store:
    case Op::AtomicAdd:
      return target(node) + attributes(node) + " : " + typeOf(node, 0) + ", " + typeOf(node, 1);
    case Op::StoreWhere:
      return target(node, 1) + " where " + use(node, node.operands.size() - 1) + attributes(node) + " : " +
             typeOf(node, 0) + ", " + typeOf(node, 1) + ", " + typeOf(node, node.operands.size() - 1);
    case Op::OrderedAdd:
      return inTurn(node);
    case Op::Arrive:
      return " " + use(node, 0) + "[" + use(node, 1) + "] of " + use(node, 2) + " : " + typeOf(node, 0);
    case Op::Scatter:
    case Op::ScatterAdd:
      return target(node) + " : " + types(node, 0);
    case Op::Columns:
      return " " + use(node, 0) + " from " + number + " step " + node.text + " : " + typeOf(node, 0) + " -> " + type;
    case Op::Join:
      return " " + operands(node, 0) + node.text + " : " + types(node, 0) + " -> " + type;
    case Op::Random:
      return " " + use(node, 0) + ", " + use(node, 1) + ", " + use(node, 2) + " at " + operands(node, 3) + node.text +
             " : " + type;
    case Op::Dot:
      return " " + use(node, 0) + ", " + use(node, 1) + (node.operands.size() == 3 ? " acc " + use(node, 2) : "") +
             attributes(node, node.number == static_cast<int64_t>(Precision::tf32) ? "allow_tf32" : "") + " : " +
             types(node, 0) + " -> " + type;
    case Op::Reduce:
      return " " + node.text + " " + use(node, 0) + " axis " + number + " : " + typeOf(node, 0) + " -> " + type;
    case Op::Cumsum:
      return " " + use(node, 0) + " axis " + number + node.text + " : " + type;
    case Op::SoftmaxUpdate:
      return softmaxUpdate(node);
    case Op::Print:
      return " \"" + node.text + "\" " + use(node, 0) + " : " + typeOf(node, 0);
    case Op::Assert:
      return " " + use(node, 0) + " \"" + node.text + "\" " + use(node, 1) + " : " + typeOf(node, 1);
    default:
      return " " + operands(node, 0) + " : " + types(node, 0);
    }
  }

  /// Returns the attributes of an operation: `first`, if it has any, and its label.
  static std::string attributes(const Node &node, std::string first = "") {
    std::string list = std::move(first);
    if (!node.label.empty())
      list += (list.empty() ? "" : ", ") + ("tile.label = \"" + node.label + "\"");
    return list.empty() ? "" : " {" + list + "}";
  }

  std::string softmaxUpdate(const Node &node) {
    const bool keeps = node.operands.size() == 6;
    std::string text;
    for (size_t i = 0; i < 5; ++i)
      text += (i == 0 ? " " : ", ") + use(node, i);
    return text + (keeps ? " keep " + use(node, 5) : "") + " : " + types(node, 0);
  }

  /// Returns a text such as " %tile, %view[%position]". The last `others` operands are no positions.
  std::string target(const Node &node, size_t others = 0) {
    std::string position;
    for (size_t operand = 2; operand < node.operands.size() - others; ++operand)
      position += (operand == 2 ? "" : ", ") + use(node, operand);
    return " " + use(node, 0) + ", " + use(node, 1) + "[" + position + "]";
  }

  /// Returns the operands and types of an ordered addition: tile, view, position, then counters, place, number, next.
  std::string inTurn(const Node &node) {
    const size_t turn = node.operands.size() - 4;
    return target(node, 4) + " turn " + use(node, turn + 2) + " of " + use(node, turn) + "[" + use(node, turn + 1) +
           "] next " + use(node, turn + 3) + attributes(node) + " : " + typeOf(node, 0) + ", " + typeOf(node, 1) +
           ", " + typeOf(node, turn);
  }

  void loop(NodeId id) {
    const Node &node = graph_[id];
    const Flow &flow = graph_.flows[node.number];
    if (flow.kind == LoopKind::Dynamic)
      return dynamicLoop(node, flow);
    std::string carried;
    begin();
    text_ += results(id);
    text_ += "scf.for " + fresh(flow.induction);
    for (const Carried &each : flow.carried)
      if (order_.carries(each))
        carried += (carried.empty() ? " iter_args(" : ", ") + fresh(each.argument) + " = " + name(each.initial);
    text_ += " = " + use(node, 0) + " to " + use(node, 1) + " step " + use(node, 2);
    text_ += carried.empty() ? " {\n" : carried + ") -> (" + carriedTypes(flow) + ") {\n";
    nested(flow, 0);
    begin();
    text_ += flow.kind == LoopKind::Parallel ? "} {tile.parallel}" : "}";
    if (!flow.attributes.empty())
      text_ += " {" + flow.attributes + "}";
    end(node);
  }

  void line(const std::string &text, const Node &node) {
    begin();
    text_ += text;
    end(node);
  }

  void dynamicLoop(const Node &node, const Flow &flow) {
    std::string number = "%" + std::to_string(next_++), isInside = "%" + std::to_string(next_++);
    begin();
    text_ += "scf.while : () -> i32 {\n";
    ++depth_;
    line(number + " = tile.next_work " + use(node, 0) + " : " + typeOf(node, 0), node);
    line(isInside + " = arith.cmpi slt, " + number + ", " + use(node, 1) + " : i32", node);
    line("scf.condition(" + isInside + ") " + number + " : i32", node);
    --depth_;
    begin();
    text_ += "} do {\n";
    begin();
    text_ += "^bb0(" + fresh(flow.induction) + ": i32):\n";
    nested(flow, 0);
    ++depth_;
    line("scf.yield", node);
    --depth_;
    line("} attributes {tile.parallel}", node);
  }

  void branch(NodeId id) {
    const Node &node = graph_[id];
    const Flow &flow = graph_.flows[node.number];
    std::string types = carriedTypes(flow);
    begin();
    text_ += results(id) + "scf.if " + use(node, 0) + (types.empty() ? " {\n" : " -> (" + types + ") {\n");
    nested(flow, 0);
    if (!types.empty() || !order_.regions[flow.regions[1]].empty()) {
      begin();
      text_ += "} else {\n";
      nested(flow, 1);
    }
    begin();
    text_ += "}";
    end(node);
  }

  void nested(const Flow &flow, size_t i) {
    ++depth_;
    region(flow.regions[i]);
    std::string yielded;
    for (const Carried &each : flow.carried)
      if (order_.carries(each))
        yielded += (yielded.empty() ? "" : ", ") + name(each.yielded[i]);
    if (!yielded.empty()) {
      begin();
      text_ += "scf.yield " + yielded + " : " + carriedTypes(flow);
      end(graph_[flow.node]);
    }
    --depth_;
  }

  /// Returns a text such as "%4:2 = ", and names the results.
  std::string results(NodeId id) {
    std::vector<NodeId> carried;
    for (const Carried &each : graph_.flows[graph_[id].number].carried)
      if (order_.carries(each))
        carried.push_back(each.result);
    if (carried.empty())
      return "";
    std::string base = fresh(id);
    for (size_t i = 0; i < carried.size(); ++i)
      names_[carried[i]] = carried.size() == 1 ? base : base + "#" + std::to_string(i);
    return carried.size() == 1 ? base + " = " : base + ":" + std::to_string(carried.size()) + " = ";
  }

  std::string carriedTypes(const Flow &flow) {
    std::string text;
    for (const Carried &each : flow.carried)
      if (order_.carries(each))
        text += (text.empty() ? "" : ", ") + mlirText(graph_[each.result].type);
    return text;
  }

  const std::string &fresh(NodeId id) { return names_[id] = "%" + std::to_string(next_++); }

  std::string name(NodeId id) {
    id = graph_.resolve(id);
    const Node &node = graph_[id];
    if (node.op == Op::Result && !node.owner)
      return names_[node.operands[0]] + "#" + std::to_string(node.number);
    return names_[id];
  }

  std::string use(const Node &node, size_t i) { return name(node.operands[i]); }
  std::string typeOf(const Node &node, size_t i) { return mlirText(graph_[node.operands[i]].type); }

  std::string operands(const Node &node, size_t first) {
    std::string text;
    for (size_t i = first; i < node.operands.size(); ++i)
      text += (i == first ? "" : ", ") + use(node, i);
    return text;
  }

  std::string types(const Node &node, size_t first) {
    std::string text;
    for (size_t i = first; i < node.operands.size(); ++i)
      text += (i == first ? "" : ", ") + typeOf(node, i);
    return text;
  }

  const Recorder &recorder_;
  const Graph &graph_;
  Order order_;
  std::vector<std::string> names_;
  std::string text_;
  size_t depth_ = 0;
  size_t next_ = 0;
};

} // namespace

std::string print(const Recorder &recorder, std::string_view name) { return Printer(recorder).program(name); }

} // namespace tegula
