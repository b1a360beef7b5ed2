// SPDX-License-Identifier: MIT
// Brings operands to a common dtype and shape.
#pragma once

#include "recorder.h"

#include <optional>
#include <string>
#include <vector>

namespace tegula {

/// Converts operands for one operation of the program, whose name and line its errors carry.
class Converter {
public:
  Converter(Recorder &r, std::string name, Location where) : r(r), name(std::move(name)), where(where) {}

  // Questions about operands. Answers are false or nullopt after an error or for poison.
  bool poisoned(const Term &term) const { return !term.literal() && r.poisoned(term.id); }
  bool poisoned(const std::vector<Term> &terms) const;
  /// Returns the dtype in which `terms` meet: f16 and bf16 widen to f32, i8 to i32.
  std::optional<DType> arithmeticType(const std::vector<Term> &terms) const;
  /// Returns the dtype that can hold all `terms` without widening a single one.
  std::optional<DType> commonType(const std::vector<Term> &terms) const;
  std::optional<Shape> commonShape(const std::vector<Term> &terms) const;

  // Conversions.
  NodeId constant(DType dtype, const Term &literal, Shape shape = {}) const;
  NodeId cast(NodeId id, DType dtype) const;
  NodeId broadcast(NodeId id, const Shape &shape) const;
  NodeId reshape(NodeId id, Shape shape) const;
  NodeId to(const Term &term, DType dtype) const; ///< Keeps the operand's shape; a literal becomes a scalar.
  NodeId to(const Term &term, DType dtype, const Shape &shape) const;
  NodeId condition(const Term &term) const; ///< Returns an i1.
  /// Returns an i1 of `shape`, to which the condition repeats. Errors call the condition `what`, and the shape that of
  /// `other`.
  NodeId condition(const Term &term, const Shape &shape, const std::string &what, const std::string &other) const;
  NodeId real(const Term &term) const;     ///< Returns an f32 of the operand's shape.
  NodeId position(const Term &term) const; ///< An index scalar.
  NodeId count(const Term &term) const;    ///< An i32 scalar.
  NodeId node(const Term &term) const;     ///< A literal becomes f32, i32 or i1.

  // Descriptions for errors.
  DType naturalType(const Term &term) const;
  std::string describe(const Term &term) const; ///< Such as "bf16 [64, 128] (line 12)".
  NodeId fail(const std::string &what, const std::vector<Term> &about = {}, Type guess = {}) const;
  Type guess(const std::vector<Term> &terms) const;
  bool checkShape(const Shape &shape) const;

  Recorder &r;
  std::string name;
  Location where;
};

/// The reason why a condition is no operand of arithmetic.
constexpr std::string_view kConditionsAreNoNumbers =
    "conditions (i1) are combined by &, |, ^ and !, or cast to a number";

/// Returns the dtype in which arithmetic on `dtype` is done.
DType widened(DType dtype);
bool isInteger(DType dtype); ///< True for i8, i32, i64 and index.
int bitsOf(DType dtype);     ///< The number of bits of an integer.
/// Returns true if an integer or i1 can be this number.
bool isValueOf(DType dtype, double number);

} // namespace tegula
