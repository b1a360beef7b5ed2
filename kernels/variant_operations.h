// SPDX-License-Identifier: MIT
// The operations of variant texts, and expressions that are made of them.
#pragma once

#include "tegula/attention_variant.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tegula::variant_text {

/// The kinds of values that expressions tell apart: f32, i32 or i64, and i1.
enum class Kind { number, integer, condition };

std::string_view nameOf(Kind kind);
Kind kindOf(DType dtype);

/// A value of the program that is being recorded, or a literal.
using Result = std::variant<Value, int64_t, double, bool>;

Operand operandOf(const Result &result);
Value valueOf(const Result &result);

/// The operands that an operation takes, and the kind of its result.
enum class Rule {
  numbers,  ///< Numbers and integers; returns a number if one of them is.
  integers, ///< Integers.
  counts,   ///< Integers; a literal count of bits must be from 0 to 31.
  bits,     ///< Integers, or conditions.
  inverse,  ///< A condition.
  real,     ///< Numbers and integers; returns a number.
  compared, ///< Numbers and integers; returns a condition.
  equal,    ///< Numbers and integers, or conditions; returns a condition.
  choice,   ///< A condition, then numbers and integers, or conditions.
  toNumber, ///< Anything; returns a number.
  toInteger ///< Anything; returns an integer.
};

using Operands = std::span<const Operand>;

struct Operation {
  std::string_view word;
  int precedence; ///< As in C++ for infix operators. 0: a function. kSign: before its operand.
  size_t operands;
  Rule rule;
  Value (*make)(Operands x);
};

constexpr int kSign = 9; ///< Above all infix operators.

/// Returns all operations. Where a word begins with another one of the same precedence, the longer one comes first.
std::span<const Operation> operations();

/// Returns the words of all functions, for errors.
std::string functionWords();
/// Returns the function with this word; null if there is none.
const Operation *findFunction(std::string_view word);

/// Returns the kind of the result; nullopt if the operands are not legal.
std::optional<Kind> kindOfResult(Rule rule, std::span<const Kind> operands);
/// Returns what legal operands are, for errors.
std::string_view legalOperands(Rule rule);

/// The values from which an expression is computed.
struct Inputs {
  std::optional<Value> element; ///< The score or the probability that the expression modifies; none for a mask.
  const ScoreIndex &at;
  VariantViews tensors;
};

/// The element that an expression may modify.
enum class Element { score, probability };

/// A part of an expression. Its operands are earlier nodes.
struct Node {
  Kind kind;
  std::vector<size_t> operands;
  std::function<Result(const Inputs &, std::span<const Result>)> make;
  std::optional<Result> literal = {};
  std::set<Element> uses = {}; ///< The elements on which it depends.
};

using Nodes = std::vector<Node>;

/// Records the operations of the node `root`, and of the nodes that it needs.
Value evaluate(const Nodes &nodes, size_t root, const Inputs &inputs);

} // namespace tegula::variant_text
