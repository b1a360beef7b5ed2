// SPDX-License-Identifier: MIT
#include "random/description.h"

#include <cctype>
#include <map>
#include <sstream>

namespace tegula::random_programs {

namespace {

std::string text(const Shape &shape) {
  std::string result;
  for (int64_t size : shape)
    result += (result.empty() ? "" : ", ") + std::to_string(size);
  return "{" + result + "}";
}

/// Returns the function or the infix operator of an operation.
std::string_view spelling(Op op) {
  static const std::map<Op, std::string_view> names = {{Op::transpose, "transpose"},
                                                       {Op::asColumn, "asColumn"},
                                                       {Op::asRow, "asRow"},
                                                       {Op::add, "+"},
                                                       {Op::sub, "-"},
                                                       {Op::mul, "*"},
                                                       {Op::div, "/"},
                                                       {Op::mod, "%"},
                                                       {Op::shiftLeft, "<<"},
                                                       {Op::shiftRight, ">>"},
                                                       {Op::min, "min"},
                                                       {Op::max, "max"},
                                                       {Op::neg, "-"},
                                                       {Op::abs, "abs"},
                                                       {Op::exp, "exp"},
                                                       {Op::tanh, "tanh"},
                                                       {Op::sqrt, "sqrt"},
                                                       {Op::log, "log"},
                                                       {Op::join, "joinColumns"},
                                                       {Op::interleave, "interleaveColumns"},
                                                       {Op::select, "select"},
                                                       {Op::less, "<"},
                                                       {Op::lessEqual, "<="},
                                                       {Op::equal, "=="},
                                                       {Op::both, "&"},
                                                       {Op::either, "|"},
                                                       {Op::negation, "!"},
                                                       {Op::dot, "dot"},
                                                       {Op::dotOnto, "dot"},
                                                       {Op::sum, "reduceSum"},
                                                       {Op::largest, "reduceMax"},
                                                       {Op::smallest, "reduceMin"},
                                                       {Op::cumsum, "cumsum"},
                                                       {Op::any, "any"},
                                                       {Op::anyAlong, "any"},
                                                       {Op::allAlong, "all"}};
  return names.at(op);
}

/// Writes a program as C++ of the tile language.
class Printer {
public:
  std::string print(const Case &program) {
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      const Tensor &tensor = program.tensors[i];
      out_ << "// t" << i << ": " << toString(tensor.dtype) << " " << text(tensor.shape)
           << (tensor.written ? ", written" : "") << "\n";
    }
    out_ << "// grid " << program.instances << "\n// sm_80: " << toString(program.sm80)
         << "\n// sm_90a: " << toString(program.sm90) << "\n";
    print(program.body, 0);
    return out_.str();
  }

private:
  void print(const Region &region, int depth) {
    for (const Node &node : region)
      print(node, depth);
  }

  void print(const Node &node, int depth) {
    if (node.op == Op::constant) {
      std::ostringstream number;
      number << node.number;
      names_[node.id] = node.dtype == i32 ? number.str() : "constant(f32, " + number.str() + ")";
      return;
    }
    names_[node.id] = "v" + std::to_string(node.id);
    const std::string indent(size_t(2 * depth), ' ');
    if (node.op == Op::loop || node.op == Op::when)
      return printControl(node, depth, indent);
    out_ << indent << statement(node) << ";" << comment(node) << "\n";
  }

  void printControl(const Node &node, int depth, const std::string &indent) {
    if (node.op == Op::loop)
      out_ << indent << "for (Value " << names_[node.id] << " : range(" << operands(node, 0) << ")) {\n";
    else
      out_ << indent << "when(" << operands(node, 0) << ", [&] {\n";
    print(node.then, depth + 1);
    if (!node.otherwise.empty()) {
      out_ << indent << "}, [&] {\n";
      print(node.otherwise, depth + 1);
    }
    out_ << indent << (node.op == Op::loop ? "}\n" : "});\n");
  }

  std::string statement(const Node &node) {
    const std::string name = names_[node.id];
    switch (node.op) {
    case Op::store:
      return view(node) + ".store({" + operands(node, 1) + "}, " + operand(node, 0) + ")";
    case Op::storeWhere:
      return view(node) + ".storeWhere(" + operand(node, 1) + ", {" + operands(node, 2) + "}, " + operand(node, 0) +
             ")";
    case Op::scatter:
      return view(node) + ".scatter(" + operands(node, 0) + ")";
    case Op::atomicAdd:
      return view(node) + ".atomicAdd({" + operands(node, 1) + "}, " + operand(node, 0) + ")";
    case Op::var:
      return "Var " + name + " = " + operand(node, 0);
    case Op::assign:
      return names_[node.subject] + " = " + operand(node, 0);
    case Op::softmax:
      return "OnlineSoftmax " + name + "(" + std::to_string(node.shape[0]) + ", " + std::to_string(node.shape[1]) + ")";
    case Op::update:
      return names_[node.subject] + ".update(" + operands(node, 0) + ")";
    default:
      return "Value " + name + " = " + expression(node);
    }
  }

  std::string expression(const Node &node) {
    std::ostringstream number;
    number << node.number;
    switch (node.op) {
    case Op::programId:
      return "programId(0)";
    case Op::dim:
      return "t" + std::to_string(node.tensor) + ".dim(" + std::to_string(node.axis) + ")";
    case Op::iota:
      return "iota(" + std::to_string(node.shape[0]) + ")";
    case Op::fill:
      return "fill(" + text(node.shape) + ", " + number.str() + ")";
    case Op::load:
      return view(node) + ".load({" + operands(node, 0) + "}, " + text(node.shape) +
             (node.number != 0 ? ", " + number.str() : "") + ")";
    case Op::gather:
      return view(node) + ".gather(" + operands(node, 0) + ")";
    case Op::randomByte:
    case Op::randomNumber:
      return std::string(node.op == Op::randomByte ? "randomBytes({" : "random({") + number.str() + ", " +
             std::to_string(kRandomOffset) + ", " + std::to_string(kRandomStream) + "}, " + operands(node, 0) + ")";
    case Op::broadcast:
      return "broadcast(" + operand(node, 0) + ", " + text(node.shape) + ")";
    case Op::columns:
      return "columns(" + operand(node, 0) + ", " + std::to_string(node.first) + ", " +
             std::to_string(node.first + node.step * (node.shape.back() - 1) + 1) + ", " + std::to_string(node.step) +
             ")";
    case Op::cast:
      return "cast(" + std::string(toString(node.dtype)) + ", " + operand(node, 0) + ")";
    case Op::read:
      return names_[node.subject];
    case Op::output:
      return names_[node.subject] + ".output()";
    case Op::sum:
    case Op::largest:
    case Op::smallest:
    case Op::cumsum:
    case Op::anyAlong:
    case Op::allAlong:
      return std::string(spelling(node.op)) + "(" + operand(node, 0) + ", " + std::to_string(node.axis) +
             (node.reverse ? ", true)" : ")");
    default:
      break;
    }
    const std::string word(spelling(node.op));
    if (std::isalpha(static_cast<unsigned char>(word[0])))
      return word + "(" + operands(node, 0) + ")";
    return node.operands.size() == 1 ? word + operand(node, 0) : operand(node, 0) + " " + word + " " + operand(node, 1);
  }

  std::string comment(const Node &node) {
    const bool hasResult = node.op != Op::store && node.op != Op::storeWhere && node.op != Op::scatter &&
                           node.op != Op::atomicAdd && node.op != Op::assign;
    if (node.shape.empty() || !hasResult)
      return "";
    return " // " + std::string(toString(node.dtype)) + " " + text(node.shape);
  }

  std::string view(const Node &node) {
    std::string text = "t" + std::to_string(node.tensor) + (node.perInstance ? ".at(programId(0))" : "");
    if (node.fixed > 0)
      text += ".atAxis(" + std::to_string(node.fixed) + ", " + std::to_string(node.at) + ")";
    if (node.page > 0)
      text = (node.table < 0 ? "packed(" + text : "paged(" + text + ", t" + std::to_string(node.table)) +
             (node.lengths < 0 ? ", " : ", t" + std::to_string(node.lengths) + ", ") + std::to_string(node.page) + ")";
    return text + (node.rows.empty() ? "" : ".rows(" + names_[node.rows[0]] + ", " + names_[node.rows[1]] + ")");
  }
  std::string operand(const Node &node, size_t index) { return names_[node.operands[index]]; }
  std::string operands(const Node &node, size_t first) {
    std::string result;
    for (size_t i = first; i < node.operands.size(); ++i)
      result += (i > first ? ", " : "") + operand(node, i);
    return result;
  }

  std::map<int, std::string> names_;
  std::ostringstream out_;
};

} // namespace

std::string toText(const Case &program) { return Printer().print(program); }

} // namespace tegula::random_programs
