// SPDX-License-Identifier: MIT
#include "convert.h"

#include "text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula {

DType widened(DType dtype) { return isFloat(dtype) ? f32 : dtype == DType::i8 ? DType::i32 : dtype; }

bool isInteger(DType dtype) { return !isFloat(dtype) && dtype != DType::i1; }

int bitsOf(DType dtype) { return dtype == DType::index ? 64 : 8 * static_cast<int>(sizeOf(dtype)); }

bool isValueOf(DType dtype, double number) {
  if (dtype == DType::i1)
    return number == 0 || number == 1;
  const double limit = std::ldexp(1.0, bitsOf(dtype) - 1);
  return number >= -limit && number < limit && number == std::trunc(number);
}

//===-- Words ----------------------------------------------------------------------------------------------------===//

DType Converter::naturalType(const Term &term) const {
  switch (term.kind) {
  case Term::Kind::Node:
    return r.type(term.id).dtype;
  case Term::Kind::Integer:
    return DType::i32;
  case Term::Kind::Floating:
    return DType::f32;
  case Term::Kind::Condition:
    return DType::i1;
  }
  return DType::f32;
}

std::string Converter::describe(const Term &term) const {
  if (term.literal())
    return "the literal " + (term.kind == Term::Kind::Floating ? numberText(DType::f32, term.floating)
                                                               : numberText(naturalType(term), term.integer));
  return tegula::describe(r.type(term.id)) + " (line " + std::to_string(term.made.line()) + ")";
}

NodeId Converter::fail(const std::string &what, const std::vector<Term> &about, Type guess) const {
  std::vector<Note> notes;
  for (const Term &term : about)
    if (!term.literal() && term.made.line() != where.line())
      notes.push_back({term.made, tegula::describe(r.type(term.id)) + " is made here"});
  return r.fail(where, name + ": " + what, std::move(notes), std::move(guess));
}

Type Converter::guess(const std::vector<Term> &terms) const {
  Type best;
  for (const Term &term : terms)
    if (!term.literal() && (best.scalar() || r.type(term.id).shape.size() > best.shape.size()))
      best = r.type(term.id);
  return best;
}

bool Converter::checkShape(const Shape &shape) const {
  constexpr int64_t limit = int64_t(1) << 20;
  bool legal = !shape.empty() && shape.size() <= 5;
  int64_t elements = 1;
  for (int64_t size : shape) {
    legal = legal && size >= 1 && size <= limit && (elements *= size) <= limit;
  }
  if (!legal)
    fail("the shape " + listText(shape) + " is not legal; a tile has 1 to 5 dimensions of at least 1 and at most " +
         std::to_string(limit) + " elements");
  return legal;
}

//===-- What operands have in common -----------------------------------------------------------------------------===//

bool Converter::poisoned(const std::vector<Term> &terms) const {
  return std::any_of(terms.begin(), terms.end(), [&](const Term &term) { return poisoned(term); });
}

namespace {

/// Returns the integer type in which `a` and `b` meet. An index scalar takes the type of an integer tile.
DType commonInteger(const Type &a, const Type &b) {
  bool aIndex = a.dtype == DType::index, bIndex = b.dtype == DType::index;
  if (aIndex && !bIndex)
    return a.scalar() && !b.scalar() ? b.dtype : DType::index;
  if (bIndex && !aIndex)
    return b.scalar() && !a.scalar() ? a.dtype : DType::index;
  return sizeOf(a.dtype) >= sizeOf(b.dtype) ? a.dtype : b.dtype;
}

/// Returns the dtype that two operands have in common; nullopt if only one of them is a condition.
std::optional<DType> commonPair(const Type &a, const Type &b) {
  if (a.dtype == b.dtype)
    return a.dtype;
  if (a.dtype == DType::i1 || b.dtype == DType::i1)
    return std::nullopt;
  if (isFloat(a.dtype) || isFloat(b.dtype))
    return DType::f32;
  return commonInteger(a, b);
}

std::optional<DType> withLiteral(std::optional<DType> dtype, const Term &literal) {
  bool condition = literal.kind == Term::Kind::Condition;
  if (!dtype)
    return condition ? DType::i1 : literal.kind == Term::Kind::Floating ? DType::f32 : DType::i32;
  if (condition != (dtype == DType::i1))
    return std::nullopt;
  return literal.kind == Term::Kind::Floating && !isFloat(*dtype) ? DType::f32 : *dtype;
}

} // namespace

std::optional<DType> Converter::commonType(const std::vector<Term> &terms) const {
  std::optional<Type> met;
  std::optional<DType> common;
  bool mixed = false;
  for (const Term &term : terms) {
    if (term.literal())
      continue;
    const Type &type = r.type(term.id);
    common = met ? commonPair(*met, type) : type.dtype;
    mixed |= !common;
    met = Type{common.value_or(type.dtype), type.scalar() && (!met || met->scalar()) ? Shape() : Shape{1}};
  }
  for (const Term &term : terms)
    if (term.literal() && !mixed) {
      common = withLiteral(common, term);
      mixed |= !common;
    }
  if (!mixed)
    return common;
  fail("a condition (i1) and a number do not mix; use select(...), or cast the condition", terms, guess(terms));
  return std::nullopt;
}

std::optional<DType> Converter::arithmeticType(const std::vector<Term> &terms) const {
  std::optional<DType> dtype = commonType(terms);
  return dtype ? std::optional(widened(*dtype)) : dtype;
}

namespace {

/// Returns true for a shape that repeats along everything: a scalar's, and [1], the shape of a single element that was
/// read from memory.
bool repeatsFreely(const Shape &shape) { return shape.empty() || shape == Shape{1}; }

/// Widens dimensions of size 1 of `common` to those of `shape`; false if other sizes differ.
bool repeatAlong(Shape &common, const Shape &shape) {
  if (shape.size() != common.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != common[i] && shape[i] != 1 && common[i] != 1)
      return false;
    common[i] = std::max(common[i], shape[i]);
  }
  return true;
}

const char *remedy(size_t rank, size_t otherRank) {
  if (rank == otherRank)
    return "only dimensions of size 1 repeat";
  return std::min(rank, otherRank) == 1 ? "make the vector a matrix by asRow or asColumn"
                                        : "reshape one of them to the other's rank";
}

} // namespace

std::optional<Shape> Converter::commonShape(const std::vector<Term> &terms) const {
  Shape common;
  const Term *widest = nullptr;
  for (const Term &term : terms) {
    if (term.literal())
      continue;
    const Shape &shape = r.type(term.id).shape;
    if (repeatsFreely(common) && (!repeatsFreely(shape) || common.empty())) {
      common = shape;
      widest = &term;
      continue;
    }
    if (repeatsFreely(shape))
      continue;
    if (!repeatAlong(common, shape)) {
      fail("the shapes do not match, " + describe(*widest) + " and " + describe(term) + "; " +
               remedy(r.type(widest->id).shape.size(), shape.size()),
           terms);
      return std::nullopt;
    }
  }
  return common;
}

//===-- Conversions ----------------------------------------------------------------------------------------------===//

NodeId Converter::constant(DType dtype, const Term &literal, Shape shape) const {
  bool floating = literal.kind == Term::Kind::Floating;
  const int64_t limit = std::numeric_limits<int64_t>::max() >> (64 - bitsOf(dtype));
  if (!floating && isInteger(dtype) && (literal.integer > limit || literal.integer < -limit - 1))
    return fail(describe(literal) + " does not fit into " + std::string(toString(dtype)), {}, {dtype, shape});
  std::string text = floating ? numberText(dtype, literal.floating) : numberText(dtype, literal.integer);
  if (!shape.empty())
    text = "dense<" + text + ">";
  return r.pure(Op::Constant, {dtype, std::move(shape)}, {}, where, std::move(text));
}

NodeId Converter::cast(NodeId id, DType to) const {
  const Type &type = r.type(id);
  DType from = type.dtype;
  auto via = [&](Op op, DType dtype) { return r.pure(op, {dtype, type.shape}, {id}, where); };
  if (from == to)
    return id;
  if (isFloat(from) && isFloat(to))
    return from != f32 && to != f32 ? cast(cast(id, f32), to) : via(to == f32 ? Op::ExtF : Op::TruncF, to);
  if (isFloat(to) && to != f32)
    return cast(cast(id, f32), to);
  if (from == DType::index && to == f32)
    return cast(cast(id, i64), f32);
  if (to == f32)
    return via(from == DType::i1 ? Op::ConditionToFloat : Op::IntToFloat, f32);
  if (isFloat(from))
    return to == DType::index ? cast(via(Op::FloatToInt, i64), to) : via(Op::FloatToInt, to);
  if (from == DType::i1)
    return to == DType::index ? cast(via(Op::ExtUI, i64), to) : via(Op::ExtUI, to);
  if (from == DType::index || to == DType::index)
    return via(Op::IndexCast, to);
  return via(sizeOf(to) > sizeOf(from) ? Op::ExtSI : Op::TruncI, to);
}

NodeId Converter::reshape(NodeId id, Shape shape) const {
  if (r.type(id).shape == shape)
    return id;
  return r.pure(Op::Reshape, {r.type(id).dtype, std::move(shape)}, {id}, where);
}

NodeId Converter::broadcast(NodeId id, const Shape &shape) const {
  if (r.type(id).shape == shape)
    return id;
  if (r.type(id).shape == Shape{1})
    id = reshape(id, Shape(shape.size(), 1));
  return r.type(id).shape == shape ? id : r.pure(Op::Broadcast, {r.type(id).dtype, shape}, {id}, where);
}

NodeId Converter::to(const Term &term, DType dtype) const {
  return term.literal() ? constant(dtype, term) : cast(term.id, dtype);
}

NodeId Converter::to(const Term &term, DType dtype, const Shape &shape) const {
  return term.literal() ? constant(dtype, term, shape) : broadcast(cast(term.id, dtype), shape);
}

NodeId Converter::node(const Term &term) const { return to(term, naturalType(term)); }

NodeId Converter::condition(const Term &term) const {
  if (poisoned(term) || naturalType(term) == DType::i1)
    return node(term);
  return fail("the condition is " + describe(term) + "; it must be i1, such as x != 0", {term},
              {DType::i1, term.literal() ? Shape() : r.type(term.id).shape});
}

NodeId Converter::condition(const Term &term, const Shape &shape, const std::string &what,
                            const std::string &other) const {
  const NodeId id = condition(term);
  if (r.poisoned(id))
    return id;
  const Shape given = r.type(id).shape;
  bool repeats = given.size() == shape.size();
  for (size_t axis = 0; repeats && axis < shape.size(); ++axis)
    repeats = given[axis] == 1 || given[axis] == shape[axis];
  if (repeats || given.empty() || given == Shape{1})
    return broadcast(id, shape);
  return fail(what + " is " + describe(term) + "; it must repeat to the shape of " + other + ", " + listText(shape),
              {term}, {DType::i1, shape});
}

NodeId Converter::real(const Term &term) const {
  if (poisoned(term))
    return term.id;
  if (naturalType(term) == DType::i1)
    return fail(std::string(kConditionsAreNoNumbers), {term}, {f32, guess({term}).shape});
  return to(term, f32);
}

NodeId Converter::position(const Term &term) const {
  Type guess{DType::index, {}};
  if (poisoned(term))
    return r.poison(guess);
  if (!isInteger(naturalType(term)))
    return fail(describe(term) + " is not a position; positions are integers", {term}, guess);
  if (!term.literal() && !r.type(term.id).scalar())
    return fail(describe(term) + " is not a position; positions are scalars, and gather takes tiles", {term}, guess);
  return to(term, DType::index);
}

NodeId Converter::count(const Term &term) const {
  const Type guess{DType::i32, {}};
  if (poisoned(term))
    return r.poison(guess);
  if (!isInteger(naturalType(term)) || (!term.literal() && !r.type(term.id).scalar()))
    return fail(describe(term) + " is not a count; counts are integer scalars", {term}, guess);
  return cast(to(term, DType::index), DType::i32);
}

} // namespace tegula
