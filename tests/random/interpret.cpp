// SPDX-License-Identifier: MIT
#include "random/interpret.h"

#include "oracle/philox.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

namespace tegula::random_programs {

namespace {

int64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// A scalar or a tile in C order.
struct Tile {
  Shape shape;
  std::vector<Interval> elements;

  explicit Tile(Shape shape = {}, Interval value = {})
      : shape(std::move(shape)), elements(size_t(count(this->shape)), value) {}
  int64_t whole(int64_t i = 0) const { return static_cast<int64_t>(elements[size_t(i)].lo); }
};

constexpr Interval kFalse{0, 0}, kTrue{1, 1}, kUnknown{0, 1};

Interval less(Interval a, Interval b) { return a.hi < b.lo ? kTrue : a.lo >= b.hi ? kFalse : kUnknown; }
Interval negation(Interval a) { return {1 - a.hi, 1 - a.lo}; }
Interval equal(Interval a, Interval b) {
  return a.isExact() && b.isExact() && a.lo == b.lo ? kTrue : a.hi < b.lo || b.hi < a.lo ? kFalse : kUnknown;
}
Interval select(Interval condition, Interval yes, Interval no) {
  return !condition.isExact() ? hull(yes, no) : condition.lo != 0 ? yes : no;
}

/// Shifts a number of 32 bits. The count is unsigned, and bits that are shifted out are lost.
double shifted(Op op, double x, double count) {
  const auto number = static_cast<int32_t>(x);
  const bool keepsBits = count >= 0 && count < 32;
  const int bits = keepsBits ? static_cast<int>(count) : 31;
  if (op == Op::shiftRight)
    return number >> bits;
  return keepsBits ? static_cast<int32_t>(static_cast<uint32_t>(number) << bits) : 0;
}

/// Scores and values of an OnlineSoftmax, and which of the scores are multiplied by values.
struct Update {
  Tile scores, values, keep;
  DType dtype;
};

/// State that a part of a program may change.
struct State {
  std::map<int, Tile> variables;
  std::map<int, std::vector<Update>> softmaxes;
  std::vector<std::vector<Interval>> memory;
  std::vector<std::vector<Sum>> added; ///< Atomic additions to the elements of each tensor.
};

/// Joins what two sides of a branch may leave, for a condition that rounding decides.
void join(State &state, const State &other) {
  for (auto &[id, tile] : state.variables)
    if (auto found = other.variables.find(id); found != other.variables.end())
      for (size_t i = 0; i < tile.elements.size(); ++i)
        tile.elements[i] = hull(tile.elements[i], found->second.elements[i]);
  for (size_t t = 0; t < state.memory.size(); ++t)
    for (size_t i = 0; i < state.memory[t].size(); ++i)
      state.memory[t][i] = hull(state.memory[t][i], other.memory[t][i]);
  for (size_t t = 0; t < state.added.size(); ++t)
    for (size_t i = 0; i < state.added[t].size(); ++i)
      if (state.added[t][i].terms() != other.added[t][i].terms())
        state.added[t][i].add({-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()});
}

class Interpreter {
public:
  Interpreter(const Case &program, int e4m3SumBits)
      : program_(program), e4m3SumBits_(e4m3SumBits), results_(size_t(program.ids)), dtypes_(size_t(program.ids)) {
    for (const Tensor &tensor : program.tensors) {
      std::vector<Interval> elements;
      for (double x : initialElements(tensor))
        elements.push_back({x, x});
      state_.added.emplace_back(elements.size());
      state_.memory.push_back(std::move(elements));
    }
  }

  std::vector<std::vector<Interval>> run() {
    for (instance_ = 0; instance_ < program_.instances; ++instance_)
      run(program_.body);
    for (size_t t = 0; t < state_.memory.size(); ++t)
      for (size_t i = 0; i < state_.memory[t].size(); ++i)
        if (state_.added[t][i].terms() > 0)
          state_.memory[t][i] = state_.added[t][i].total();
    return std::move(state_.memory);
  }

private:
  void run(const Region &region) {
    for (const Node &node : region)
      run(node);
  }

  void run(const Node &node) {
    switch (node.op) {
    case Op::store:
    case Op::storeWhere:
    case Op::scatter:
    case Op::atomicAdd:
      return write(node);
    case Op::var:
      state_.variables[node.id] = operand(node, 0);
      return;
    case Op::assign:
      state_.variables[node.subject] = operand(node, 0);
      return;
    case Op::loop:
      return loop(node);
    case Op::when:
      return when(node);
    case Op::softmax:
      state_.softmaxes[node.id].clear();
      return;
    case Op::update:
      state_.softmaxes[node.subject].push_back({operand(node, 0), operand(node, 1), kept(node), node.dtype});
      return;
    default:
      results_[size_t(node.id)] = value(node);
      dtypes_[size_t(node.id)] = node.dtype;
    }
  }

  Tile value(const Node &node) {
    switch (node.op) {
    case Op::constant:
    case Op::fill:
      return Tile(node.shape, {node.number, node.number});
    case Op::programId:
      return Tile({}, {double(instance_), double(instance_)});
    case Op::dim: {
      const auto size = double(program_.tensors[size_t(node.tensor)].shape[size_t(node.axis)]);
      return Tile({}, {size, size});
    }
    case Op::iota:
      return each(node.shape, [](const Shape &at) { return Interval{double(at[0]), double(at[0])}; });
    case Op::load:
      return load(node);
    case Op::gather:
      return each(node.shape,
                  [&](const Shape &at) { return element(node, {broadcasted(node, 0, at), broadcasted(node, 1, at)}); });
    case Op::transpose:
      return each(node.shape, [&](const Shape &at) { return at2(operand(node, 0), at[1], at[0]); });
    case Op::asColumn:
    case Op::asRow: {
      Tile tile = operand(node, 0);
      tile.shape = node.shape;
      return tile;
    }
    case Op::columns:
      return each(node.shape,
                  [&](const Shape &at) { return at2(operand(node, 0), at[0], node.first + node.step * at[1]); });
    case Op::join:
    case Op::interleave:
      return joined(node);
    case Op::broadcast:
      return each(node.shape, [&](const Shape &at) { return broadcasted(node, 0, at); });
    case Op::randomByte:
    case Op::randomNumber:
      return each(node.shape, [&](const Shape &at) { return drawn(node, at); });
    case Op::read:
      return state_.variables.at(node.subject);
    case Op::dot:
    case Op::dotOnto:
      return dot(node);
    case Op::sum:
    case Op::largest:
    case Op::smallest:
    case Op::anyAlong:
    case Op::allAlong:
      return reduce(node);
    case Op::cumsum:
      return cumsum(node);
    case Op::any:
      return any(operand(node, 0));
    case Op::output:
      return output(node);
    default:
      return each(node.shape, [&](const Shape &at) { return elementwise(node, at); });
    }
  }

  Tile joined(const Node &node) const {
    const Tile &left = operand(node, 0), &right = operand(node, 1);
    const int64_t ofLeft = left.shape[1];
    return each(node.shape, [&](const Shape &at) {
      if (node.op == Op::interleave)
        return at2(at[1] % 2 == 0 ? left : right, at[0], at[1] / 2);
      return at[1] < ofLeft ? at2(left, at[0], at[1]) : at2(right, at[0], at[1] - ofLeft);
    });
  }

  /// Returns which scores an update multiplies by values.
  Tile kept(const Node &update) const {
    const Shape &shape = operand(update, 0).shape;
    return update.operands.size() < 3 ? Tile(shape, kTrue)
                                      : each(shape, [&](const Shape &at) { return broadcasted(update, 2, at); });
  }

  template <class Function> static Tile each(const Shape &shape, Function function) {
    Tile tile(shape);
    Shape at(shape.size());
    for (Interval &element : tile.elements) {
      element = function(at);
      for (size_t axis = shape.size(); axis-- > 0;) {
        if (++at[axis] < shape[axis])
          break;
        at[axis] = 0;
      }
    }
    return tile;
  }

  const Tile &result(int id) const { return results_[size_t(id)]; }
  const Tile &operand(const Node &node, size_t index) const { return result(node.operands[index]); }
  static Interval at2(const Tile &tile, int64_t row, int64_t column) {
    return tile.elements[size_t(row * tile.shape[1] + column)];
  }

  /// Returns the element of an operand that repeats along dimensions of size 1.
  Interval broadcasted(const Node &node, size_t index, const Shape &at) const {
    const Tile &tile = operand(node, index);
    int64_t place = 0;
    if (tile.elements.size() > 1)
      for (size_t axis = 0; axis < at.size(); ++axis)
        place = place * tile.shape[axis] + (tile.shape[axis] == 1 ? 0 : at[axis]);
    return tile.elements[size_t(place)];
  }

  Interval drawn(const Node &node, const Shape &at) const {
    const oracle::RandomKey key{int64_t(node.number), kRandomOffset, kRandomStream};
    auto position = [&](size_t i) { return static_cast<uint32_t>(int64_t(broadcasted(node, i, at).lo)); };
    const uint32_t row = position(0), column = position(1);
    const double value =
        node.op == Op::randomByte ? oracle::randomByte(key, row, column) : oracle::random(key, row, column);
    return {value, value};
  }

  Interval elementwise(const Node &node, const Shape &at) const {
    Interval x = broadcasted(node, 0, at), y, z;
    if (node.operands.size() > 1)
      y = broadcasted(node, 1, at);
    if (node.operands.size() > 2)
      z = broadcasted(node, 2, at);
    return isFloat(node.dtype) ? onFloats(node, x, y, z) : onIntegers(node, x, y, z);
  }

  static Interval onFloats(const Node &node, Interval x, Interval y, Interval z) {
    constexpr double error = 0x1p-20; // What fast instructions of a GPU guarantee is better.
    switch (node.op) {
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:
      return x * y;
    case Op::div:
      return x / y;
    case Op::min:
      return min(x, y);
    case Op::max:
      return max(x, y);
    case Op::neg:
      return {-x.hi, -x.lo};
    case Op::abs:
      return abs(x);
    case Op::exp:
      return increasing([](double v) { return std::exp(v); }, x, error * (1 + std::abs(x.hi) + std::abs(x.lo)));
    case Op::tanh:
      return increasing([](double v) { return std::tanh(v); }, x, error);
    case Op::sqrt:
      return increasing([](double v) { return std::sqrt(v); }, x, error);
    case Op::log: // The argument is at least 1; near 1 the error is absolute.
      x = increasing([](double v) { return std::log(v); }, x, error);
      return inF32({x.lo - error, x.hi + error});
    case Op::cast:
      return cast(node.dtype, x);
    default:
      return select(x, y, z);
    }
  }

  static Interval onIntegers(const Node &node, Interval x, Interval y, Interval z) {
    auto exactly = [](double value) { return Interval{value, value}; };
    switch (node.op) {
    case Op::add:
      return exactly(x.lo + y.lo);
    case Op::sub:
      return exactly(x.lo - y.lo);
    case Op::mul:
      return exactly(x.lo * y.lo);
    case Op::mod:
      return exactly(y.lo == 0 ? 0 : std::fmod(x.lo, y.lo));
    case Op::shiftLeft:
    case Op::shiftRight:
      return exactly(shifted(node.op, x.lo, y.lo));
    case Op::less:
      return less(x, y);
    case Op::lessEqual:
      return negation(less(y, x));
    case Op::equal:
      return equal(x, y);
    case Op::both:
      return min(x, y);
    case Op::either:
      return max(x, y);
    case Op::negation:
      return negation(x);
    case Op::cast:
      return x;
    default:
      return select(x, y, z);
    }
  }

  /// Returns the place of an element in its tensor; -1 if it is outside.
  int64_t place(const Node &node, Shape at) const {
    const Shape &shape = program_.tensors[size_t(node.tensor)].shape;
    int64_t size = shape[node.perInstance ? 1 : 0];
    if (node.page > 0)
      size = node.page * (node.table < 0 ? size : program_.tensors[size_t(node.table)].shape[0]);
    if (!node.rows.empty()) {
      const int64_t begin = result(node.rows[0]).whole(), end = result(node.rows[1]).whole();
      if (begin < 0 || at[0] < 0 || at[0] >= std::min(end, size) - begin)
        return -1;
      at[0] += begin;
    }
    if (node.page > 0) {
      if (at[0] < 0 || at[0] >= size)
        return -1;
      const int64_t page = at[0] / node.page, row = at[0] % node.page;
      const auto numberAt = [&](int tensor) { // 0 where the tensor ends before.
        const auto &numbers = state_.memory[size_t(tensor)];
        return page < int64_t(numbers.size()) ? int64_t(numbers[size_t(page)].lo) : 0;
      };
      if (node.lengths >= 0 && row >= numberAt(node.lengths))
        return -1;
      at[0] = node.table < 0 ? page : numberAt(node.table);
      at.insert(at.begin() + 1, row);
    }
    if (node.fixed > 0)
      at.insert(at.begin() + node.fixed, node.at);
    if (node.perInstance)
      at.insert(at.begin(), instance_);
    int64_t place = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (at[axis] < 0 || at[axis] >= shape[axis])
        return -1;
      place = place * shape[axis] + at[axis];
    }
    return place;
  }

  Interval element(const Node &node, const std::vector<Interval> &at) const {
    Shape whole;
    for (Interval i : at)
      whole.push_back(static_cast<int64_t>(i.lo));
    const int64_t where = place(node, whole);
    return where < 0 ? Interval{node.number, node.number} : state_.memory[size_t(node.tensor)][size_t(where)];
  }

  /// Returns the position of a load or store; its operands begin with number `first`.
  Shape position(const Node &node, size_t first) const {
    Shape position(node.shape.size());
    for (size_t axis = 0; first + axis < node.operands.size(); ++axis)
      position[axis] = operand(node, first + axis).whole();
    return position;
  }

  Tile load(const Node &node) {
    const Shape begin = position(node, 0);
    return each(node.shape, [&](Shape at) {
      for (size_t axis = 0; axis < at.size(); ++axis)
        at[axis] += begin[axis];
      const int64_t where = place(node, at);
      return where < 0 ? Interval{node.number, node.number} : state_.memory[size_t(node.tensor)][size_t(where)];
    });
  }

  /// Returns the index of the tensor to which a write puts the element `at` of its tile.
  Shape target(const Node &node, const Shape &at) const {
    if (node.op == Op::scatter)
      return {static_cast<int64_t>(broadcasted(node, 1, at).lo), static_cast<int64_t>(broadcasted(node, 2, at).lo)};
    Shape result = position(node, node.op == Op::storeWhere ? 2 : 1);
    for (size_t axis = 0; axis < at.size(); ++axis)
      result[axis] += at[axis];
    return result;
  }

  void write(const Node &node) {
    const auto tensor = size_t(node.tensor);
    size_t next = 0;
    const Tile tile = operand(node, 0);
    each(node.shape, [&](const Shape &at) {
      const Interval value = tile.elements[next++];
      if (const int64_t where = place(node, target(node, at)); where >= 0) {
        Interval &there = state_.memory[tensor][size_t(where)];
        const Interval holds = node.op == Op::storeWhere ? broadcasted(node, 1, at) : kTrue;
        if (node.op == Op::atomicAdd)
          state_.added[tensor][size_t(where)].add(value);
        else
          there = select(holds, cast(program_.tensors[tensor].dtype, value), there);
      }
      return Interval();
    });
  }

  /// Returns an empty sum of products of numbers of this type.
  Sum sumOfProducts(DType dtype) const { return Sum(dtype == e4m3 ? e4m3SumBits_ : formatOf(f32).significantBits); }

  Tile dot(const Node &node) {
    const Tile &a = operand(node, 0), &b = operand(node, 1);
    const DType dtype = dtypes_[size_t(node.operands[0])];
    return each(node.shape, [&](const Shape &at) {
      Sum sum = sumOfProducts(dtype);
      if (node.op == Op::dotOnto)
        sum.add(at2(operand(node, 2), at[0], at[1]));
      for (int64_t k = 0; k < a.shape[1]; ++k)
        sum.addProduct(at2(a, at[0], k), at2(b, k, at[1]));
      return sum.total();
    });
  }

  Tile reduce(const Node &node) {
    const Tile &x = operand(node, 0);
    const auto axis = size_t(node.axis);
    return each(node.shape, [&](Shape at) {
      if (x.shape.size() == 1)
        at.clear();
      at.insert(at.begin() + node.axis, 0);
      Sum sum;
      Interval best;
      for (int64_t i = 0; i < x.shape[axis]; ++i) {
        at[axis] = i;
        const Interval element = x.shape.size() == 1 ? x.elements[size_t(i)] : at2(x, at[0], at[1]);
        sum.add(element);
        const bool isMax = node.op == Op::largest || node.op == Op::anyAlong;
        best = i == 0 ? element : isMax ? max(best, element) : min(best, element);
      }
      return node.op == Op::sum ? sum.total() : best;
    });
  }

  Tile cumsum(const Node &node) {
    Tile result(node.shape);
    const Tile &x = operand(node, 0);
    const auto axis = static_cast<std::ptrdiff_t>(node.axis);
    const int64_t length = node.shape[size_t(axis)];
    const int64_t stride = count({node.shape.begin() + axis + 1, node.shape.end()});
    for (int64_t first = 0; first < count(node.shape); ++first) {
      if (first / stride % length != 0)
        continue;
      Sum sum;
      for (int64_t i = 0; i < length; ++i) {
        const auto place = size_t(first + (node.reverse ? length - 1 - i : i) * stride);
        sum.add(x.elements[place]);
        result.elements[place] = sum.total();
      }
    }
    return result;
  }

  static Tile any(const Tile &condition) {
    Interval result = kFalse;
    for (Interval element : condition.elements)
      result = max(result, element);
    return Tile({}, result);
  }

  Tile output(const Node &node) {
    const std::vector<Update> &updates = state_.softmaxes.at(node.subject);
    return each(node.shape, [&](const Shape &at) { return softmaxElement(updates, at[0], at[1]); });
  }

  /// Returns sum(p v) / sum(p) with p = exp(score - reference), where p is rounded to the type of v.
  static Interval softmaxElement(const std::vector<Update> &updates, int64_t row, int64_t column) {
    double reference = -std::numeric_limits<double>::infinity();
    for (const Update &update : updates)
      for (int64_t k = 0; k < update.scores.shape[1]; ++k)
        reference = std::max(reference, at2(update.scores, row, k).hi);
    if (reference == -std::numeric_limits<double>::infinity())
      return {0, 0};
    Sum weights, weighted;
    for (const Update &update : updates)
      for (int64_t k = 0; k < update.scores.shape[1]; ++k) {
        const Interval score = at2(update.scores, row, k);
        const Interval p = weight(score, reference);
        weights.add(p);
        const FloatFormat format = formatOf(update.dtype);
        const double rounding = std::ldexp(1, -format.significantBits);
        const double tiny = p.hi > 0 ? std::ldexp(1, format.lowest) : 0;
        const Interval narrow{std::max(0.0, p.lo * (1 - rounding) - tiny), p.hi * (1 + rounding) + tiny};
        weighted.addProduct(select(at2(update.keep, row, k), narrow, {0, 0}), at2(update.values, k, column));
      }
    return weighted.total() / weights.total();
  }

  /// Returns exp(score - reference). Scores are multiplied by log2(e) and rounded before the reference is subtracted.
  static Interval weight(Interval score, double reference) {
    auto bound = [&](double x, double sign) {
      if (!std::isfinite(x))
        return std::exp(x - reference);
      return std::exp(x - reference) * (1 + sign * (0x1p-18 + (std::abs(x) + std::abs(reference)) * 0x1p-21));
    };
    return {bound(score.lo, -1), bound(score.hi, 1)};
  }

  void loop(const Node &node) {
    const int64_t begin = operand(node, 0).whole(), end = operand(node, 1).whole(), step = operand(node, 2).whole();
    for (int64_t i = begin; step > 0 && i < end; i += step) {
      results_[size_t(node.id)] = Tile({}, {double(i), double(i)});
      run(node.then);
    }
  }

  void when(const Node &node) {
    const Interval condition = operand(node, 0).elements[0];
    if (condition.isExact())
      return run(condition.lo != 0 ? node.then : node.otherwise);
    State before = state_;
    run(node.then);
    std::swap(before, state_);
    run(node.otherwise);
    join(state_, before);
  }

  const Case &program_;
  int e4m3SumBits_;
  std::vector<Tile> results_;
  std::vector<DType> dtypes_;
  State state_;
  int64_t instance_ = 0;
};

} // namespace

std::vector<double> initialElements(const Tensor &tensor) {
  std::vector<double> elements(size_t(count(tensor.shape)), 0.0);
  std::mt19937 generator(tensor.seed);
  const bool holdsConditions = tensor.dtype == DType::i1;
  if (!tensor.written)
    for (double &x : elements)
      x = isFloat(tensor.dtype) ? (double(generator() % 9) - 4) / 4
          : holdsConditions     ? double(generator() % 3 != 0)
                                : double(generator() % 100) - 3;
  return elements;
}

std::vector<std::vector<Interval>> interpret(const Case &program, int e4m3SumBits) {
  return Interpreter(program, e4m3SumBits).run();
}

} // namespace tegula::random_programs
