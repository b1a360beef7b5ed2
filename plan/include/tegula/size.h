// SPDX-License-Identifier: MIT
// Whole numbers of a launch as expressions: shapes, grids, workspaces and conditions of plans.
//
//   Size m("m"), block_m("block_m");
//   ceilDiv(m, block_m)          the text is "ceildiv(m, block_m)"
//   max(1, min(heads, 8)) * 2    C++ literals are sizes, too
#pragma once

#include "tegula/status.h"

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A size and its value in one launch.
struct NamedSize {
  std::string name;
  int64_t value = 0;

  bool operator==(const NamedSize &) const = default;
};
using Sizes = std::vector<NamedSize>;

/// The operations of a Size, with their operands before them in Size::terms().
enum class SizeOp : uint8_t {
  number,
  name,
  multiply,
  divide, ///< Rounds toward zero; x / 0 is 0.
  remainder,
  add,
  subtract,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,   ///< 1 if both operands are not 0.
  either, ///< 1 if one of the operands is not 0.
  ceil_div,
  minimum,
  maximum,
  select, ///< The second operand if the first is not 0, otherwise the third.
};

/// A whole number of a launch: a number, a named size, or arithmetic on these. Numbers have 64 bits. A result that does
/// not fit is the nearest number that does. Conditions are 0 and 1.
class Size {
public:
  struct Term {
    SizeOp op = SizeOp::number;
    int64_t number = 0;    ///< Only of a number.
    std::string name = {}; ///< Only of a name.

    bool operator==(const Term &) const = default;
  };

  template <std::integral T> Size(T number) : terms_{{.number = static_cast<int64_t>(number)}} {}
  /// Makes a named size. A name has letters, digits, `_` and `.`, and does not begin with a digit.
  explicit Size(std::string_view name) : terms_{{.op = SizeOp::name, .name = std::string(name)}} {}
  explicit operator bool() const = delete; // known at launch: use select(...), KernelSpec::when or PlanSpec::require

  friend Size operator*(const Size &a, const Size &b) { return Size(SizeOp::multiply, {a, b}); }
  friend Size operator/(const Size &a, const Size &b) { return Size(SizeOp::divide, {a, b}); }
  friend Size operator%(const Size &a, const Size &b) { return Size(SizeOp::remainder, {a, b}); }
  friend Size operator+(const Size &a, const Size &b) { return Size(SizeOp::add, {a, b}); }
  friend Size operator-(const Size &a, const Size &b) { return Size(SizeOp::subtract, {a, b}); }
  friend Size operator<(const Size &a, const Size &b) { return Size(SizeOp::less, {a, b}); }
  friend Size operator<=(const Size &a, const Size &b) { return Size(SizeOp::less_equal, {a, b}); }
  friend Size operator>(const Size &a, const Size &b) { return Size(SizeOp::greater, {a, b}); }
  friend Size operator>=(const Size &a, const Size &b) { return Size(SizeOp::greater_equal, {a, b}); }
  friend Size operator==(const Size &a, const Size &b) { return Size(SizeOp::equal, {a, b}); }
  friend Size operator!=(const Size &a, const Size &b) { return Size(SizeOp::not_equal, {a, b}); }
  friend Size operator&(const Size &a, const Size &b) { return Size(SizeOp::both, {a, b}); }
  friend Size operator|(const Size &a, const Size &b) { return Size(SizeOp::either, {a, b}); }
  friend Size ceilDiv(const Size &a, const Size &b) { return Size(SizeOp::ceil_div, {a, b}); }
  friend Size min(const Size &a, const Size &b) { return Size(SizeOp::minimum, {a, b}); }
  friend Size max(const Size &a, const Size &b) { return Size(SizeOp::maximum, {a, b}); }
  friend Size select(const Size &condition, const Size &yes, const Size &no) {
    return Size(SizeOp::select, {condition, yes, no});
  }

  /// Returns the expression in postfix order.
  const std::vector<Term> &terms() const { return terms_; }
  bool isNumber() const { return terms_.size() == 1 && terms_.front().op == SizeOp::number; }
  bool isName() const { return terms_.size() == 1 && terms_.front().op == SizeOp::name; }

private:
  friend Size applied(SizeOp op, std::span<const Size> operands);
  Size(SizeOp op, std::initializer_list<Size> operands);

  std::vector<Term> terms_;
};

/// Applies an operation to as many operands as it has.
Size applied(SizeOp op, std::span<const Size> operands);

/// Returns `size` with the numbers of `known` in place of their names.
Size substituted(const Size &size, const Sizes &known);

/// Computes the value. Returns invalid_argument with a name that is not among `sizes`.
Expected<int64_t> evaluate(const Size &size, const Sizes &sizes);

/// Returns the expression as C++ spells it, except `ceildiv`: "ceildiv(m, 128) * heads".
std::string toString(const Size &size);
/// Parses a result of toString. Returns invalid_argument with the place of the error and what is legal.
Expected<Size> parseSize(std::string_view text);

/// Returns a text such as "m=128 n=64".
std::string toString(const Sizes &sizes);

} // namespace tegula
