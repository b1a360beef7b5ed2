// SPDX-License-Identifier: MIT
#include "ptx/instruction_checks.h"

namespace tegula::ptx_fuzz {

namespace {

using Kind = Instruction::Kind;

class Check {
public:
  Check(Instruction &instruction, const std::vector<unsigned> &registers)
      : instruction_(instruction), operands_(instruction.operands), registers_(registers) {}

  std::string complete() {
    const std::string &name = instruction_.name;
    if (name == "ret" || name == "exit" || name == "trap")
      return as(name == "trap" ? Kind::trap : Kind::exit, operands_.empty());
    if (name == "bra" || name == "bra.uni")
      return as(Kind::branch, operands_.size() == 1 && isName(operands_[0]));
    if (name == "brx.idx")
      return as(Kind::branch_by_index, operands_.size() == 2 && isName(operands_[1]));
    for (auto [prefix, kind] :
         {std::pair("ld.param.", Kind::load_parameter), {"ld.global.", Kind::load}, {"st.global.", Kind::store}})
      if (name.starts_with(prefix))
        return memory(kind, name.substr(std::string_view(prefix).size()));
    if (name == "mov.b64" && operands_.size() == 2 && operands_[1].kind == Operand::Kind::parameter)
      return as(Kind::address_parameter, operands_[0].kind == Operand::Kind::reg);
    const bool hasList = operands_.size() == 2 && (isList(operands_[0]) || isList(operands_[1]));
    return name.starts_with("mov.") && hasList ? moveList() : compute();
  }

private:
  static bool isName(const Operand &operand) { return operand.kind == Operand::Kind::name; }
  static bool isList(const Operand &operand) { return operand.kind == Operand::Kind::list; }

  std::string as(Kind kind, bool hasRightOperands) {
    instruction_.kind = kind;
    return hasRightOperands ? "" : "wrong operands";
  }

  /// Accesses memory. The registers may have more bits than the elements.
  std::string memory(Kind kind, std::string_view suffix) {
    unsigned count = 1;
    if (suffix.starts_with('v'))
      count = static_cast<unsigned>(suffix[1] - '0'), suffix.remove_prefix(3);
    const std::optional<Type> type = typeNamed(suffix);
    if (!type || operands_.size() != 2)
      return "an access that is not known";
    instruction_.element = *type;
    const Operand &address = operands_[kind == Kind::store ? 0 : 1], &data = operands_[kind == Kind::store ? 1 : 0];
    const bool isParameter = kind == Kind::load_parameter && address.kind == Operand::Kind::parameter;
    if (!isParameter && address.kind != Operand::Kind::address)
      return "an address is missing";
    if (isList(data) ? data.elements.size() != count : count != 1)
      return "wrong number of elements";
    for (const Operand &element : isList(data) ? data.elements : std::vector{data})
      if (element.kind == Operand::Kind::reg ? registers_[element.reg] < type->bits : kind != Kind::store)
        return "wrong size of a register";
    return as(kind, true);
  }

  /// Packs registers into a wider one, or unpacks them.
  std::string moveList() {
    const std::optional<Type> type = typeNamed(instruction_.name.substr(4));
    const Operand &list = operands_[isList(operands_[0]) ? 0 : 1], &whole = operands_[isList(operands_[0]) ? 1 : 0];
    const bool isLiteral = whole.kind == Operand::Kind::integer && &list == &operands_[0];
    if (!type || (!isLiteral && (whole.kind != Operand::Kind::reg || registers_[whole.reg] != type->bits)))
      return "wrong size of a register";
    const unsigned bits = instruction_.element.bits = type->bits / static_cast<unsigned>(list.elements.size());
    for (const Operand &element : list.elements) {
      const bool isIgnored = isName(element) && element.name == "_";
      if (element.kind == Operand::Kind::reg ? registers_[element.reg] != bits : &list == &operands_[0] && !isIgnored)
        return "wrong size of an element";
    }
    return as(Kind::move_list, true);
  }

  std::string compute() {
    std::optional<Operation> operation = operationNamed(instruction_.name);
    if (!operation)
      return "an instruction that the interpreter does not know";
    if (operands_.size() != operation->operands.size() + 1)
      return "wrong number of operands";
    std::string problem = checkResults(*operation);
    for (size_t i = 0; i < operation->operands.size() && problem.empty(); ++i)
      problem = check(operands_[i + 1], operation->operands[i], *operation);
    instruction_.operation = std::move(*operation);
    return problem;
  }

  std::string checkResults(const Operation &operation) {
    const std::vector<Operand> results = isList(operands_[0]) ? operands_[0].elements : std::vector{operands_[0]};
    const Type type{operation.result.kind, operation.result.bits / static_cast<unsigned>(results.size())};
    const bool isPair = operation.result.kind == Type::Kind::pred && operation.result.lanes == 2;
    for (const Operand &result : results)
      if (result.kind != Operand::Kind::reg || !check(result, type, operation).empty() ||
          isPair != isList(operands_[0]))
        return "wrong results";
    return "";
  }

  /// Returns why an operand cannot have the type, or "". Literals of 16-bit floats do not exist.
  std::string check(const Operand &operand, Type type, const Operation &operation) {
    switch (operand.kind) {
    case Operand::Kind::reg: {
      const unsigned bits = registers_[operand.reg];
      const bool fits = operation.takesWiderRegisters ? bits >= type.bits && bits > 1 : bits == type.bits;
      return fits ? "" : "wrong size of a register";
    }
    case Operand::Kind::integer:
      return type.isFloat() ? "an integer for a float" : "";
    case Operand::Kind::f32:
      return type.isInteger() || type.bits != 32 ? "a float for an integer" : "";
    default:
      return "an operand that is not known";
    }
  }

  Instruction &instruction_;
  const std::vector<Operand> &operands_;
  const std::vector<unsigned> &registers_;
};

} // namespace

std::string complete(Instruction &instruction, const std::vector<unsigned> &registers) {
  return Check(instruction, registers).complete();
}

} // namespace tegula::ptx_fuzz
