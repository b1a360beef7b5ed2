// SPDX-License-Identifier: MIT
// Bounds of a condition over all elements of a tile, from the bounds of what it is computed from: interval arithmetic
// (Moore 1966) on the recorded expression. All that it records are scalars.
#include "convert.h"
#include "tegula/ops.h"
#include "tegula/view.h"
#include "text.h"

#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tegula {
namespace {

/// The least and the largest element of an integer tile, or numbers beyond them: scalars of type index.
struct Bounds {
  Value low, high;
};

/// Expressions may be deeper than a stack. Nothing is known of what lies deeper than this.
constexpr int kMostDepth = 200;

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kLargest = std::numeric_limits<int32_t>::max();

class Encloser {
public:
  Encloser(Recorder &r, Location where) : r_(r), where_(where) {}

  Enclosure conditionOf(NodeId id) {
    return remembered(conditions_, id, unknown(), [&] { return enclosed(id); });
  }

private:
  using MaybeBounds = std::optional<Bounds>;

  /// Returns what `compute` makes of a node, once for each node; `unknown` if the node is too deep.
  template <class Result, class Compute>
  Result remembered(std::unordered_map<NodeId, Result> &known, NodeId id, const Result &unknown,
                    const Compute &compute) {
    if (const auto found = known.find(id); found != known.end())
      return found->second;
    if (depth_ == kMostDepth)
      return unknown;
    ++depth_;
    const Result result = compute();
    --depth_;
    return known.emplace(id, result).first->second;
  }

  Value valueOf(NodeId id) const { return r_.value(id, where_); }
  Value number(int64_t x) const { return constant(DType::index, x); }
  Value truth(bool x) const { return constant(DType::i1, x ? 1 : 0); }

  //===-- Conditions ---------------------------------------------------------------------------------------------===//

  Enclosure unknown() const { return {truth(true), truth(false)}; }
  static Enclosure opposite(const Enclosure &a) { return {!a.always, !a.sometimes}; }

  Enclosure enclosed(NodeId id) {
    const Node &node = r_.node(id);
    if (node.type.scalar())
      return {valueOf(id), valueOf(id)};
    if (node.alias)
      return conditionOf(node.alias);
    switch (node.op) {
    case Op::Constant:
      return literal(node);
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Columns:
    case Op::Any:
      return conditionOf(node.operands[0]);
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return combined(node.op, conditionOf(node.operands[0]), conditionOf(node.operands[1]));
    case Op::Select:
      return selected(conditionOf(node.operands[0]), conditionOf(node.operands[1]), conditionOf(node.operands[2]));
    case Op::CompareI:
      return compared(node);
    case Op::Gather:
      return gatheredCondition(node);
    default:
      return unknown();
    }
  }

  Enclosure literal(const Node &node) const {
    const bool isTrue = node.text.find("true") != std::string::npos;
    return {truth(isTrue), truth(isTrue)};
  }

  static Enclosure combined(Op op, const Enclosure &a, const Enclosure &b) {
    if (op == Op::And)
      return {a.sometimes & b.sometimes, a.always & b.always};
    if (op == Op::Or)
      return {a.sometimes | b.sometimes, a.always | b.always};
    return {(a.sometimes & !b.always) | (b.sometimes & !a.always),
            (a.always & !b.sometimes) | (b.always & !a.sometimes)};
  }

  static Enclosure selected(const Enclosure &condition, const Enclosure &yes, const Enclosure &no) {
    return {(condition.sometimes & yes.sometimes) | (!condition.always & no.sometimes),
            (!condition.sometimes | yes.always) & (condition.always | no.always)};
  }

  Enclosure compared(const Node &node) {
    const MaybeBounds a = boundsOf(node.operands[0]), b = boundsOf(node.operands[1]);
    if (!a || !b)
      return unknown();
    const Enclosure isLess = {a->low < b->high, a->high < b->low};
    const Enclosure isLessOrEqual = {a->low <= b->high, a->high <= b->low};
    const Enclosure isEqual = {(a->low <= b->high) & (b->low <= a->high),
                               (a->low == a->high) & (b->low == b->high) & (a->low == b->low)};
    if (node.text == "slt")
      return isLess;
    if (node.text == "sle")
      return isLessOrEqual;
    if (node.text == "sgt")
      return opposite(isLessOrEqual);
    if (node.text == "sge")
      return opposite(isLess);
    if (node.text == "eq")
      return isEqual;
    return node.text == "ne" ? opposite(isEqual) : unknown();
  }

  //===-- Gathers ------------------------------------------------------------------------------------------------===//

  /// An element that all elements of a gather are if `isOne`.
  struct Element {
    Value value, isOne;
  };

  std::optional<Element> elementOf(const Node &gather) {
    std::vector<Operand> at;
    Var isOne = truth(true);
    for (size_t index = 1; index < gather.operands.size(); ++index) {
      const MaybeBounds bounds = boundsOf(gather.operands[index]);
      if (!bounds)
        return std::nullopt;
      isOne = isOne & (bounds->low == bounds->high);
      at.emplace_back(bounds->low, where_);
    }
    return Element{r_.view(gather.operands[0]).gatherAt(at), isOne};
  }

  Enclosure gatheredCondition(const Node &node) {
    const std::optional<Element> element = elementOf(node);
    return element ? Enclosure{!element->isOne | element->value, element->isOne & element->value} : unknown();
  }

  MaybeBounds gatheredNumber(const Node &node) {
    const std::optional<Element> element = elementOf(node);
    if (!element)
      return std::nullopt;
    Value number = cast(DType::index, element->value);
    return Bounds{select(element->isOne, number, kLeast), select(element->isOne, number, kLargest)};
  }

  //===-- Integers -----------------------------------------------------------------------------------------------===//

  /// Returns nothing if no bounds are known, and for types whose numbers may wrap beyond what is computed here.
  MaybeBounds boundsOf(NodeId id) {
    return remembered(bounds_, id, MaybeBounds(), [&] { return computed(id); });
  }

  MaybeBounds computed(NodeId id) {
    const Node &node = r_.node(id);
    if (node.type.dtype != i32 && node.type.dtype != DType::index)
      return std::nullopt;
    if (node.type.scalar())
      return Bounds{cast(DType::index, valueOf(id)), cast(DType::index, valueOf(id))};
    if (node.alias)
      return boundsOf(node.alias);
    MaybeBounds bounds = node.operands.empty()   ? leaf(node)
                         : node.op == Op::Gather ? gatheredNumber(node)
                                                 : derived(node);
    return bounds && node.type.dtype == i32 ? withoutWrapping(*bounds) : bounds;
  }

  /// Returns the bounds of all i32 numbers in the place of bounds that no i32 number reaches, because the number wraps.
  static Bounds withoutWrapping(const Bounds &of) {
    Value fits = (of.low >= kLeast) & (of.high <= kLargest);
    return {select(fits, of.low, kLeast), select(fits, of.high, kLargest)};
  }

  MaybeBounds leaf(const Node &node) const {
    if (node.op == Op::Iota)
      return Bounds{number(0), number(node.type.shape[0] - 1)};
    if (node.op != Op::Constant)
      return std::nullopt;
    const Value x = number(static_cast<int64_t>(numberOf(node.text)));
    return Bounds{x, x};
  }

  MaybeBounds derived(const Node &node) {
    switch (node.op) {
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Columns:
    case Op::IndexCast:
      return boundsOf(node.operands[0]);
    case Op::AbsI:
      return absolute(boundsOf(node.operands[0]));
    case Op::Select:
      return selected(conditionOf(node.operands[0]), boundsOf(node.operands[1]), boundsOf(node.operands[2]));
    case Op::ExtUI:
      return ofCondition(node.operands[0]);
    case Op::MulI:
    case Op::DivI:
    case Op::FloorDivI:
    case Op::CeilDivI:
    case Op::RemI:
      if (node.type.dtype == DType::index) // Their bounds are those of 32 bits.
        return std::nullopt;
      [[fallthrough]];
    default:
      return node.operands.size() == 2 ? ofTwo(node.op, boundsOf(node.operands[0]), boundsOf(node.operands[1]))
                                       : std::nullopt;
    }
  }

  static MaybeBounds absolute(const MaybeBounds &a) {
    if (!a)
      return std::nullopt;
    return Bounds{max(max(a->low, -a->high), 0), max(a->high, -a->low)};
  }

  static MaybeBounds selected(const Enclosure &condition, const MaybeBounds &yes, const MaybeBounds &no) {
    if (!yes || !no)
      return std::nullopt;
    const auto choose = [&](Value ofYes, Value ofNo, Value ofBoth) {
      return select(condition.always, ofYes, select(condition.sometimes, ofBoth, ofNo));
    };
    return Bounds{choose(yes->low, no->low, min(yes->low, no->low)),
                  choose(yes->high, no->high, max(yes->high, no->high))};
  }

  MaybeBounds ofCondition(NodeId id) {
    if (r_.type(id).dtype != DType::i1)
      return std::nullopt;
    const Enclosure &condition = conditionOf(id);
    return Bounds{select(condition.always, number(1), number(0)), select(condition.sometimes, number(1), number(0))};
  }

  static MaybeBounds ofTwo(Op op, const MaybeBounds &a, const MaybeBounds &b) {
    if (!a || !b)
      return std::nullopt;
    switch (op) {
    case Op::AddI:
      return Bounds{a->low + b->low, a->high + b->high};
    case Op::SubI:
      return Bounds{a->low - b->high, a->high - b->low};
    case Op::MulI:
      return product(*a, *b);
    case Op::MinI:
      return Bounds{min(a->low, b->low), min(a->high, b->high)};
    case Op::MaxI:
      return Bounds{max(a->low, b->low), max(a->high, b->high)};
    case Op::DivI:
    case Op::FloorDivI:
    case Op::CeilDivI:
      return quotient(op, *a, *b);
    case Op::RemI:
      return remainder(*a, *b);
    default:
      return std::nullopt;
    }
  }

  /// The factors lie within 32 bits, so that 64 bits hold the products.
  static Bounds product(const Bounds &a, const Bounds &b) {
    Value first = a.low * b.low, second = a.low * b.high, third = a.high * b.low, fourth = a.high * b.high;
    return {min(min(first, second), min(third, fourth)), max(max(first, second), max(third, fourth))};
  }

  /// Quotients by one positive number ascend with the dividend.
  static Bounds quotient(Op op, const Bounds &a, const Bounds &b) {
    Value isOne = isOnePositive(b), divisor = max(b.low, 1);
    const auto divide = [&](Value x) {
      return op == Op::DivI ? x / divisor : op == Op::FloorDivI ? floorDiv(x, divisor) : ceilDiv(x, divisor);
    };
    return {select(isOne, divide(a.low), kLeast), select(isOne, divide(a.high), kLargest)};
  }

  /// Remainders by one positive number ascend with the dividend as long as the quotient stays the same.
  static Bounds remainder(const Bounds &a, const Bounds &b) {
    Value isOne = isOnePositive(b), divisor = max(b.low, 1);
    Value ascends = (a.low >= 0) & (a.low / divisor == a.high / divisor);
    Value least = select(ascends, a.low % divisor, select(a.low >= 0, 0, 1 - divisor));
    return {select(isOne, least, kLeast), select(isOne, select(ascends, a.high % divisor, divisor - 1), kLargest)};
  }

  static Value isOnePositive(const Bounds &b) { return (b.low == b.high) & (b.low > 0); }

  Recorder &r_;
  Location where_;
  int depth_ = 0;
  std::unordered_map<NodeId, Enclosure> conditions_;
  std::unordered_map<NodeId, MaybeBounds> bounds_;
};

} // namespace

Enclosure enclose(Value condition, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "enclose", where);
  const Term term = r.use({condition, where});
  const auto unknown = [&] { return Enclosure{constant(DType::i1, 1), constant(DType::i1, 0)}; };
  if (convert.poisoned(term))
    return unknown();
  if (r.type(term.id).dtype != DType::i1) {
    convert.fail(convert.describe(term) + " is no condition (i1)", {term});
    return unknown();
  }
  return Encloser(r, where).conditionOf(term.id);
}

} // namespace tegula
