// SPDX-License-Identifier: MIT
// Positions, tiles from nothing, and operations that only rearrange elements.
#include "convert.h"
#include "tegula/ops.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula {
namespace {

int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Returns an operand that has a shape, of any dtype; poison after an error.
NodeId tile(const Converter &convert, const Operand &x, size_t rank, const char *what) {
  Recorder &r = convert.r;
  Term term = r.use(x);
  if (convert.poisoned(term) || (!term.literal() && r.type(term.id).shape.size() == rank))
    return term.id;
  return convert.fail(convert.describe(term) + " is not a " + what, {term},
                      {convert.naturalType(term), Shape(rank, 1)});
}

Value permuted(const Converter &convert, NodeId x, const std::vector<int64_t> &permutation) {
  Recorder &r = convert.r;
  Type type{r.type(x).dtype, {}};
  for (int64_t axis : permutation)
    type.shape.push_back(r.type(x).shape[axis]);
  return r.value(r.pure(Op::Transpose, std::move(type), {x}, convert.where, listText(permutation)), convert.where);
}

Value ofGrid(Op op, const char *function, int axis, Location where) {
  Recorder &r = Recorder::current();
  Type type{DType::index, {}};
  if (axis < 0 || axis > 2)
    return r.value(
        r.fail(where, std::string(function) + ": axis " + std::to_string(axis) + " is not 0, 1 or 2", {}, type), where);
  return r.value(r.pure(op, type, {}, where, {}, axis), where);
}

} // namespace

Value programId(int axis, Location where) { return ofGrid(Op::ProgramId, "programId", axis, where); }
Value numPrograms(int axis, Location where) { return ofGrid(Op::NumPrograms, "numPrograms", axis, where); }

Value iota(int64_t size, Location where) {
  Recorder &r = Recorder::current();
  Type type{DType::i32, {size}};
  if (!Converter(r, "iota", where).checkShape(type.shape))
    return r.value(r.poison(type), where);
  return r.value(r.pure(Op::Iota, type, {}, where), where);
}

Value fill(Shape shape, Operand scalar, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "fill", where);
  Term term = r.use(scalar);
  Type type{convert.naturalType(term), shape};
  if (!convert.checkShape(shape) || convert.poisoned(term))
    return r.value(r.poison(type), where);
  if (!term.literal() && !r.type(term.id).scalar())
    return r.value(convert.fail(convert.describe(term) + " is not a scalar; use broadcast", {term}, type), where);
  return r.value(convert.to(term, type.dtype, shape), where);
}

Value constant(DType dtype, double value, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "constant", where);
  if (isFloat(dtype)) {
    Term literal{.kind = Term::Kind::Floating, .floating = value, .made = where};
    return r.value(convert.constant(dtype, literal), where);
  }
  if (!isValueOf(dtype, value))
    return r.value(
        convert.fail(numberText(f32, value) + " is not an " + std::string(toString(dtype)) + " value", {}, {dtype, {}}),
        where);
  Term literal{.kind = Term::Kind::Integer, .integer = static_cast<int64_t>(value), .made = where};
  return r.value(convert.constant(dtype, literal), where);
}

Value broadcast(Operand x, Shape shape, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "broadcast", where);
  Term term = r.use(x);
  Type type{convert.naturalType(term), shape};
  if (!convert.checkShape(shape) || convert.poisoned(term))
    return r.value(r.poison(type), where);
  Shape from = term.literal() ? Shape() : r.type(term.id).shape;
  bool legal = from.empty() || from == Shape{1} || from.size() == shape.size();
  for (size_t i = 0; legal && from.size() == shape.size() && i < from.size(); ++i)
    legal = from[i] == 1 || from[i] == shape[i];
  if (!legal)
    return r.value(convert.fail(convert.describe(term) + " does not repeat to " + listText(shape) +
                                    "; the ranks must be equal, and only dimensions of size 1 repeat",
                                {term}, type),
                   where);
  return r.value(convert.to(term, type.dtype, shape), where);
}

Value reshape(Operand x, Shape shape, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "reshape", where);
  Term term = r.use(x);
  Type type{convert.naturalType(term), shape};
  if (!convert.checkShape(shape) || convert.poisoned(term))
    return r.value(r.poison(type), where);
  Shape from = term.literal() ? Shape() : r.type(term.id).shape;
  if (elements(from) != elements(shape))
    return r.value(convert.fail(convert.describe(term) + " has " + std::to_string(elements(from)) +
                                    " elements, but the shape " + listText(shape) + " has " +
                                    std::to_string(elements(shape)),
                                {term}, type),
                   where);
  NodeId id = convert.node(term);
  return r.value(from.empty() ? convert.broadcast(id, shape) : convert.reshape(id, shape), where);
}

Value transpose(Operand matrix, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "transpose", where);
  NodeId x = tile(convert, matrix, 2, "matrix; permute(...) takes tiles of other ranks");
  if (r.type(x).shape.size() != 2)
    return r.value(x, where);
  return permuted(convert, x, {1, 0});
}

Value permute(Operand x, std::initializer_list<int> permutation, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "permute", where);
  std::vector<int64_t> axes(permutation.begin(), permutation.end()), sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  Term term = r.use(x);
  if (convert.poisoned(term))
    return r.value(term.id, where);
  size_t rank = term.literal() ? 0 : r.type(term.id).shape.size();
  bool legal = rank > 0 && sorted.size() == rank;
  for (size_t i = 0; legal && i < rank; ++i)
    legal = sorted[i] == static_cast<int64_t>(i);
  if (legal)
    return permuted(convert, term.id, axes);
  return r.value(convert.fail(listText(axes, "{}") + " does not permute the " + std::to_string(rank) +
                                  " dimensions of " + convert.describe(term),
                              {term}, convert.guess({term})),
                 where);
}

Value asColumn(Operand vector, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "asColumn", where);
  NodeId x = tile(convert, vector, 1, "vector; it must have rank 1");
  return r.value(convert.reshape(x, {elements(r.type(x).shape), 1}), where);
}

Value asRow(Operand vector, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "asRow", where);
  NodeId x = tile(convert, vector, 1, "vector; it must have rank 1");
  return r.value(convert.reshape(x, {1, elements(r.type(x).shape)}), where);
}

Value columns(Operand x, int64_t begin, int64_t end, int64_t step, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "columns", where);
  Term term = r.use(x);
  if (convert.poisoned(term))
    return r.value(term.id, where);
  Type type = convert.guess({term});
  if (type.shape.empty())
    return r.value(convert.fail(convert.describe(term) + " has no columns", {term}, type), where);
  const int64_t size = type.shape.back();
  if (begin < 0 || begin >= end || end > size || step < 1)
    return r.value(convert.fail("begin " + std::to_string(begin) + ", end " + std::to_string(end) + " and step " +
                                    std::to_string(step) + " take no columns of " + convert.describe(term) +
                                    "; legal are 0 <= begin < end <= " + std::to_string(size) + " and step >= 1",
                                {term}, type),
                   where);
  step = std::min(step, end - begin);
  type.shape.back() = (end - begin + step - 1) / step;
  return r.value(r.pure(Op::Columns, type, {term.id}, where, std::to_string(step), begin), where);
}

/// Joins two tiles whose shapes differ at most along the columns.
static Value join(const Converter &convert, const Operand &left, const Operand &right, bool interleaves) {
  Recorder &r = convert.r;
  const Term a = r.use(left), b = r.use(right);
  Type type = convert.guess({a});
  if (convert.poisoned({a, b}))
    return r.value(r.poison(type), convert.where);
  Shape other = convert.guess({b}).shape, expected = type.shape;
  if (!interleaves && !other.empty() && !expected.empty())
    expected.back() = other.back();
  if (other.empty() || expected != other)
    return r.value(convert.fail(convert.describe(a) + " and " + convert.describe(b) +
                                    (interleaves ? " must have one shape"
                                                 : " must have one shape except for the number of columns"),
                                {a, b}, type),
                   convert.where);
  const std::optional<DType> dtype = convert.commonType({a, b});
  if (!dtype)
    return r.value(r.poison(type), convert.where);
  type = {*dtype, type.shape};
  type.shape.back() += other.back();
  if (!convert.checkShape(type.shape))
    return r.value(r.poison(type), convert.where);
  std::vector<NodeId> operands = {convert.to(a, *dtype), convert.to(b, *dtype)};
  return r.value(r.pure(Op::Join, type, std::move(operands), convert.where, interleaves ? " {interleave}" : ""),
                 convert.where);
}

Value joinColumns(Operand left, Operand right, Location where) {
  return join(Converter(Recorder::current(), "joinColumns", where), left, right, /*interleaves=*/false);
}

Value interleaveColumns(Operand even, Operand odd, Location where) {
  return join(Converter(Recorder::current(), "interleaveColumns", where), even, odd, /*interleaves=*/true);
}

} // namespace tegula
