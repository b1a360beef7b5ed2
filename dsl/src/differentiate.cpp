// SPDX-License-Identifier: MIT
// Reverse-mode differentiation of recorded elementwise expressions.
//
// The derivative is finite wherever the expression and its true derivative are. A rule multiplies the adjoint by a
// partial derivative, and 0 times an infinity would be NaN. In 1 / (1 + exp(-x)), for example, exp(-x) overflows for
// x < -88, where the adjoint of the division is 0. Only operations that hide an infinity or NaN of an operand, such as
// a division by infinity, leave such a partial derivative in an expression that is finite. Below them, a product with
// an adjoint of 0 is therefore 0, whatever the partial derivative is (Enzyme calls this "strong zero"). Elsewhere the
// product needs no test, because the expression is not finite either.
#include "convert.h"
#include "dependence.h"
#include "tegula/view.h"
#include "text.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace tegula {
namespace {

class Differentiator {
public:
  Differentiator(Recorder &r, NodeId input, std::span<const ViewGradient> gathered, Location where)
      : r_(r), input_(input), where_(where) {
    for (const ViewGradient &pair : gathered)
      gradients_.emplace(r.use(pair.view, where), pair.gradient);
  }

  NodeId run(NodeId output, NodeId seed) {
    active(output);
    adjoint_[output] = seed;
    exposed_.insert(output);
    for (auto id = postorder_.rbegin(); id != postorder_.rend(); ++id)
      if (*id != input_)
        propagate(*id);
    auto found = adjoint_.find(input_);
    return found != adjoint_.end() ? found->second : number(0.0, r_.type(input_).shape, where_);
  }

private:
  /// Returns true if the input, or an element that has a gradient, flows into a node. Appends such nodes to postorder_,
  /// operands first.
  bool active(NodeId root) {
    std::vector<std::pair<NodeId, size_t>> path = {{root, 0}};
    while (!path.empty()) {
      auto &[id, next] = path.back();
      if (active_.count(id)) {
        path.pop_back();
        continue;
      }
      std::vector<NodeId> sources = sourcesOf(id);
      if (next < sources.size()) {
        NodeId source = sources[next++];
        path.push_back({source, 0});
        continue;
      }
      bool any = id == input_ || gathers(id);
      for (NodeId source : sources)
        any |= active_[source];
      NodeId done = id;
      path.pop_back();
      active_[done] = any;
      if (any)
        postorder_.push_back(done);
    }
    return active_[root];
  }

  bool gathers(NodeId id) const {
    const Node &node = r_.node(id);
    return node.op == Op::Gather && isFloat(node.type.dtype) && gradients_.count(listed(node.operands[0]));
  }

  /// Returns the view that has a gradient and of which `view` is a part, or 0.
  NodeId listed(NodeId view) const {
    while (!gradients_.count(view) && makesView(r_.node(view).op))
      view = r_.node(view).operands[0];
    return gradients_.count(view) ? view : 0;
  }

  /// Returns the part of the gradient that corresponds to `view`, which is a part of `whole`.
  NodeId counterpart(NodeId view, NodeId whole, NodeId gradient) {
    if (view == whole)
      return gradient;
    const Node &part = r_.node(view);
    std::vector<NodeId> operands = part.operands;
    operands[0] = counterpart(operands[0], whole, gradient);
    return r_.pure(part.op, {f32, {}, part.type.view_rank}, std::move(operands), part.where, {}, part.number);
  }

  /// Returns the nodes from which a node's value is computed, also through loops and branches.
  std::vector<NodeId> sourcesOf(NodeId id) const {
    const Node &node = r_.node(id);
    if (id == input_ || node.op == Op::Gather)
      return {};
    if (node.alias)
      return {node.alias};
    const Carried *carried = r_.graph().carried(id);
    if (!carried)
      return node.operands;
    std::vector<NodeId> sources = {carried->initial};
    for (NodeId yielded : carried->yielded)
      if (node.op == Op::Result && yielded)
        sources.push_back(yielded);
    return sources;
  }

  // Emission. Each node gets the line of the operation that is differentiated.

  /// Broadcasts the scalar `x` to the shape of `g`. The adjoint of a scalar that is repeated to a tile is a tile of
  /// size 1; scalars that are combined with it must become such tiles.
  NodeId beside(NodeId g, NodeId x, Location where) {
    return Converter(r_, "differentiate", where).broadcast(x, r_.type(g).shape);
  }
  NodeId make(Op op, std::vector<NodeId> operands, Location where) {
    for (NodeId &operand : operands)
      operand = beside(operands[0], operand, where);
    Type type = r_.type(operands[0]);
    return r_.pure(op, type, std::move(operands), where);
  }
  NodeId number(double value, const Shape &shape, Location where) {
    Term literal{.kind = Term::Kind::Floating, .floating = value, .made = where};
    return Converter(r_, "differentiate", where).constant(f32, literal, shape);
  }
  NodeId times(NodeId g, double factor, Location where) {
    return make(Op::MulF, {g, number(factor, r_.type(g).shape, where)}, where);
  }
  NodeId where(NodeId condition, NodeId yes, NodeId no, Location line) {
    return r_.pure(Op::Select, r_.type(yes), {beside(yes, condition, line), yes, no}, line);
  }
  NodeId zero(NodeId like, Location where) { return number(0.0, r_.type(like).shape, where); }
  NodeId compare(NodeId a, NodeId b, const char *predicate, Location where) {
    return r_.pure(Op::CompareF, {DType::i1, r_.type(a).shape}, {a, b}, where, predicate);
  }

  /// Returns the number that every element of a node is, if it is a constant.
  std::optional<double> constantOf(NodeId id) const {
    const Node *node = &r_.node(id);
    while (node->op == Op::Broadcast || node->op == Op::Reshape)
      node = &r_.node(node->operands[0]);
    if (node->op != Op::Constant || node->type.dtype != f32)
      return std::nullopt;
    return numberOf(node->text);
  }

  /// Returns true if no element can be NaN or an infinity.
  bool alwaysFinite(NodeId id) const {
    Op op = r_.node(id).op;
    std::optional<double> number = constantOf(id);
    return op == Op::IntToFloat || op == Op::ConditionToFloat || (number && std::isfinite(*number));
  }

  /// Returns `product`, which has the factor g, but 0 where g is 0.
  NodeId zeroWhereZero(NodeId g, NodeId product, Location at) {
    NodeId zeros = zero(g, at);
    return where(compare(g, zeros, "oeq", at), zeros, product, at);
  }

  /// Returns g * partial for the adjoint g of the node `of`. The result is 0 where g is 0, even if the partial
  /// derivative is not finite.
  NodeId product(NodeId g, NodeId partial, NodeId of) {
    Location at = r_.node(of).where;
    NodeId result = make(Op::MulF, {g, partial}, at);
    return exposed_.count(of) || alwaysFinite(partial) ? result : zeroWhereZero(g, result, at);
  }

  /// Returns g / divisor, and 0 where g is 0.
  NodeId quotient(NodeId g, NodeId divisor, NodeId of) {
    Location at = r_.node(of).where;
    NodeId result = make(Op::DivF, {g, divisor}, at);
    bool isNumber = constantOf(divisor).value_or(0) != 0;
    return exposed_.count(of) || isNumber ? result : zeroWhereZero(g, result, at);
  }

  /// Returns g / x for the adjoint g of the logarithm `of`. Halves, because a GPU computes 1 / x as 0 from 2^126 on,
  /// but no other quotient.
  NodeId slopeOfLog(NodeId g, NodeId x, NodeId of) {
    Location at = r_.node(of).where;
    return quotient(times(g, 0.5, at), times(x, 0.5, at), of);
  }

  /// Returns true if the operation can be finite although this operand is NaN or an infinity.
  static bool hides(Op op, size_t operand) {
    switch (op) {
    case Op::DivF:
      return operand == 1;
    case Op::MinF:
    case Op::MaxF:
    case Op::Select:
    case Op::Exp:
    case Op::Exp2:
    case Op::Tanh:
    case Op::FastTanh:
    case Op::Erf:
    case Op::Pow:
      return true;
    default:
      return false;
    }
  }

  /// Marks the operands of an exposed node that are exposed, too. A node is exposed if the output is not finite where
  /// the node is not.
  void expose(NodeId id) {
    if (!exposed_.count(id))
      return;
    std::vector<NodeId> sources = sourcesOf(id);
    for (size_t i = 0; i < sources.size(); ++i)
      if (!hides(r_.node(id).op, i))
        exposed_.insert(sources[i]);
  }

  void add(NodeId target, NodeId gradient, Location where) {
    if (!active_[target])
      return;
    auto [found, fresh] = adjoint_.emplace(target, gradient);
    if (!fresh)
      found->second = make(Op::AddF, {found->second, gradient}, where);
  }

  void propagate(NodeId id) {
    auto found = adjoint_.find(id);
    if (found == adjoint_.end())
      return;
    const Node &node = r_.node(id);
    NodeId g = found->second;
    expose(id);
    if (node.alias)
      add(node.alias, g, node.where);
    else if (node.op == Op::Gather)
      scatter(node, g);
    else if (!arithmetic(node, id, g) && !function(node, id, g) && !rearrangement(node, g))
      refuse(node);
  }

  bool arithmetic(const Node &node, NodeId id, NodeId g) {
    NodeId a = node.operands.empty() ? 0 : node.operands[0], b = node.operands.size() > 1 ? node.operands[1] : 0;
    Location at = node.where;
    switch (node.op) {
    case Op::AddF:
      add(a, g, at);
      add(b, g, at);
      return true;
    case Op::SubF:
      add(a, g, at);
      if (active_[b])
        add(b, make(Op::NegF, {g}, at), at);
      return true;
    case Op::MulF:
      if (active_[a])
        add(a, product(g, b, id), at);
      if (active_[b])
        add(b, product(g, a, id), at);
      return true;
    case Op::DivF: {
      NodeId ratio = quotient(g, b, id);
      add(a, ratio, at);
      if (active_[b])
        add(b, make(Op::NegF, {product(ratio, id, id)}, at), at);
      return true;
    }
    case Op::Pow:
      power(id, a, b, g);
      return true;
    case Op::MinF:
    case Op::MaxF: {
      NodeId chosen = compare(id, a, "oeq", at); // False if a is NaN, which is not chosen.
      if (active_[a])
        add(a, where(chosen, g, zero(g, at), at), at);
      if (active_[b])
        add(b, where(chosen, zero(g, at), g, at), at);
      return true;
    }
    case Op::Select:
      if (active_[b])
        add(b, where(a, g, zero(g, at), at), at);
      if (active_[node.operands[2]])
        add(node.operands[2], where(a, zero(g, at), g, at), at);
      return true;
    default:
      return false;
    }
  }

  /// Adds the adjoint of a function of one number.
  bool function(const Node &node, NodeId y, NodeId g) {
    NodeId x = node.operands.empty() ? 0 : node.operands[0];
    Location at = node.where;
    switch (node.op) {
    case Op::NegF:
      g = make(Op::NegF, {g}, at);
      break;
    case Op::Exp:
      g = product(g, y, y);
      break;
    case Op::Exp2:
      g = times(product(g, y, y), std::numbers::ln2, at);
      break;
    case Op::Log:
      g = slopeOfLog(g, x, y);
      break;
    case Op::Log2:
      g = times(slopeOfLog(g, x, y), std::numbers::log2e, at);
      break;
    case Op::Tanh:
    case Op::FastTanh: {
      NodeId one = number(1.0, r_.type(y).shape, at);
      g = product(g, make(Op::SubF, {one, make(Op::MulF, {y, y}, at)}, at), y);
      break;
    }
    case Op::Sqrt:
      // The derivative is infinite at 0, where the function is finite.
      g = zeroWhereZero(g, make(Op::DivF, {times(g, 0.5, at), y}, at), at);
      break;
    case Op::Erf: {
      NodeId exponent = make(Op::NegF, {make(Op::MulF, {x, x}, at)}, at);
      g = product(times(g, 2 / std::sqrt(std::numbers::pi), at), make(Op::Exp, {exponent}, at), y);
      break;
    }
    case Op::Sin:
      g = product(g, make(Op::Cos, {x}, at), y);
      break;
    case Op::Cos:
      g = make(Op::NegF, {product(g, make(Op::Sin, {x}, at), y)}, at);
      break;
    case Op::AbsF: {
      NodeId origin = zero(x, at), negative = make(Op::NegF, {g}, at);
      NodeId notAbove = where(compare(x, origin, "olt", at), negative, zero(g, at), at);
      g = where(compare(x, origin, "ogt", at), g, notAbove, at);
      break;
    }
    case Op::ExtF:
    case Op::TruncF:
      break; // Adjoints are f32, whatever dtype the value has.
    default:
      // Conversions from integers and conditions, and comparisons, are piecewise constant.
      return node.op == Op::IntToFloat || node.op == Op::ConditionToFloat || !isFloat(node.type.dtype);
    }
    add(x, g, at);
    return true;
  }

  /// Adds the adjoints of id = x^y. The derivative by x is infinite at x = 0 if y < 1, and y = 0 makes it 0. That by y
  /// is 0 at x = 0, where log(x) is infinite.
  void power(NodeId id, NodeId x, NodeId y, NodeId g) {
    Location at = r_.node(id).where;
    if (active_[x]) {
      NodeId lower = make(Op::Pow, {x, minusOne(y, at)}, at);
      NodeId factor = make(Op::MulF, {g, y}, at);
      add(x, zeroWhereZero(factor, make(Op::MulF, {factor, lower}, at), at), at);
    }
    if (active_[y]) {
      NodeId factor = product(g, id, id);
      add(y, zeroWhereZero(factor, make(Op::MulF, {factor, make(Op::Log, {x}, at)}, at), at), at);
    }
  }

  /// Returns y - 1, as a constant if y is one.
  NodeId minusOne(NodeId y, Location at) {
    const Shape &shape = r_.type(y).shape;
    if (std::optional<double> exponent = constantOf(y))
      return number(*exponent - 1, shape, at);
    return make(Op::SubF, {y, number(1.0, shape, at)}, at);
  }

  bool rearrangement(const Node &node, NodeId g) {
    NodeId source = node.operands.empty() ? 0 : node.operands[0];
    Converter convert(r_, "differentiate", node.where);
    switch (node.op) {
    case Op::Broadcast:
      add(source, sumTo(convert, g, r_.type(source).shape), node.where);
      return true;
    case Op::Reshape:
      add(source, convert.reshape(g, r_.type(source).shape), node.where);
      return true;
    case Op::Cumsum:
      add(source,
          r_.pure(Op::Cumsum, {f32, node.type.shape}, {g}, node.where, node.text.empty() ? " {reverse}" : "",
                  node.number),
          node.where);
      return true;
    case Op::Transpose: {
      Shape inverse = inversePermutation(node);
      add(source, r_.pure(Op::Transpose, {f32, r_.type(source).shape}, {g}, node.where, listText(inverse)), node.where);
      return true;
    }
    case Op::Columns:
      return columns(node, g);
    case Op::Join:
      join(node, g);
      return true;
    default:
      return false;
    }
  }

  NodeId columnsOf(NodeId x, int64_t first, int64_t step, int64_t count, Location at) {
    Type type = r_.type(x);
    type.shape.back() = count;
    return r_.pure(Op::Columns, std::move(type), {x}, at, std::to_string(step), first);
  }
  NodeId joined(NodeId left, NodeId right, bool interleaves, Location at) {
    Type type = r_.type(left);
    type.shape.back() += r_.type(right).shape.back();
    return r_.pure(Op::Join, std::move(type), {left, right}, at, interleaves ? " {interleave}" : "");
  }
  /// Returns `x` with `before` columns of zeros before it and `after` columns after it.
  NodeId padded(NodeId x, int64_t before, int64_t after, Location at) {
    auto zeros = [&](int64_t columns) {
      Shape shape = r_.type(x).shape;
      shape.back() = columns;
      return number(0.0, shape, at);
    };
    NodeId left = before > 0 ? joined(zeros(before), x, /*interleaves=*/false, at) : x;
    return after > 0 ? joined(left, zeros(after), /*interleaves=*/false, at) : left;
  }

  /// Adds the adjoint of taking columns: zeros in the other columns. Returns false for steps above 2.
  bool columns(const Node &node, NodeId g) {
    const NodeId source = node.operands[0];
    const int64_t first = node.number, step = std::stoll(node.text), count = node.type.shape.back(),
                  size = r_.type(source).shape.back();
    if (step > 2)
      return false;
    if (step == 1) {
      add(source, padded(g, first, size - first - count, node.where), node.where);
      return true;
    }
    // Pairs of a column and zeros. The last pair may reach beyond the source.
    const int64_t begin = first - first % 2, end = begin + 2 * count;
    NodeId zeros = zero(g, node.where);
    NodeId pairs = first % 2 == 0 ? joined(g, zeros, /*interleaves=*/true, node.where)
                                  : joined(zeros, g, /*interleaves=*/true, node.where);
    if (end > size)
      pairs = columnsOf(pairs, 0, 1, size - begin, node.where);
    add(source, padded(pairs, begin, size - end, node.where), node.where);
    return true;
  }

  /// Adds the adjoints of the parts: their columns.
  void join(const Node &node, NodeId g) {
    const bool interleaves = !node.text.empty();
    const NodeId left = node.operands[0], right = node.operands[1];
    const int64_t ofLeft = r_.type(left).shape.back(), ofRight = r_.type(right).shape.back();
    const Location at = node.where;
    const NodeId dleft = columnsOf(g, 0, interleaves ? 2 : 1, ofLeft, at);
    const NodeId dright = columnsOf(g, interleaves ? 1 : ofLeft, interleaves ? 2 : 1, ofRight, at);
    add(left, dleft, at);
    add(right, dright, at);
  }

  /// Returns the adjoint of repeating a tile or a scalar: the sum over its repetitions.
  NodeId sumTo(const Converter &convert, NodeId g, const Shape &shape) {
    if (shape.empty())
      return convert.reshape(sumTo(convert, g, Shape(r_.type(g).shape.size(), 1)), {1});
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Shape kept = r_.type(g).shape;
      if (kept[axis] == shape[axis])
        continue;
      Shape left = kept;
      left.erase(left.begin() + axis);
      kept[axis] = 1;
      if (left.empty())
        return convert.reshape(reduceVector(convert, g), shape);
      g = convert.reshape(r_.pure(Op::Reduce, {f32, left}, {g}, convert.where, "add", axis), kept);
    }
    return g;
  }

  NodeId reduceVector(const Converter &convert, NodeId g) {
    NodeId row = convert.reshape(g, {1, r_.type(g).shape[0]});
    return r_.pure(Op::Reduce, {f32, {1}}, {row}, convert.where, "add", 1);
  }

  static Shape inversePermutation(const Node &transpose) {
    Shape inverse(transpose.type.shape.size());
    size_t axis = 0;
    for (char c : transpose.text)
      if (c >= '0' && c <= '9')
        inverse[c - '0'] = axis++;
    return inverse;
  }

  void scatter(const Node &gather, NodeId g) {
    NodeId view = listed(gather.operands[0]);
    Converter convert(r_, "differentiate", where_);
    NodeId gradient = r_.use(gradients_.at(view), where_);
    if (r_.poisoned(gradient))
      return;
    Type wanted{f32, {}, r_.type(view).view_rank};
    if (r_.type(gradient) != wanted) {
      convert.fail("the gradient of " + describe(r_.type(view)) + " is " + describe(r_.type(gradient)) +
                   "; it must be " + describe(wanted));
      return;
    }
    const Shape shape = r_.type(g).scalar() ? Shape{1} : r_.type(g).shape;
    std::vector<NodeId> operands = {convert.broadcast(g, shape), counterpart(gather.operands[0], view, gradient)};
    for (size_t index = 1; index < gather.operands.size(); ++index)
      operands.push_back(convert.broadcast(gather.operands[index], shape));
    r_.effect(Op::ScatterAdd, std::move(operands), gather.where);
  }

  void refuse(const Node &node) {
    r_.fail(node.where,
            "differentiate: " + nameOf(node) +
                " depends on the input, but only elementwise operations and cumsum can be differentiated",
            {{where_, "differentiated here"}});
  }

  Recorder &r_;
  NodeId input_;
  Location where_;
  std::unordered_map<NodeId, View> gradients_;
  std::unordered_map<NodeId, bool> active_;
  std::unordered_set<NodeId> exposed_;
  std::unordered_map<NodeId, NodeId> adjoint_;
  std::vector<NodeId> postorder_;
};

} // namespace

Value differentiate(Value output, Value input, Value seed, std::span<const ViewGradient> gathered, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "differentiate", where);
  Term y = r.use({output, where}), x = r.use({input, where}), g = r.use({seed, where});
  Type type{f32, r.type(x.id).shape};
  if (convert.poisoned({y, x, g}))
    return r.value(r.poison(type), where);
  const Type &seedType = r.type(g.id);
  bool floats = isFloat(r.type(x.id).dtype) && isFloat(r.type(y.id).dtype) && isFloat(seedType.dtype);
  if (!floats || r.type(y.id).shape != type.shape || (!seedType.scalar() && seedType.shape != type.shape))
    return r.value(convert.fail("output is " + convert.describe(y) + ", input " + convert.describe(x) + " and seed " +
                                    convert.describe(g) + "; they must be floating-point and of one shape",
                                {y, x, g}, type),
                   where);
  Differentiator differentiator(r, x.id, gathered, where);
  return r.value(differentiator.run(y.id, convert.to(g, f32, type.shape)), where);
}

} // namespace tegula
