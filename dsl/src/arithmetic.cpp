// SPDX-License-Identifier: MIT
// Elementwise operations.
#include "convert.h"
#include "tegula/ops.h"
#include "text.h"

namespace tegula {
namespace {

/// Returns the line of an infix operator. g++ reports the operator's line, clang the line of each operand. The later
/// line is the same for both unless the right operand itself spans lines.
Location later(const Operand &a, const Operand &b) {
  return a.where().line() > b.where().line() ? a.where() : b.where();
}

/// The kinds of operands that an operation takes.
enum class Domain : uint8_t { Numbers, Integers, Bits, Anything };

const char *outside(Domain domain, DType dtype) {
  if (domain == Domain::Anything)
    return nullptr;
  if (dtype == DType::i1 && domain != Domain::Bits)
    return kConditionsAreNoNumbers.data();
  if (isFloat(dtype) && domain != Domain::Numbers)
    return "floating-point operands are not legal; cast them to an integer type";
  return nullptr;
}

/// Terms brought to one dtype and shape; `ids` is empty after an error.
struct Unified {
  Type type;
  std::vector<NodeId> ids;
};

Unified unify(const Converter &convert, const std::vector<Term> &terms, Domain domain = Domain::Numbers) {
  Unified unified{convert.guess(terms), {}};
  unified.type.dtype = widened(unified.type.dtype);
  if (convert.poisoned(terms))
    return unified;
  std::optional<DType> dtype = convert.arithmeticType(terms);
  std::optional<Shape> shape = dtype ? convert.commonShape(terms) : std::nullopt;
  if (!shape)
    return unified;
  unified.type = {*dtype, *shape};
  if (const char *reason = outside(domain, *dtype)) {
    convert.fail(reason, terms);
    return unified;
  }
  for (const Term &term : terms)
    unified.ids.push_back(convert.to(term, *dtype, *shape));
  return unified;
}

Value finish(const Converter &convert, const Unified &unified, Op floating, Op integer) {
  Recorder &r = convert.r;
  if (unified.ids.empty())
    return r.value(r.poison(unified.type), convert.where);
  Op op = isFloat(unified.type.dtype) ? floating : integer;
  return r.value(r.pure(op, unified.type, unified.ids, convert.where), convert.where);
}

Value binary(const char *name, const Operand &a, const Operand &b, Location where, Op floating, Op integer,
             Domain domain = Domain::Numbers) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, where);
  return finish(convert, unify(convert, {r.use(a), r.use(b)}, domain), floating, integer);
}

Value integers(const char *name, const Operand &a, const Operand &b, Location where, Op op,
               Domain domain = Domain::Integers) {
  return binary(name, a, b, where, op, op, domain);
}

/// Records a shift. A count that is known must leave bits of the number.
Value shift(const char *name, const Operand &x, const Operand &count, Op op) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, later(x, count));
  const std::vector<Term> terms = {r.use(x), r.use(count)};
  const Unified unified = unify(convert, terms, Domain::Integers);
  const Term &n = terms[1];
  const int64_t bits = bitsOf(unified.type.dtype);
  const bool isKnown = n.kind == Term::Kind::Integer && !unified.ids.empty() && !r.poisoned(unified.ids.back());
  if (isKnown && (n.integer < 0 || n.integer >= bits))
    return r.value(convert.fail("the count is " + std::to_string(n.integer) + "; a literal count must be from 0 to " +
                                    std::to_string(bits - 1) + " for " + std::string(toString(unified.type.dtype)),
                                {}, unified.type),
                   convert.where);
  return finish(convert, unified, op, op);
}

Value compare(const char *name, const Operand &a, const Operand &b, const char *floating, const char *integer) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, later(a, b));
  bool equality = *name == '=' || *name == '!';
  Unified unified = unify(convert, {r.use(a), r.use(b)}, equality ? Domain::Anything : Domain::Numbers);
  Type result{DType::i1, unified.type.shape};
  if (unified.ids.empty())
    return r.value(r.poison(result), convert.where);
  bool isFloating = isFloat(unified.type.dtype);
  return r.value(r.pure(isFloating ? Op::CompareF : Op::CompareI, result, unified.ids, convert.where,
                        isFloating ? floating : integer),
                 convert.where);
}

/// Records a function of a real number. Integers are converted to f32.
Value real(const char *name, const Operand &x, Location where, Op op) {
  Recorder &r = Recorder::current();
  NodeId id = Converter(r, name, where).real(r.use(x));
  return r.value(r.pure(op, {f32, r.type(id).shape}, {id}, where), where);
}

/// Records a function of two real numbers.
Value real(const char *name, const Operand &x, const Operand &y, Location where, Op op) {
  Recorder &r = Recorder::current();
  Converter convert(r, name, where);
  Term a = r.use(x), b = r.use(y);
  a = {.id = convert.real(a), .made = a.made};
  b = {.id = convert.real(b), .made = b.made};
  Unified unified = unify(convert, {a, b});
  return finish(convert, unified, op, op);
}

Value compound(const Var &variable, const Operand &x, Value (*apply)(Operand, Operand)) {
  return apply(Operand(variable, x.where()), x);
}

} // namespace

Value operator+(Operand a, Operand b) { return binary("+", a, b, later(a, b), Op::AddF, Op::AddI); }
Value operator-(Operand a, Operand b) { return binary("-", a, b, later(a, b), Op::SubF, Op::SubI); }
Value operator*(Operand a, Operand b) { return binary("*", a, b, later(a, b), Op::MulF, Op::MulI); }
Value operator/(Operand a, Operand b) { return binary("/", a, b, later(a, b), Op::DivF, Op::DivI); }
Value operator%(Operand a, Operand b) { return integers("%", a, b, later(a, b), Op::RemI); }
Value operator<<(Operand a, Operand b) { return shift("<<", a, b, Op::ShiftLeft); }
Value operator>>(Operand a, Operand b) { return shift(">>", a, b, Op::ShiftRight); }
Value operator&(Operand a, Operand b) { return integers("&", a, b, later(a, b), Op::And, Domain::Bits); }
Value operator|(Operand a, Operand b) { return integers("|", a, b, later(a, b), Op::Or, Domain::Bits); }
Value operator^(Operand a, Operand b) { return integers("^", a, b, later(a, b), Op::Xor, Domain::Bits); }

Value floorDiv(Operand a, Operand b, Location where) { return integers("floorDiv", a, b, where, Op::FloorDivI); }
Value ceilDiv(Operand a, Operand b, Location where) { return integers("ceilDiv", a, b, where, Op::CeilDivI); }
Value min(Operand a, Operand b, Location where) { return binary("min", a, b, where, Op::MinF, Op::MinI); }
Value max(Operand a, Operand b, Location where) { return binary("max", a, b, where, Op::MaxF, Op::MaxI); }

Value operator-(Operand a) {
  Recorder &r = Recorder::current();
  Converter convert(r, "-", a.where());
  Unified unified = unify(convert, {r.use(a)});
  if (!unified.ids.empty() && !isFloat(unified.type.dtype)) {
    Term zero{.kind = Term::Kind::Integer, .made = a.where()};
    unified.ids.insert(unified.ids.begin(), convert.constant(unified.type.dtype, zero, unified.type.shape));
  }
  return finish(convert, unified, Op::NegF, Op::SubI);
}

Value operator!(const Value &condition) {
  Recorder &r = Recorder::current();
  Location where = r.madeAt(condition);
  Converter convert(r, "!", where);
  NodeId id = convert.condition(r.use(Operand(condition, where)));
  Term yes{.kind = Term::Kind::Condition, .integer = 1, .made = where};
  Type type = r.type(id);
  return r.value(r.pure(Op::Xor, type, {id, convert.constant(DType::i1, yes, type.shape)}, where), convert.where);
}

Value operator!(const Var &condition) { return !Value(condition); }

Value abs(Operand x, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "abs", where);
  return finish(convert, unify(convert, {r.use(x)}), Op::AbsF, Op::AbsI);
}

Value exp(Operand x, Location where) { return real("exp", x, where, Op::Exp); }
Value exp2(Operand x, Location where) { return real("exp2", x, where, Op::Exp2); }
Value log(Operand x, Location where) { return real("log", x, where, Op::Log); }
Value log2(Operand x, Location where) { return real("log2", x, where, Op::Log2); }
Value tanh(Operand x, Location where) { return real("tanh", x, where, Op::Tanh); }
Value fastTanh(Operand x, Location where) { return real("fastTanh", x, where, Op::FastTanh); }
Value sqrt(Operand x, Location where) { return real("sqrt", x, where, Op::Sqrt); }
Value erf(Operand x, Location where) { return real("erf", x, where, Op::Erf); }
Value sin(Operand x, Location where) { return real("sin", x, where, Op::Sin); }
Value cos(Operand x, Location where) { return real("cos", x, where, Op::Cos); }

Value pow(Operand x, Operand y, Location where) {
  Recorder &r = Recorder::current();
  Term exponent = r.use(y);
  if (exponent.kind != Term::Kind::Integer || exponent.integer < 2 || exponent.integer > 3)
    return real("pow", x, y, where, Op::Pow);
  Operand factor(r.value(Converter(r, "pow", where).real(r.use(x)), where), where);
  Value square = binary("pow", factor, factor, where, Op::MulF, Op::MulI);
  return exponent.integer == 2 ? square : binary("pow", {square, where}, factor, where, Op::MulF, Op::MulI);
}

Value mulhi(Operand a, Operand b, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "mulhi", where);
  const std::vector<Term> terms = {r.use(a), r.use(b)};
  const Unified unified = unify(convert, terms, Domain::Integers);
  if (unified.ids.empty())
    return r.value(r.poison(unified.type), where);
  if (unified.type.dtype != DType::i32)
    return r.value(convert.fail("the factors are " + std::string(toString(unified.type.dtype)) + "; they must be i32",
                                terms, unified.type),
                   where);
  const Type wide{DType::i64, unified.type.shape};
  auto widen = [&](NodeId id) { return r.pure(Op::ExtUI, wide, {id}, where); };
  const Term bits{.kind = Term::Kind::Integer, .integer = 32, .made = where};
  const NodeId product = r.pure(Op::MulI, wide, {widen(unified.ids[0]), widen(unified.ids[1])}, where);
  const NodeId high = r.pure(Op::ShiftRight, wide, {product, convert.constant(DType::i64, bits, wide.shape)}, where);
  return r.value(r.pure(Op::TruncI, unified.type, {high}, where), where);
}

Value clamp(Operand x, Operand low, Operand high, Location where) {
  Operand atLeast(binary("clamp", x, low, where, Op::MaxF, Op::MaxI), where);
  return binary("clamp", atLeast, high, where, Op::MinF, Op::MinI);
}

Value operator==(Operand a, Operand b) { return compare("==", a, b, "oeq", "eq"); }
Value operator!=(Operand a, Operand b) { return compare("!=", a, b, "une", "ne"); }
Value operator<(Operand a, Operand b) { return compare("<", a, b, "olt", "slt"); }
Value operator<=(Operand a, Operand b) { return compare("<=", a, b, "ole", "sle"); }
Value operator>(Operand a, Operand b) { return compare(">", a, b, "ogt", "sgt"); }
Value operator>=(Operand a, Operand b) { return compare(">=", a, b, "oge", "sge"); }

Value cast(DType dtype, Operand x, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "cast", where);
  Term term = r.use(x);
  Type type{dtype, convert.guess({term}).shape};
  if (convert.poisoned(term))
    return r.value(r.poison(type), convert.where);
  DType from = convert.naturalType(term);
  if (dtype == DType::i1 && from != DType::i1)
    return r.value(
        convert.fail(convert.describe(term) + " cannot be cast to i1; compare it, such as x != 0", {term}, type),
        convert.where);
  return r.value(convert.cast(convert.node(term), dtype), convert.where);
}

Value select(Operand condition, Operand yes, Operand no, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "select", where);
  Term terms[] = {r.use(condition), r.use(yes), r.use(no)};
  Type type = convert.guess({terms[1], terms[2]});
  NodeId chosen = convert.condition(terms[0]);
  if (r.poisoned(chosen) || convert.poisoned({terms[1], terms[2]}))
    return r.value(r.poison(type), convert.where);
  terms[0] = {.id = chosen, .made = terms[0].made};
  std::optional<DType> dtype = convert.commonType({terms[1], terms[2]});
  std::optional<Shape> shape = dtype ? convert.commonShape({terms[0], terms[1], terms[2]}) : std::nullopt;
  if (!shape)
    return r.value(r.poison(type), convert.where);
  std::vector<NodeId> operands = {convert.to(terms[0], DType::i1, *shape), convert.to(terms[1], *dtype, *shape),
                                  convert.to(terms[2], *dtype, *shape)};
  return r.value(r.pure(Op::Select, {*dtype, *shape}, std::move(operands), where), convert.where);
}

Var &Var::operator+=(Operand x) { return *this = compound(*this, x, operator+); }
Var &Var::operator-=(Operand x) { return *this = compound(*this, x, operator-); }
Var &Var::operator*=(Operand x) { return *this = compound(*this, x, operator*); }
Var &Var::operator/=(Operand x) { return *this = compound(*this, x, operator/); }

} // namespace tegula
