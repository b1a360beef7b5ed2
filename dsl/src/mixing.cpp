// SPDX-License-Identifier: MIT
// Operations that mix elements: matrix products, reductions, the online softmax.
#include "convert.h"
#include "tegula/ops.h"
#include "text.h"

#include <algorithm>
#include <limits>

namespace tegula {
namespace {

std::string sizeAt(const Recorder &r, const Term &term, int axis) {
  return std::to_string(r.type(term.id).shape[axis]) + " (line " + std::to_string(term.made.line()) + ")";
}

/// A floating-point tile of rank 2.
bool isMatrix(const Converter &convert, const Term &term) {
  if (!term.literal() && convert.r.type(term.id).shape.size() == 2 && isFloat(convert.naturalType(term)))
    return true;
  convert.fail(convert.describe(term) + " is not a floating-point matrix", {term});
  return false;
}

bool checkDot(const Converter &convert, const Term &a, const Term &b, Precision precision) {
  Recorder &r = convert.r;
  if (!isMatrix(convert, a) || !isMatrix(convert, b))
    return false;
  const Type &lhs = r.type(a.id), &rhs = r.type(b.id);
  if (lhs.shape[1] != rhs.shape[0]) {
    Shape wanted = {lhs.shape[1], rhs.shape[1]};
    std::string transpose = lhs.shape[1] == rhs.shape[1] ? "transpose the second operand or " : "";
    convert.fail("inner sizes differ, " + sizeAt(r, a, 1) + " and " + sizeAt(r, b, 0) + "; " + transpose + "load " +
                     listText(wanted, "{}"),
                 {a, b});
    return false;
  }
  if (lhs.dtype != rhs.dtype) {
    convert.fail("element types differ, " + convert.describe(a) + " and " + convert.describe(b) + "; cast one of them",
                 {a, b});
    return false;
  }
  if (precision == Precision::ieee || lhs.dtype == f32)
    return true;
  convert.fail("tf32 is for f32 operands, not for " + convert.describe(a) + "; leave tf32 out", {a});
  return false;
}

/// The accumulator as f32 of `shape`; poison after an error.
NodeId accumulator(const Converter &convert, const Term &acc, const Shape &shape) {
  Recorder &r = convert.r;
  Shape given = acc.literal() ? Shape() : r.type(acc.id).shape;
  bool number = isFloat(convert.naturalType(acc)) || acc.kind == Term::Kind::Integer;
  if (number && (given.empty() || given == shape))
    return convert.to(acc, f32, shape);
  return convert.fail("the accumulator is " + convert.describe(acc) + ", but the product is f32 " + listText(shape),
                      {acc}, {f32, shape});
}

Value product(const Operand &a, const Operand &b, const Operand *acc, Precision precision, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "dot", where);
  Term lhs = r.use(a), rhs = r.use(b);
  Shape m = convert.guess({lhs}).shape, n = convert.guess({rhs}).shape;
  Type type{f32, {m.size() == 2 ? m[0] : 1, n.size() == 2 ? n[1] : 1}};
  if (convert.poisoned({lhs, rhs}) || !checkDot(convert, lhs, rhs, precision))
    return r.value(r.poison(type), where);
  std::vector<NodeId> operands = {lhs.id, rhs.id};
  if (acc) {
    Term term = r.use(*acc);
    operands.push_back(convert.poisoned(term) ? term.id : accumulator(convert, term, type.shape));
  }
  return r.value(r.pure(Op::Dot, type, std::move(operands), where, {}, static_cast<int64_t>(precision)), where);
}

/// Returns a tile as f32 or i32, in which elements along `axis` can be combined. After an error, the result is poison
/// that stands for a value of `type`.
NodeId combinable(const Converter &convert, const Term &term, int axis, const Type &type) {
  Recorder &r = convert.r;
  if (convert.poisoned(term))
    return r.poison(type);
  const int rank = term.literal() ? 0 : static_cast<int>(r.type(term.id).shape.size());
  if (rank == 0)
    return convert.fail(convert.describe(term) + " is not a tile", {term}, type);
  if (axis < 0 || axis >= rank)
    return convert.fail("axis " + std::to_string(axis) + " is not one of the " + std::to_string(rank) +
                            " dimensions of " + convert.describe(term),
                        {term}, type);
  if (type.dtype != f32 && type.dtype != DType::i32)
    return convert.fail(convert.describe(term) + " cannot be reduced; cast it to f32 or i32", {term}, type);
  return convert.cast(term.id, type.dtype);
}

Value reduce(const char *name, const char *kind, const Operand &x, int axis, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, where);
  Term term = r.use(x);
  Type type = convert.guess({term});
  type.dtype = widened(type.dtype);
  int rank = static_cast<int>(type.shape.size());
  if (rank > 0 && axis >= 0 && axis < rank)
    type.shape.erase(type.shape.begin() + axis);
  if (rank == 1)
    type.shape = {1};
  NodeId source = combinable(convert, term, axis, type);
  if (r.poisoned(source))
    return r.value(source, where);
  if (rank == 1) {
    source = convert.reshape(source, {1, r.type(source).shape[0]});
    axis = 1;
  }
  return r.value(r.pure(Op::Reduce, type, {source}, where, kind, axis), where);
}

/// A matrix's row reduction.
Value rows(const char *name, const char *kind, const Operand &matrix, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, where);
  Term term = r.use(matrix);
  if (convert.poisoned(term) || (!term.literal() && r.type(term.id).shape.size() == 2))
    return reduce(name, kind, matrix, 1, where);
  return r.value(convert.fail(convert.describe(term) + " is not a matrix; reduceMax and reduceSum take other ranks",
                              {term}, {f32, {1}}),
                 where);
}

/// `value` if it is f32 of `shape`, else an error and poison.
Value checked(Value value, const char *what, const Shape &shape, Location where) {
  Recorder &r = Recorder::current();
  Term term = r.use({value, where});
  NodeId id = term.id;
  if (r.poisoned(id) || r.type(id) == Type{f32, shape})
    return r.value(id, where);
  Converter convert(r, "OnlineSoftmax", where);
  const std::string wanted = shape.empty() ? "an f32 scalar" : "f32 " + listText(shape);
  return r.value(convert.fail(std::string(what) + " is " + convert.describe(term) + "; it must be " + wanted, {term},
                              {f32, shape}),
                 where);
}

int64_t sizeOr1(Value value, size_t axis) { return axis < value.shape().size() ? value.shape()[axis] : 1; }

} // namespace

Value dot(Operand a, Operand b, Precision precision, Location where) {
  return product(a, b, nullptr, precision, where);
}
Value dot(Operand a, Operand b, Operand acc, Precision precision, Location where) {
  return product(a, b, &acc, precision, where);
}

Value any(Operand condition, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "any", where);
  NodeId id = convert.condition(r.use(condition));
  if (r.poisoned(id) || r.type(id).scalar())
    return r.value(id, where);
  // One number, which all threads know: they take the same branch. A maximum a target may leave in parts.
  Var count = select(r.value(id, where), 1, 0, where);
  for (int axis = int(r.type(id).shape.size()); axis-- > 0;)
    count = reduceSum(count, axis, where);
  NodeId some = r.use({count > 0, where}).id;
  return r.value(r.pure(Op::Any, {DType::i1, {}}, {some}, where), where);
}

Value all(Operand condition, Location where) {
  Recorder &r = Recorder::current();
  return !any(!r.value(Converter(r, "all", where).condition(r.use(condition)), where), where);
}

/// Tests a condition along an axis: the largest or the smallest of 1, where it is true, and 0.
static Value test(const char *name, const char *kind, const Operand &condition, int axis, Location where) {
  Recorder &r = Recorder::current();
  const Term term = r.use(condition);
  const NodeId id = Converter(r, name, where).condition(term);
  const Value number = select(r.value(id, term.made), 1, 0, where);
  return Operand(reduce(name, kind, {number, where}, axis, where), where) != Operand(0, where);
}

Value any(Operand condition, int axis, Location where) { return test("any", "max", condition, axis, where); }
Value all(Operand condition, int axis, Location where) { return test("all", "min", condition, axis, where); }

/// Combines conditions by `|` or `&`; `none` is the result without a condition.
static Value combined(std::span<const Value> conditions, Value (*combine)(Operand, Operand), bool none,
                      Location where) {
  if (conditions.empty())
    return constant(DType::i1, none, where);
  Var result(conditions.front(), where);
  for (const Value &condition : conditions.subspan(1))
    result = combine({result, where}, {condition, where});
  return result;
}

Value anyOf(std::span<const Value> conditions, Location where) {
  return combined(conditions, operator|, /*none=*/false, where);
}

Value allOf(std::span<const Value> conditions, Location where) {
  return combined(conditions, operator&, /*none=*/true, where);
}

Value anyOf(std::initializer_list<Value> conditions, Location where) {
  return anyOf(std::span(conditions.begin(), conditions.size()), where);
}

Value allOf(std::initializer_list<Value> conditions, Location where) {
  return allOf(std::span(conditions.begin(), conditions.size()), where);
}

Value cumsum(Operand x, int axis, bool reverse, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "cumsum", where);
  Term term = r.use(x);
  Type type = convert.guess({term});
  type.dtype = widened(type.dtype);
  NodeId source = combinable(convert, term, axis, type);
  if (r.poisoned(source))
    return r.value(source, where);
  return r.value(r.pure(Op::Cumsum, type, {source}, where, reverse ? " {reverse}" : "", axis), where);
}

Value reduceMax(Operand x, int axis, Location where) { return reduce("reduceMax", "max", x, axis, where); }
Value reduceMin(Operand x, int axis, Location where) { return reduce("reduceMin", "min", x, axis, where); }
Value reduceSum(Operand x, int axis, Location where) { return reduce("reduceSum", "add", x, axis, where); }
Value rowMax(Operand matrix, Location where) { return rows("rowMax", "max", matrix, where); }
Value rowSum(Operand matrix, Location where) { return rows("rowSum", "add", matrix, where); }

OnlineSoftmax::OnlineSoftmax(int64_t rows, int64_t value_dim, Location where)
    : m_(tegula::fill({rows}, -std::numeric_limits<double>::infinity(), where), where),
      l_(tegula::fill({rows}, 0.0, where), where), o_(tegula::fill({rows, value_dim}, 0.0, where), where) {}

OnlineSoftmax::OnlineSoftmax(int64_t rows, int64_t value_dim, Value sink, Location where)
    : sink_(checked(sink, "sink", {}, where)), m_(broadcast(*sink_, {rows}, where), where),
      l_(tegula::fill({rows}, 0.0, where), where), o_(tegula::fill({rows, value_dim}, 0.0, where), where) {}

OnlineSoftmax::OnlineSoftmax(Value m, Value l, Value o, Location where)
    : m_(checked(m, "m", {sizeOr1(m, 0)}, where), where), l_(checked(l, "l", {sizeOr1(m, 0)}, where), where),
      o_(checked(o, "o", {sizeOr1(m, 0), sizeOr1(o, 1)}, where), where) {}

void OnlineSoftmax::update(Operand scores, Operand values, Location where) {
  update(scores, values, std::nullopt, where);
}

void OnlineSoftmax::update(Operand scores, Operand values, std::optional<Value> keep, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "OnlineSoftmax", where);
  Term s = r.use(scores), v = r.use(values);
  Term state[] = {r.use({m_, where}), r.use({l_, where}), r.use({o_, where})};
  if (convert.poisoned({s, v, state[0], state[1], state[2]}) || !isMatrix(convert, s) || !isMatrix(convert, v))
    return;
  if (sizeOf(r.type(v.id).dtype) == 1) {
    convert.fail("the values are " + convert.describe(v) +
                     ", and probabilities are rounded to their type; cast them to f16 or bf16",
                 {v});
    return;
  }
  const Shape &output = r.type(state[2].id).shape;
  const Shape &score = r.type(s.id).shape, &value = r.type(v.id).shape;
  if (score[0] != output[0] || value[0] != score[1] || value[1] != output[1]) {
    convert.fail("scores are " + convert.describe(s) + " and values " + convert.describe(v) +
                     "; they must be [rows, keys] and [keys, value_dim] with rows = " + std::to_string(output[0]) +
                     " and value_dim = " + std::to_string(output[1]),
                 {s, v});
    return;
  }
  std::vector<NodeId> operands = {convert.cast(s.id, f32), v.id, state[0].id, state[1].id, state[2].id};
  if (keep)
    operands.push_back(convert.condition(r.use({*keep, where}), score, "keep", "the scores"));
  if (r.poisoned(operands.back()))
    return;
  NodeId update = r.pure(Op::SoftmaxUpdate, r.type(state[2].id), std::move(operands), where);
  Var *variables[] = {&m_, &l_, &o_};
  for (int i = 0; i < 3; ++i)
    *variables[i] = r.value(r.pure(Op::Result, r.type(state[i].id), {update}, where, {}, i), where);
}

void OnlineSoftmax::merge(Value output, Value lse, Location where) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Shape shape = o_.shape();
  if (output.shape() != shape) { // `checked` asks for f32, too, which the output need not be.
    checked(output, "output", shape, where);
    return;
  }
  const Value partLse = checked(lse, "lse", {shape[0]}, where);
  const Value m = tegula::max(m_, partLse, where);                                    // [rows]
  const Value origin = select(m == -infinity, 0.0, m, where);                         // [rows]
  const Value alpha = exp(m_ - origin, where), weight = exp(partLse - origin, where); // [rows]
  const Value part = select(asColumn(partLse == -infinity, where), 0.0, cast(f32, output, where), where);
  m_ = m;
  l_ = l_ * alpha + weight;
  o_ = o_ * asColumn(alpha, where) + part * asColumn(weight, where);
}

/// m begins with the sink and only grows, so the exponent is at most 0.
Value OnlineSoftmax::sum(Location where) const {
  if (!sink_)
    return l_;
  const Value part = exp(*sink_ - m_, where); // [rows]
  return l_ + select(*sink_ == -std::numeric_limits<double>::infinity(), 0.0, part, where);
}

Value OnlineSoftmax::output(Location where) const {
  Recorder &r = Recorder::current();
  NodeId l = r.use({sum(where), where}).id, o = r.use({o_, where}).id;
  return r.value(r.pure(Op::SoftmaxOutput, r.type(o), {l, o}, where), where);
}

Value OnlineSoftmax::logSumExp(Location where) const {
  Recorder &r = Recorder::current();
  NodeId m = r.use({m_, where}).id, l = r.use({sum(where), where}).id;
  return r.value(r.pure(Op::SoftmaxLse, r.type(m), {m, l}, where), where);
}

SoftmaxPart mergeSoftmax(std::span<const SoftmaxPart> parts, Location where) {
  OnlineSoftmax softmax(sizeOr1(parts.front().output, 0), sizeOr1(parts.front().output, 1), where);
  for (const SoftmaxPart &part : parts)
    softmax.merge(part.output, part.lse, where);
  return {softmax.output(where), softmax.logSumExp(where)};
}

} // namespace tegula
