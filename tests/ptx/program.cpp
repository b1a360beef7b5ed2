// SPDX-License-Identifier: MIT
#include "ptx/program.h"

#include "ptx/instruction_checks.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tegula::ptx_fuzz {

namespace {

constexpr std::string_view kSpace = " \t\n";

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

/// Takes the text before the first of `ends` away from `text`, and this end, too.
std::string_view take(std::string_view &text, std::string_view ends) {
  const size_t end = text.find_first_of(ends);
  std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trim(taken);
}

std::string withoutComments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    result += line.substr(0, line.find("//"));
    result += '\n';
  }
  return result;
}

/// Splits operands at the commas outside of braces.
std::vector<std::string_view> splitOperands(std::string_view text) {
  std::vector<std::string_view> all;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (text[i] == ',' && depth == 0)
      all.push_back(trim(text.substr(begin, i - begin))), begin = i + 1;
  }
  if (std::string_view last = trim(text.substr(begin)); !last.empty())
    all.push_back(last);
  return all;
}

class Parser {
public:
  Expected<Program> parse(std::string_view ptx) {
    const std::string text = withoutComments(ptx);
    std::string_view rest = text;
    rest.remove_prefix(std::min(rest.find(".entry"), rest.size()));
    take(rest, "(");
    parseParameters(take(rest, ")"));
    take(rest, "{");
    while (problem_.empty() && !trim(rest).empty())
      parseStatement(rest);
    checkLabels();
    if (!problem_.empty())
      return Status(ErrorCode::invalid_argument, problem_);
    return std::move(program_);
  }

private:
  void fail(std::string_view what, std::string_view text) {
    if (problem_.empty())
      problem_ = std::string(what) + ": " + std::string(text);
  }

  void parseParameters(std::string_view text) {
    unsigned offset = 0;
    for (std::string_view parameter : splitOperands(text)) {
      const std::string_view name = parameter.substr(parameter.find_last_of(kSpace) + 1);
      const unsigned bytes = parameter.find("64") < parameter.size() - name.size() ? 8 : 4;
      offset = (offset + bytes - 1) / bytes * bytes;
      program_.parameters[std::string(name)] = offset;
      offset += bytes;
    }
  }

  /// Parses one statement, label or brace, and takes it away from `rest`.
  void parseStatement(std::string_view &rest) {
    rest.remove_prefix(rest.find_first_not_of(kSpace));
    if (rest.front() == '{' || rest.front() == '}')
      return rest.remove_prefix(1);
    const size_t end = rest.find_first_of(":;");
    if (end != std::string_view::npos && rest[end] == ':') {
      label_ = take(rest, ":");
      program_.labels[label_] = program_.instructions.size();
      return;
    }
    const std::string_view statement = take(rest, ";");
    if (statement.starts_with(".reg"))
      return declareRegisters(statement);
    if (statement.starts_with(".branchtargets"))
      return declareTargets(statement);
    parseInstruction(statement);
  }

  void declareTargets(std::string_view statement) {
    take(statement, kSpace);
    for (std::string_view target : splitOperands(statement))
      program_.targets[label_].emplace_back(target);
  }

  /// Declares `.reg .b32 %r<9>` or `.reg .b16 a, b`.
  void declareRegisters(std::string_view statement) {
    take(statement, kSpace);
    const std::optional<Type> type = typeNamed(take(statement, kSpace).substr(1));
    if (!type)
      return fail("a type that is not known", statement);
    for (std::string_view name : splitOperands(statement)) {
      unsigned count = 0;
      const std::string prefix(take(name, "<"));
      if (name.empty())
        declare(prefix, type->bits);
      std::from_chars(name.data(), name.data() + name.size(), count);
      for (unsigned i = 0; i < count; ++i)
        declare(prefix + std::to_string(i), type->bits);
    }
  }

  void declare(const std::string &name, unsigned bits) {
    registers_[name] = static_cast<unsigned>(program_.registers.size());
    program_.registers.push_back(bits);
  }

  void parseInstruction(std::string_view statement) {
    Instruction instruction;
    instruction.text = statement;
    if (statement.front() == '@')
      parseGuard(instruction, statement);
    instruction.name = take(statement, kSpace);
    for (std::string_view operand : splitOperands(statement))
      instruction.operands.push_back(parseOperand(operand));
    const std::string problem = complete(instruction, program_.registers);
    if (!problem.empty())
      fail(problem, instruction.text);
    program_.instructions.push_back(std::move(instruction));
  }

  void parseGuard(Instruction &instruction, std::string_view &statement) {
    std::string_view name = take(statement, kSpace).substr(1);
    instruction.guardIsNegated = name.starts_with('!');
    const Operand guard = parseOperand(name.substr(instruction.guardIsNegated));
    if (guard.kind != Operand::Kind::reg || program_.registers[guard.reg] != 1)
      fail("a guard must be a predicate", instruction.text);
    instruction.guard = static_cast<int>(guard.reg);
    statement = trim(statement);
  }

  Operand parseOperand(std::string_view text) {
    Operand operand;
    if (text.front() == '{')
      return listOf(splitOperands(text.substr(1, text.size() - 2)));
    if (const size_t bar = text.find('|'); bar != std::string_view::npos)
      return listOf({text.substr(0, bar), text.substr(bar + 1)});
    if (text.front() == '[')
      return parseAddress(text);
    if (std::isdigit(static_cast<unsigned char>(text.front())) || text.front() == '-')
      return parseLiteral(text);
    operand.name = text;
    if (auto known = registers_.find(operand.name); known != registers_.end())
      operand.kind = Operand::Kind::reg, operand.reg = known->second;
    else if (auto parameter = program_.parameters.find(operand.name); parameter != program_.parameters.end())
      operand.kind = Operand::Kind::parameter, operand.bits = parameter->second;
    return operand;
  }

  Operand listOf(const std::vector<std::string_view> &elements) {
    Operand list;
    list.kind = Operand::Kind::list;
    for (std::string_view element : elements)
      list.elements.push_back(parseOperand(element));
    return list;
  }

  Operand parseAddress(std::string_view text) {
    std::string_view inside = text.substr(1, text.size() - 2);
    Operand base = parseOperand(take(inside, "+"));
    if (base.kind == Operand::Kind::reg)
      base.kind = Operand::Kind::address;
    if (!trim(inside).empty())
      base.bits += parseLiteral(trim(inside)).bits;
    return base;
  }

  Operand parseLiteral(std::string_view text) {
    Operand literal;
    const bool isFloat = text.starts_with("0f"), isHex = isFloat || text.starts_with("0x");
    if (text.ends_with("U"))
      text.remove_suffix(1);
    const std::string digits(isHex ? text.substr(2) : text);
    literal.kind = isFloat ? Operand::Kind::f32 : Operand::Kind::integer;
    char *end = nullptr;
    literal.bits = std::strtoull(digits.c_str(), &end, isHex ? 16 : 10);
    if (*end != 0)
      fail("a literal that is not known", text);
    return literal;
  }

  void checkLabels() {
    auto check = [&](const std::string &label) {
      if (!program_.labels.contains(label))
        fail("a label that is not defined", label);
    };
    for (const Instruction &instruction : program_.instructions)
      if (instruction.kind == Instruction::Kind::branch)
        check(instruction.operands[0].name);
    for (const auto &[name, targets] : program_.targets)
      std::for_each(targets.begin(), targets.end(), check);
  }

  Program program_;
  std::map<std::string, unsigned> registers_;
  std::string label_; ///< The last one.
  std::string problem_;
};

} // namespace

Expected<Program> parseProgram(std::string_view ptx) { return Parser().parse(ptx); }

} // namespace tegula::ptx_fuzz
