// SPDX-License-Identifier: MIT
#include "sass/sass.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace tegula::testing {
namespace {

std::vector<std::string> splitOperands(const std::string &text) {
  std::vector<std::string> operands;
  std::istringstream rest(text);
  for (std::string operand; std::getline(rest, operand, ',');)
    operands.push_back(operand.substr(std::min(operand.find_first_not_of(' '), operand.size())));
  return operands;
}

/// Returns the label that a branch names in backquotes and parentheses.
std::optional<std::string> labelIn(const SassInstruction &instruction) {
  for (const std::string &operand : instruction.operands)
    if (operand.starts_with("`(") && operand.ends_with(")"))
      return operand.substr(2, operand.size() - 3);
  return std::nullopt;
}

/// Returns true if the instruction has no condition. A branch may have a condition as its guard or as an operand.
bool isUnconditional(const SassInstruction &instruction) {
  return instruction.guard.empty() &&
         (instruction.operands.empty() || !instruction.is("BRA") || instruction.operands.front().starts_with('`'));
}

Status link(std::vector<SassInstruction> &code, const std::map<std::string, size_t> &labels) {
  for (size_t at = 0; at < code.size(); ++at) {
    SassInstruction &instruction = code[at];
    const bool ends = instruction.is("BRA") || instruction.is("EXIT") || instruction.is("RET");
    if (!(ends && isUnconditional(instruction)) && at + 1 < code.size())
      instruction.next.push_back(at + 1);
    if (!instruction.is("BRA"))
      continue;
    const std::optional<std::string> label = labelIn(instruction);
    const auto target = label ? labels.find(*label) : labels.end();
    if (target == labels.end() || target->second >= code.size())
      return {ErrorCode::invalid_argument, "a branch to an unknown place: " + label.value_or(instruction.opcode)};
    instruction.next.push_back(target->second);
  }
  return {};
}

bool contains(const std::vector<size_t> &sorted, size_t index) {
  return std::binary_search(sorted.begin(), sorted.end(), index);
}

/// The edges that lead to an instruction on the current path. In reducible code, these edges close loops.
class BackEdges {
public:
  explicit BackEdges(const std::vector<SassInstruction> &code) : code_(code), states_(code.size()) {
    if (!code.empty())
      visit();
  }
  const std::vector<std::pair<size_t, size_t>> &edges() const { return edges_; }

private:
  enum class State { unseen, open, done };

  void visit() {
    std::vector<std::pair<size_t, size_t>> path = {
        {0, 0}}; // An instruction, and the number of its successors that were visited.
    states_[0] = State::open;
    while (!path.empty()) {
      auto &[at, seen] = path.back();
      if (seen == code_[at].next.size()) {
        states_[at] = State::done;
        path.pop_back();
        continue;
      }
      const size_t next = code_[at].next[seen++];
      if (states_[next] == State::open)
        edges_.emplace_back(at, next);
      if (states_[next] != State::unseen)
        continue;
      states_[next] = State::open;
      path.emplace_back(next, 0);
    }
  }

  const std::vector<SassInstruction> &code_;
  std::vector<State> states_;
  std::vector<std::pair<size_t, size_t>> edges_;
};

} // namespace

bool SassInstruction::is(std::string_view name) const {
  return opcode.starts_with(name) && (opcode.size() == name.size() || opcode[name.size()] == '.');
}

bool SassInstruction::hasOperand(std::string_view operand) const {
  return std::find(operands.begin(), operands.end(), operand) != operands.end();
}

Expected<Sass> Sass::parse(std::string_view listing) {
  static const std::regex label(R"(^\s*([.$]\w[\w.$]*):\s*$)");
  static const std::regex instruction(R"(^\s*/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z]\S*)\s*(.*?)\s*;.*$)");
  Sass sass;
  std::map<std::string, size_t> labels;
  std::istringstream lines{std::string(listing)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, label))
      labels.emplace(found[1], sass.code_.size());
    else if (std::regex_match(line, found, instruction))
      sass.code_.push_back({found[1], found[2], splitOperands(found[3]), {}});
    else if (line.find("/*0") != std::string::npos)
      return Status(ErrorCode::invalid_argument, "not an instruction: " + line);
  }
  if (Status status = link(sass.code_, labels); !status.ok())
    return status;
  return sass;
}

std::vector<SassLoop> Sass::loops() const {
  std::vector<std::vector<size_t>> previous(code_.size());
  for (size_t at = 0; at < code_.size(); ++at)
    for (size_t next : code_[at].next)
      previous[next].push_back(at);
  std::map<size_t, std::set<size_t>> bodies; // Keyed by header, because several edges may close a loop.
  const BackEdges back(code_);
  for (auto [end, header] : back.edges()) {
    std::set<size_t> &body = bodies[header];
    body.insert(header);
    for (std::vector<size_t> open = {end}; !open.empty();) {
      const size_t at = open.back();
      open.pop_back();
      if (body.insert(at).second)
        open.insert(open.end(), previous[at].begin(), previous[at].end());
    }
  }
  std::vector<SassLoop> loops;
  for (const auto &[header, body] : bodies)
    loops.push_back({header, {body.begin(), body.end()}});
  return loops;
}

std::vector<SassLoop> Sass::productLoops() const {
  std::vector<SassLoop> all = loops();
  std::erase_if(all, [&](const SassLoop &loop) {
    return std::none_of(loop.body.begin(), loop.body.end(), [&](size_t at) { return code_[at].is("HGMMA"); });
  });
  std::vector<SassLoop> innermost;
  for (const SassLoop &loop : all)
    if (std::none_of(all.begin(), all.end(), [&](const SassLoop &other) {
          return other.header != loop.header && contains(loop.body, other.header);
        }))
      innermost.push_back(loop);
  return innermost;
}

std::vector<size_t> Sass::iteration(const SassLoop &loop) const {
  std::vector<size_t> path;
  for (size_t at = loop.header; path.size() <= code_.size();) {
    path.push_back(at);
    const std::vector<size_t> &next = code_[at].next;
    const auto inside = std::find_if(next.begin(), next.end(), [&](size_t n) { return contains(loop.body, n); });
    if (inside == next.end() || *inside == loop.header)
      break;
    at = *inside;
  }
  return path;
}

} // namespace tegula::testing
