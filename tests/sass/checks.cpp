// SPDX-License-Identifier: MIT
#include "sass/checks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <set>

namespace tegula::testing {
namespace {

using Registers = std::set<int>;

constexpr int kFragmentRegisters = 4; ///< The registers of a left operand of 64x16 16-bit numbers.

/// Returns 24 for an operand such as "R24", "-R24", "|R24|", "R24.reuse" or "[R24+0x10]".
std::optional<int> registerOf(std::string_view operand) {
  const size_t start = operand.find('R');
  if (start == operand.npos || (start > 0 && std::isalpha(static_cast<unsigned char>(operand[start - 1]))))
    return std::nullopt;
  int number = 0;
  const char *end = operand.data() + operand.size();
  const auto result = std::from_chars(operand.data() + start + 1, end, number);
  return result.ec == std::errc() ? std::optional(number) : std::nullopt;
}

Registers range(int first, int count) {
  Registers registers;
  for (int n = 0; n < count; ++n)
    registers.insert(first + n);
  return registers;
}

/// Returns the accumulators of an MMA D = A B + C. A warpgroup has half as many f32 registers per lane as D has
/// columns.
Registers accumulators(const SassInstruction &product) {
  const std::string &shape = product.opcode; // HGMMA.64x128x16.F32.BF16
  return range(*registerOf(product.operands[0]), std::atoi(shape.c_str() + shape.find('x') + 1) / 2);
}

/// Returns the registers of the left operand, or an empty set if it lies in shared memory.
Registers fragment(const SassInstruction &product) {
  const std::optional<int> first = registerOf(product.operands[1]);
  return first ? range(*first, kFragmentRegisters) : Registers();
}

bool endsGroup(const SassInstruction &product) { return product.hasOperand("gsb0"); }

/// Returns true if the instruction writes register `number`, which is then its first operand.
bool writes(const SassInstruction &instruction, int number) {
  for (std::string_view reader : {"STG", "STS", "STL", "STSM", "RED", "SYNCS", "BAR", "BRA", "RET", "CALL"})
    if (instruction.is(reader))
      return false;
  return !instruction.operands.empty() && registerOf(instruction.operands[0]) == number;
}

std::string describe(const Sass &sass, size_t at) {
  const SassInstruction &instruction = sass.code()[at];
  std::string text = std::to_string(at) + ": " + instruction.opcode;
  for (const std::string &operand : instruction.operands)
    text += " " + operand;
  return text + "\n";
}

/// The registers that an MMA in flight must find unchanged.
struct InFlight {
  Registers sums, operands;
  bool operator==(const InFlight &) const = default;

  void add(const InFlight &other) {
    sums.insert(other.sums.begin(), other.sums.end());
    operands.insert(other.operands.begin(), other.operands.end());
  }
};

/// The commit groups that may be in flight before an instruction: first the one being issued, then complete ones,
/// newest first.
using Groups = std::vector<InFlight>;

constexpr size_t kMaxGroups = 8;

/// Returns the groups in flight after an instruction.
Groups after(const SassInstruction &instruction, Groups groups) {
  if (instruction.is("HGMMA")) {
    groups.front().add({accumulators(instruction), fragment(instruction)});
    if (endsGroup(instruction))
      groups.insert(groups.begin(), InFlight());
    if (groups.size() > kMaxGroups) { // Merges older groups: a loop without a wait makes endlessly many.
      groups[kMaxGroups - 1].add(groups.back());
      groups.pop_back();
    }
  } else if (instruction.is("WARPGROUP.DEPBAR.LE")) {
    const size_t left = size_t(std::strtol(instruction.operands[1].c_str(), nullptr, 16)) + 1;
    groups.resize(std::min(groups.size(), left));
  }
  while (groups.size() > 1 && groups.back() == InFlight())
    groups.pop_back();
  return groups;
}

/// Returns the groups that may be in flight before each instruction, over all paths.
std::vector<Groups> productsInFlight(const std::vector<SassInstruction> &code) {
  std::vector<Groups> before(code.size());
  if (code.empty())
    return before;
  before[0] = {InFlight()};
  for (std::deque<size_t> open = {0}; !open.empty();) {
    const size_t at = open.front();
    open.pop_front();
    const Groups groups = after(code[at], before[at]);
    for (size_t next : code[at].next) {
      Groups merged = before[next];
      merged.resize(std::max(merged.size(), groups.size()));
      for (size_t n = 0; n < groups.size(); ++n)
        merged[n].add(groups[n]);
      if (merged == before[next])
        continue;
      before[next] = std::move(merged);
      open.push_back(next);
    }
  }
  return before;
}

bool touches(const SassInstruction &instruction, const InFlight &product) {
  for (const std::string &operand : instruction.operands)
    if (std::optional<int> number = registerOf(operand);
        number && (product.sums.count(*number) || (product.operands.count(*number) && writes(instruction, *number))))
      return true;
  return false;
}

bool isLoad(const SassInstruction &instruction) {
  return instruction.is("LDSM") || instruction.is("LDS") || instruction.is("LDG") || instruction.is("LDL");
}

/// Returns the last instructions before `at` that may have written a register.
std::set<size_t> writersOf(const Sass &sass, const std::vector<std::vector<size_t>> &previous, size_t at, int number) {
  std::set<size_t> writers, seen;
  for (std::vector<size_t> open = previous[at]; !open.empty();) {
    const size_t before = open.back();
    open.pop_back();
    if (!seen.insert(before).second)
      continue;
    const SassInstruction &instruction = sass.code()[before];
    const bool isWriter = writes(instruction, number) && !instruction.is("HGMMA");
    if (isWriter)
      writers.insert(before);
    if (!isWriter || !instruction.guard.empty())
      open.insert(open.end(), previous[before].begin(), previous[before].end());
  }
  return writers;
}

std::vector<std::vector<size_t>> previousOf(const std::vector<SassInstruction> &code) {
  std::vector<std::vector<size_t>> previous(code.size());
  for (size_t at = 0; at < code.size(); ++at)
    for (size_t next : code[at].next)
      previous[next].push_back(at);
  return previous;
}

/// Returns a word of orderOf, or an empty string.
std::string eventOf(const SassInstruction &instruction) {
  if (instruction.is("HGMMA"))
    return endsGroup(instruction) ? "product" : "";
  if (instruction.is("WARPGROUP.DEPBAR.LE"))
    return "wait " + std::to_string(std::strtol(instruction.operands[1].c_str(), nullptr, 16));
  if (instruction.is("SYNCS.PHASECHK"))
    return "consumer_wait";
  if (instruction.is("SYNCS.ARRIVE"))
    return "release";
  if (instruction.is("BAR.SYNC"))
    return "sequence_wait";
  return instruction.is("BAR.ARV") ? "sequence_arrive" : "";
}

constexpr int kFewExponentials = 8;

} // namespace

std::string interruptedMmas(const Sass &sass) {
  std::string complaints;
  bool inside = false;
  for (size_t at = 0; at < sass.code().size(); ++at) {
    const SassInstruction &instruction = sass.code()[at];
    if (instruction.is("HGMMA"))
      inside = !endsGroup(instruction);
    else if (inside && (instruction.is("R2UR") || instruction.is("BRA") || instruction.is("CALL")))
      complaints += describe(sass, at);
  }
  return complaints;
}

std::string touchedInFlight(const Sass &sass) {
  std::string complaints;
  const std::vector<Groups> before = productsInFlight(sass.code());
  for (size_t at = 0; at < sass.code().size(); ++at) {
    const SassInstruction &instruction = sass.code()[at];
    if (!instruction.is("HGMMA") &&
        std::any_of(before[at].begin(), before[at].end(), [&](const InFlight &g) { return touches(instruction, g); }))
      complaints += describe(sass, at);
  }
  return complaints;
}

std::string sharedFragments(const Sass &sass) {
  std::string complaints;
  const std::vector<std::vector<size_t>> previous = previousOf(sass.code());
  for (size_t at = 0; at < sass.code().size(); ++at) {
    if (!sass.code()[at].is("HGMMA"))
      continue;
    std::set<bool> kinds;
    for (int number : fragment(sass.code()[at]))
      for (size_t writer : writersOf(sass, previous, at, number))
        kinds.insert(isLoad(sass.code()[writer]));
    if (kinds.size() > 1)
      complaints += describe(sass, at);
  }
  return complaints;
}

std::string orderOf(const Sass &sass, const SassLoop &loop) {
  std::string order;
  int exponentials = 0;
  auto append = [&](const std::string &event) { order += (order.empty() ? "" : ", ") + event; };
  for (size_t at : sass.iteration(loop)) {
    exponentials += sass.code()[at].is("MUFU.EX2");
    const std::string event = eventOf(sass.code()[at]);
    if (event.empty())
      continue;
    if (exponentials >= kFewExponentials)
      append("exponentials");
    exponentials = 0;
    append(event);
  }
  if (exponentials >= kFewExponentials)
    append("exponentials");
  return order;
}

int countOf(const Sass &sass, const SassLoop &loop, std::string_view opcode) {
  const std::vector<size_t> iteration = sass.iteration(loop);
  return static_cast<int>(std::ranges::count_if(iteration, [&](size_t at) { return sass.code()[at].is(opcode); }));
}

} // namespace tegula::testing
