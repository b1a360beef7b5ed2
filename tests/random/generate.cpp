// SPDX-License-Identifier: MIT
#include "random/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::random_programs {

namespace {

constexpr int kMaxDots = 5, kMaxNodes = 70, kMaxLoopDepth = 2;

/// A result that later operations may use.
struct Known {
  int id = -1;
  DType dtype = f32;
  Shape shape = {};
  double bound = 1; ///< Elements are at most about this large.
};

/// Draws one of the legal schedules of a GPU.
Schedule drawSchedule(Choices &choices, bool hopper) {
  Schedule schedule;
  schedule.num_warps = choices.of({4, 4, 4, 8, 8, 1, 2, 12, 16});
  schedule.num_stages = choices.of({2, 1, 3, 4});
  schedule.instances_per_sm = choices.of({1, 1, 1, 2});
  const bool hasRoles = hopper && choices.chance(60);
  if (hasRoles) {
    schedule.roles = Roles::load;
    schedule.overlap = choices.of({Overlap::none, Overlap::pingpong});
    schedule.optimistic_softmax = choices.chance(30);
    schedule.add_by_tma = choices.chance(30);
  }
  if (!hasRoles || schedule.overlap == Overlap::pingpong)
    schedule.lhs_in_registers = choices.chance(40);
  return schedule;
}

class Generator {
public:
  explicit Generator(Choices &choices) : c_(choices) {}

  Case make() {
    case_.sm90 = drawSchedule(c_, true);
    case_.sm80 = drawSchedule(c_, false);
    case_.sm80.num_warps = std::min(case_.sm80.num_warps, 8);
    case_.interleaving = c_.below(1000);
    drawSizes();
    regions_.push_back(&case_.body);
    const Known instance = emit({.op = Op::programId, .dtype = DType::index});
    first_ = emit({.op = Op::mul, .dtype = DType::index, .operands = {instance.id, whole(case_.blockRows)}});
    positions_.push_back(first_);
    statements(0);
    finish();
    regions_.pop_back();
    return std::move(case_);
  }

private:
  // Types, sizes and tensors.

  DType anyNarrow() { return c_.of({bf16, f16, e4m3}); }
  /// Returns the narrow type of most of the program's tiles, or another one.
  DType narrowType() { return c_.chance(80) ? small_ : anyNarrow(); }

  void drawSizes() {
    small_ = anyNarrow();
    const uint32_t style = c_.below(10);
    if (style < 5)
      sizes_ = {16, 32, 64};
    else if (style < 8)
      sizes_ = {64, 32, 64, 16, 128};
    else
      sizes_ = {16, 8, 24, 5, 48, 1, 13, 33};
    case_.blockRows = c_.chance(50) ? std::min(16 * case_.sm90.num_warps, 128) : size();
    if (style >= 8 && c_.chance(50))
      case_.blockRows = size();
    case_.instances = c_.of({1, 2, 2, 3});
  }

  int64_t size() { return sizes_[c_.below(uint32_t(sizes_.size()))]; }

  /// Returns the size of a tensor that holds some tiles of `tile` elements.
  int64_t extent(int64_t tile) {
    return c_.of<int64_t>({tile, 2 * tile, std::max<int64_t>(2 * tile - 3, 0), tile + 7, 37, 1, 0});
  }

  /// Returns an input tensor that can hold tiles of this shape: an old or a new one.
  int input(DType dtype, const Shape &tile) {
    std::vector<int> fitting;
    for (size_t i = 0; i < case_.tensors.size(); ++i)
      if (const Tensor &t = case_.tensors[i]; !t.written && t.dtype == dtype && t.shape.size() == tile.size())
        fitting.push_back(int(i));
    if (!fitting.empty() && (fitting.size() >= 3 || c_.chance(50)))
      return fitting[c_.below(uint32_t(fitting.size()))];
    Shape shape;
    for (int64_t s : tile)
      shape.push_back(extent(s));
    return addTensor({.dtype = dtype, .shape = shape});
  }

  int addTensor(Tensor tensor) {
    tensor.seed = unsigned(case_.tensors.size()) + 1;
    case_.tensors.push_back(std::move(tensor));
    return int(case_.tensors.size()) - 1;
  }

  // Nodes.

  Known emit(Node node, double bound = 1) {
    node.id = case_.ids++;
    Known known{node.id, node.dtype, node.shape, bound};
    regions_.back()->push_back(std::move(node));
    return known;
  }
  /// Emits a node and lets later statements use it.
  Known keep(const Known &known) {
    scope_.push_back(known);
    return known;
  }

  int whole(int64_t number) { return emit({.op = Op::constant, .dtype = i32, .number = double(number)}).id; }
  Known number(double x) { return emit({.op = Op::constant, .dtype = f32, .number = x}, std::abs(x)); }

  bool isFull() const { return case_.ids > kMaxNodes; }

  Known binary(Op op, const Known &a, const Known &b, double bound) {
    Node node{.op = op, .operands = {a.id, b.id}};
    node.shape = common(a.shape, b.shape);
    return emit(std::move(node), bound);
  }
  static Shape common(const Shape &a, const Shape &b) {
    if (a.empty() || b.empty())
      return a.empty() ? b : a;
    Shape shape;
    for (size_t i = 0; i < a.size(); ++i)
      shape.push_back(a[i] == 1 ? b[i] : a[i]);
    return shape;
  }
  Known castTo(DType dtype, const Known &x) {
    if (x.dtype == dtype)
      return x;
    return emit({.op = Op::cast, .dtype = dtype, .shape = x.shape, .operands = {x.id}}, x.bound);
  }
  Known scaledDown(const Known &x, double limit) {
    if (x.bound <= limit)
      return x;
    const double factor = std::exp2(std::floor(std::log2(limit / x.bound)));
    return binary(Op::mul, x, number(factor), x.bound * factor);
  }

  // Positions and masks.

  Known position() {
    const uint32_t which = c_.below(uint32_t(positions_.size()) + 1);
    if (which < positions_.size()) {
      const Known &base = positions_[positions_.size() - 1 - which];
      if (!c_.chance(10))
        return base;
      return emit({.op = Op::add, .dtype = DType::index, .operands = {base.id, whole(c_.of({1, 8, -5, 16}))}});
    }
    return {whole(0), i32, {}};
  }

  /// Returns i32 [n]: base + 0, 1, 2, ...
  Known numbers(int64_t n, const Known &base) {
    const Known zeroUp = emit({.op = Op::iota, .dtype = i32, .shape = {n}});
    return emit({.op = Op::add, .dtype = i32, .shape = {n}, .operands = {zeroUp.id, base.id}});
  }
  /// Returns i32 [n]: the numbers, which may be shifted by any counts, modulo `divisor`.
  Known scattered(Known numbers, int divisor) {
    const int64_t n = numbers.shape[0];
    if (c_.chance(40)) {
      const Known count = c_.chance(50) ? this->numbers(n, position()) : shiftCount();
      numbers = emit({.op = c_.of({Op::shiftLeft, Op::shiftRight}),
                      .dtype = i32,
                      .shape = {n},
                      .operands = {numbers.id, count.id}});
    }
    return emit({.op = Op::mod, .dtype = i32, .shape = {n}, .operands = {numbers.id, whole(divisor)}});
  }
  /// Returns a scalar. A literal must be less than the number of bits.
  Known shiftCount() {
    if (c_.chance(50))
      return {whole(c_.of({1, 0, 4, 31})), i32, {}};
    return sizeOfDimension(c_.of({8, 31}));
  }
  Known asMatrix(const Known &x, bool row) {
    const int64_t n = x.shape[0];
    return emit({.op = row ? Op::asRow : Op::asColumn,
                 .dtype = x.dtype,
                 .shape = row ? Shape{1, n} : Shape{n, 1},
                 .operands = {x.id}},
                x.bound);
  }
  Known compare(Op op, const Known &a, const Known &b) {
    return emit({.op = op, .dtype = DType::i1, .shape = common(a.shape, b.shape), .operands = {a.id, b.id}});
  }
  /// Returns the size of a dimension, or a literal if there are no inputs.
  Known sizeOfDimension() { return sizeOfDimension(c_.of({32, 48, 100})); }
  Known sizeOfDimension(int otherwise) {
    std::vector<int> inputs;
    for (size_t i = 0; i < case_.tensors.size(); ++i)
      if (!case_.tensors[i].written)
        inputs.push_back(int(i));
    if (inputs.empty())
      return {whole(otherwise), i32, {}};
    const int tensor = inputs[c_.below(uint32_t(inputs.size()))];
    const auto rank = uint32_t(case_.tensors[size_t(tensor)].shape.size());
    return emit({.op = Op::dim, .dtype = DType::index, .tensor = tensor, .axis = int(c_.below(rank))});
  }

  /// Returns a condition that broadcasts to a matrix [m, n].
  Known mask(int64_t m, int64_t n, int depth) {
    switch (c_.below(depth > 0 ? 9 : 6)) {
    case 0:
      return compare(Op::less, asMatrix(numbers(n, position()), true), sizeOfDimension());
    case 1:
      return compare(Op::lessEqual, asMatrix(numbers(n, position()), true), asMatrix(numbers(m, position()), false));
    case 2: {
      const Known numbered = numbers(m, position());
      const Known rest = scattered(numbered, c_.of({2, 3, 7}));
      return compare(Op::equal, asMatrix(rest, false), {whole(c_.of({0, 1})), i32, {}});
    }
    case 3:
      return compare(Op::less, asMatrix(numbers(m, position()), false), sizeOfDimension());
    case 4:
      return compare(Op::less, drawn(Op::randomByte, m, n), {whole(c_.of({128, 230, 1})), i32, {}});
    case 5:
      return load(DType::i1, {m, n});
    case 6:
      return compare(Op::less, matrix(f32, m, n, depth - 1), number(c_.of({0.0, 0.3, -0.7})));
    case 7: {
      const int axis = c_.chance(70) ? 1 : 0;
      const int64_t other = size(), left = axis == 1 ? m : n;
      Known tested = mask(axis == 1 ? m : other, axis == 1 ? other : n, depth - 1);
      const Shape whole = axis == 1 ? Shape{m, other} : Shape{other, n};
      tested = emit({.op = Op::broadcast, .dtype = DType::i1, .shape = whole, .operands = {tested.id}});
      Node node{.op = c_.of({Op::anyAlong, Op::allAlong}), .dtype = DType::i1, .shape = {left}};
      node.operands = {tested.id};
      node.axis = axis;
      return asMatrix(emit(std::move(node)), axis == 0);
    }
    default: {
      const Known a = mask(m, n, depth - 1), b = mask(m, n, depth - 1);
      const Known joined = compare(c_.of({Op::both, Op::either}), a, b);
      if (c_.chance(70))
        return joined;
      return emit({.op = Op::negation, .dtype = DType::i1, .shape = joined.shape, .operands = {joined.id}});
    }
    }
  }

  /// Returns random numbers [m, n], whose rows may lie along either dimension.
  Known drawn(Op op, int64_t m, int64_t n) {
    Known row = asMatrix(numbers(m, position()), false), column = asMatrix(numbers(n, position()), true);
    if (c_.chance(30))
      std::swap(row, column);
    Node node{.op = op, .dtype = op == Op::randomByte ? i32 : f32, .shape = {m, n}, .operands = {row.id, column.id}};
    node.number = c_.of({3, -1});
    return emit(std::move(node), op == Op::randomByte ? 255 : 1);
  }

  // Tiles.

  /// Returns a result of this type that exists already.
  const Known *existing(DType dtype, const Shape &shape) {
    std::vector<const Known *> fitting;
    for (const Known &known : scope_)
      if (known.dtype == dtype && known.shape == shape)
        fitting.push_back(&known);
    return fitting.empty() ? nullptr : fitting[fitting.size() - 1 - c_.below(uint32_t(fitting.size()))];
  }
  Known readOf(const Known &variable) {
    return emit({.op = Op::read, .dtype = variable.dtype, .shape = variable.shape, .subject = variable.id},
                variable.bound);
  }

  /// Lets some nodes see only rows whose ends the device computes, and which may be outside the tensor.
  void chooseRows(Node &node) {
    if (!c_.chance(12))
      return;
    const Known begin = c_.chance(60) ? position() : Known{whole(c_.of({1, 7, 16, -2})), i32, {}};
    const Known end = c_.chance(60) ? sizeOfDimension() : Known{whole(c_.of({20, 5, 100, 33})), i32, {}};
    node.rows = {begin.id, end.id};
  }

  /// Lets a node see a tensor, whose other dimensions are those of `shape`, at an index of a dimension after the first.
  void fixAxis(Node &node, Shape &shape) {
    if (!c_.chance(40))
      return;
    node.fixed = c_.below(2) == 0 ? 1 : static_cast<int>(shape.size());
    node.at = c_.of<int64_t>({0, 1, 1, 2});
    shape.insert(shape.begin() + node.fixed, 2);
  }

  /// Lets a node read a tensor that can hold tiles of its shape, sometimes through pages. The table then has places
  /// that the tensor does not have, and the same place several times.
  void chooseInput(Node &node) {
    if (node.dtype == DType::i1 || !c_.chance(10)) {
      node.tensor = input(node.dtype, node.shape);
      return chooseRows(node);
    }
    node.page = c_.of({4, 16, 5, 32});
    Shape shape = {c_.of<int64_t>({3, 7}), node.page + c_.of<int64_t>({0, 0, 3, -1})};
    for (size_t axis = 1; axis < node.shape.size(); ++axis)
      shape.push_back(extent(node.shape[axis]));
    fixAxis(node, shape);
    node.tensor = addTensor({.dtype = node.dtype, .shape = shape});
    node.table = c_.chance(70) ? input(i32, {4}) : -1;
    node.lengths = node.table >= 0 && c_.chance(40) ? input(i32, {4}) : -1;
    chooseRows(node);
  }

  Known load(DType dtype, const Shape &shape) {
    Node node{.op = Op::load, .dtype = dtype, .shape = shape};
    chooseInput(node);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      node.operands.push_back(axis == 0 || c_.chance(25) ? position().id : whole(0));
    node.number = c_.chance(10) ? 1 : 0;
    const Known loaded = emit(std::move(node));
    return c_.chance(60) ? keep(loaded) : loaded;
  }

  Known gather(DType dtype, int64_t m, int64_t n) {
    Known rows = numbers(m, position());
    if (c_.chance(30))
      rows = load(i32, {m});
    else if (c_.chance(50)) {
      rows = emit({.op = Op::mul, .dtype = i32, .shape = {m}, .operands = {rows.id, whole(7)}});
      rows = scattered(rows, 37);
    }
    const Known columns = numbers(n, {whole(0), i32, {}});
    const int row = asMatrix(rows, false).id, column = asMatrix(columns, true).id;
    Node node{.op = Op::gather, .dtype = dtype, .shape = {m, n}, .operands = {row, column}};
    chooseInput(node);
    return emit(std::move(node));
  }

  Known vector(int64_t n, int depth) {
    if (const Known *known = c_.chance(30) ? existing(f32, {n}) : nullptr)
      return *known;
    const bool isLeaf = depth <= 0 || isFull();
    switch (c_.below(isLeaf ? 2 : 5)) {
    case 0:
      return load(f32, {n});
    case 1: {
      const Known counted = castTo(f32, numbers(n, {whole(0), i32, {}}));
      return binary(Op::mul, counted, number(1.0 / 64), double(n) / 64);
    }
    case 2:
    case 3: {
      const int axis = c_.chance(70) ? 1 : 0;
      const int64_t other = size();
      const Known x = matrix(f32, axis == 1 ? n : other, axis == 1 ? other : n, depth - 1);
      const Op op = c_.of({Op::sum, Op::largest, Op::smallest});
      const double bound = op == Op::sum ? x.bound * double(other) : x.bound;
      return scaledDown(emit({.op = op, .dtype = f32, .shape = {n}, .operands = {x.id}, .axis = axis}, bound), 16);
    }
    default:
      return elementwise(vector(n, depth - 1), depth - 1);
    }
  }

  /// Returns a float operand that broadcasts to `shape`.
  Known companion(const Shape &shape, int depth) {
    switch (c_.below(5)) {
    case 0:
      return number(c_.of({0.5, 2.0, -1.0, 0.125}));
    case 1:
      if (shape.size() == 2)
        return asMatrix(vector(shape[0], depth), false);
      return vector(shape[0], depth);
    case 2:
      if (shape.size() == 2)
        return asMatrix(vector(shape[1], depth), true);
      return vector(shape[0], depth);
    default:
      return shape.size() == 2 ? matrix(f32, shape[0], shape[1], depth) : vector(shape[0], depth);
    }
  }

  Known unary(Op op, const Known &x, double bound) {
    return emit({.op = op, .dtype = f32, .shape = x.shape, .operands = {x.id}}, bound);
  }
  Known onePlusAbs(const Known &x) { return binary(Op::add, unary(Op::abs, x, x.bound), number(1), x.bound + 1); }

  Known cumsum(const Known &x) {
    const int axis = x.shape.size() == 2 && c_.chance(60) ? 1 : 0;
    Node node{.op = Op::cumsum, .dtype = f32, .shape = x.shape, .operands = {x.id}, .axis = axis};
    node.reverse = c_.chance(40);
    return scaledDown(emit(std::move(node), x.bound * double(x.shape[size_t(axis)])), 16);
  }

  /// Returns a function of x and perhaps of another tile, in the shape of x.
  Known elementwise(const Known &x, int depth) {
    switch (c_.below(12)) {
    case 0: {
      const Known y = companion(x.shape, depth);
      return scaledDown(binary(c_.of({Op::add, Op::sub}), x, y, x.bound + y.bound), 16);
    }
    case 1:
    case 2: {
      const Known y = companion(x.shape, depth);
      return scaledDown(binary(Op::mul, x, y, x.bound * y.bound), 16);
    }
    case 3: {
      const Known y = companion(x.shape, depth);
      return binary(c_.of({Op::max, Op::min}), x, y, std::max(x.bound, y.bound));
    }
    case 4:
      return binary(Op::div, x, onePlusAbs(companion(x.shape, depth)), x.bound);
    case 5:
      return unary(Op::neg, x, x.bound);
    case 6:
      return unary(Op::exp, scaledDown(x, 2), 8);
    case 7:
      return unary(Op::tanh, x, 1);
    case 8:
      return unary(Op::sqrt, onePlusAbs(x), x.bound + 1);
    case 9:
      return unary(Op::log, onePlusAbs(x), x.bound + 1);
    case 10:
      return cumsum(x);
    default:
      return castTo(f32, castTo(narrowType(), x));
    }
  }

  Known dot(int64_t m, int64_t n, int depth) {
    ++dots_;
    const DType dtype = c_.chance(90) ? narrowType() : f32;
    const int64_t k = size();
    const Known a = matrix(dtype, m, k, depth - 1), b = matrix(dtype, k, n, depth - 1);
    Node node{.op = Op::dot, .dtype = f32, .shape = {m, n}, .operands = {a.id, b.id}};
    double bound = double(k) * a.bound * b.bound;
    if (c_.chance(20)) {
      const Known onto = matrix(f32, m, n, depth - 1);
      node.op = Op::dotOnto;
      node.operands.push_back(onto.id);
      bound += onto.bound;
    }
    const Known product = emit(std::move(node), bound);
    const Known scaled = scaledDown(product, 16);
    return c_.chance(50) ? keep(scaled) : scaled;
  }

  Known leaf(DType dtype, int64_t m, int64_t n) {
    if (const Known *known = c_.chance(40) ? existing(dtype, {m, n}) : nullptr)
      return *known;
    if (dtype != f32 || c_.chance(40))
      return load(dtype, {m, n});
    if (c_.chance(10))
      return drawn(Op::randomNumber, m, n);
    if (c_.chance(15))
      return emit({.op = Op::fill, .dtype = f32, .shape = {m, n}, .number = 0.5});
    return castTo(f32, load(narrowType(), {m, n}));
  }

  Known matrix(DType dtype, int64_t m, int64_t n, int depth) {
    if (depth <= 0 || isFull())
      return leaf(dtype, m, n);
    return dtype == f32 ? wide(m, n, depth) : narrow(dtype, m, n, depth);
  }

  Known narrow(DType dtype, int64_t m, int64_t n, int depth) {
    const uint32_t kind = c_.below(12);
    if (kind == 11)
      return castTo(dtype, matrix(anyNarrow(), m, n, depth - 1));
    if (kind == 10 && n <= 128)
      return columns(dtype, m, n, depth);
    if (kind < 4)
      return leaf(dtype, m, n);
    if (kind < 6)
      return transposed(dtype, m, n, depth);
    if (kind == 6)
      return gather(dtype, m, n);
    return castTo(dtype, scaledDown(wide(m, n, depth), 4));
  }

  Known transposed(DType dtype, int64_t m, int64_t n, int depth) {
    const Known x = matrix(dtype, n, m, depth - 1);
    return emit({.op = Op::transpose, .dtype = dtype, .shape = {m, n}, .operands = {x.id}}, x.bound);
  }

  /// Returns n columns of a matrix that has more, or two matrices that are joined to n columns.
  Known columns(DType dtype, int64_t m, int64_t n, int depth) {
    if (n > 1 && c_.chance(50)) {
      const bool interleaves = n % 2 == 0 && c_.chance(50);
      const int64_t left = n % 2 == 0 && c_.chance(60) ? n / 2 : 1 + c_.below(uint32_t(n) - 1);
      const int64_t ofLeft = interleaves ? n / 2 : left;
      const Known a = matrix(dtype, m, ofLeft, depth - 1), b = matrix(dtype, m, n - ofLeft, depth - 1);
      Node node{.op = interleaves ? Op::interleave : Op::join, .dtype = dtype, .shape = {m, n}};
      node.operands = {a.id, b.id};
      return emit(std::move(node), std::max(a.bound, b.bound));
    }
    Node node{.op = Op::columns, .dtype = dtype, .shape = {m, n}};
    node.step = c_.of({1, 1, 2, 3});
    node.first = c_.of<int64_t>({0, n, 1, 5});
    const int64_t last = node.first + node.step * (n - 1);
    const int64_t size = c_.chance(50) ? std::max(last + 1, 2 * n) : last + 1 + c_.below(4);
    const Known x = matrix(dtype, m, size, depth - 1);
    node.operands = {x.id};
    return emit(std::move(node), x.bound);
  }

  Known wide(int64_t m, int64_t n, int depth) {
    const uint32_t kind = c_.below(13);
    if (kind == 0)
      return leaf(f32, m, n);
    if (kind < 5 && dots_ < kMaxDots)
      return dot(m, n, depth);
    switch (kind) {
    case 5:
      return transposed(f32, m, n, depth);
    case 6: {
      const bool row = c_.chance(50);
      const Known x = asMatrix(vector(row ? n : m, depth - 1), row);
      return emit({.op = Op::broadcast, .dtype = f32, .shape = {m, n}, .operands = {x.id}}, x.bound);
    }
    case 7:
    case 8: {
      const Known condition = mask(m, n, depth - 1);
      const Known yes = matrix(f32, m, n, depth - 1);
      const Known no = c_.chance(50) ? number(0) : matrix(f32, m, n, depth - 1);
      return emit({.op = Op::select, .dtype = f32, .shape = {m, n}, .operands = {condition.id, yes.id, no.id}},
                  std::max(yes.bound, no.bound));
    }
    case 9:
      for (size_t i = variables_.size(); i-- > 0;)
        if (variables_[i].shape == Shape{m, n})
          return readOf(variables_[i]);
      return elementwise(matrix(f32, m, n, depth - 1), depth - 1);
    case 12:
      if (n <= 128)
        return columns(f32, m, n, depth);
      [[fallthrough]];
    default:
      return elementwise(matrix(f32, m, n, depth - 1), depth - 1);
    }
  }

  Known anyTile(int depth) {
    const int64_t rows = c_.chance(70) ? case_.blockRows : size();
    return c_.chance(80) ? matrix(f32, rows, size(), depth) : vector(rows, depth);
  }

  // Statements.

  void statements(int loops) {
    do
      statement(loops);
    while (c_.chance(55) && !isFull());
  }

  void statement(int loops) {
    switch (c_.below(10)) {
    case 0:
    case 1:
      write(anyTile(3));
      return;
    case 2:
      keep(anyTile(3));
      return;
    case 3:
      return when(loops);
    case 4:
      if (variables_.empty())
        break;
      return assign(variables_[c_.below(uint32_t(variables_.size()))]);
    case 5:
      if (loops < kMaxLoopDepth)
        return softmax();
      break;
    default:
      if (loops < kMaxLoopDepth)
        return loop(loops);
    }
    write(anyTile(2));
  }

  /// Makes a region by calling `make`. What it makes is unknown after it.
  template <class Function> Region region(Function make) {
    const size_t known = scope_.size(), variables = variables_.size(), positions = positions_.size();
    Region made;
    regions_.push_back(&made);
    make();
    regions_.pop_back();
    scope_.resize(known);
    variables_.resize(variables);
    positions_.resize(positions);
    return made;
  }

  /// Returns a literal, or a number that only the device knows, which may be 0 or negative.
  int loopStep() {
    if (c_.chance(85))
      return whole(std::max<int64_t>(16, size()));
    return emit({.op = Op::mul, .dtype = DType::index, .operands = {position().id, whole(16)}}).id;
  }
  /// Emits a loop over positions whose body `make` makes.
  template <class Function> void loopOver(Function make) {
    const int step = loopStep();
    const bool fromOuter = c_.chance(15) && !positions_.empty();
    const int begin = fromOuter ? position().id : whole(0);
    const Known end = c_.chance(70) ? sizeOfDimension() : Known{whole(c_.of({32, 64, 0, 70, 128})), i32, {}};
    Node node{.op = Op::loop, .dtype = DType::index, .operands = {begin, end.id, step}};
    node.id = case_.ids++;
    node.then = region([&] {
      positions_.push_back({node.id, DType::index, {}});
      make();
    });
    regions_.back()->push_back(std::move(node));
  }

  void loop(int loops) {
    const size_t outer = variables_.size();
    do
      declare();
    while (variables_.size() < outer + 2 && c_.chance(30));
    const size_t inner = variables_.size();
    loopOver([&] {
      if (c_.chance(40))
        statements(loops + 1);
      for (size_t i = outer; i < inner; ++i)
        assign(variables_[i]);
    });
    for (size_t i = outer; i < inner; ++i)
      keep(readOf(variables_[i]));
  }

  void declare() {
    const Known first =
        c_.chance(80) ? emit({.op = Op::fill, .dtype = f32, .shape = tileShape(), .number = 0}) : anyTile(1);
    const Known variable = emit({.op = Op::var, .dtype = f32, .shape = first.shape, .operands = {first.id}}, 16);
    variables_.push_back(variable);
  }
  Shape tileShape() {
    const int64_t rows = c_.chance(80) ? case_.blockRows : size();
    return c_.chance(80) ? Shape{rows, size()} : Shape{rows};
  }

  void assign(const Known &variable) {
    const Known old = readOf(variable);
    const Known next = update(old);
    emit({.op = Op::assign, .dtype = f32, .shape = old.shape, .operands = {next.id}, .subject = variable.id});
  }

  Known update(const Known &old) {
    const bool isMatrix = old.shape.size() == 2;
    if (isMatrix && c_.chance(60) && dots_ < kMaxDots) {
      ++dots_;
      const int64_t k = size();
      const Known a = matrix(small_, old.shape[0], k, 3), b = matrix(small_, k, old.shape[1], 3);
      return emit({.op = Op::dotOnto, .dtype = f32, .shape = old.shape, .operands = {a.id, b.id, old.id}}, 16);
    }
    const Known x = isMatrix ? matrix(f32, old.shape[0], old.shape[1], 3) : vector(old.shape[0], 3);
    switch (c_.below(3)) {
    case 0:
      return binary(Op::add, old, x, 16);
    case 1:
      return binary(Op::max, old, x, 16);
    default:
      return binary(Op::add, binary(Op::mul, old, number(0.5), 8), x, 16);
    }
  }

  /// Returns an i1 scalar.
  Known scalarCondition() {
    if (c_.chance(40)) {
      const Known condition = mask(size(), size(), 1);
      return emit({.op = Op::any, .dtype = DType::i1, .operands = {condition.id}});
    }
    const Known base = positions_[c_.below(uint32_t(positions_.size()))];
    return compare(c_.of({Op::less, Op::equal}), base, {whole(c_.of({1, 0, 16, 33})), i32, {}});
  }

  void when(int loops) {
    const Known condition = scalarCondition();
    Node node{.op = Op::when, .dtype = DType::i1, .operands = {condition.id}};
    auto side = [&] {
      if (!variables_.empty() && c_.chance(70))
        assign(variables_[c_.below(uint32_t(variables_.size()))]);
      else
        statement(std::max(loops, kMaxLoopDepth - 1));
    };
    node.then = region(side);
    if (c_.chance(40))
      node.otherwise = region(side);
    node.id = case_.ids++;
    regions_.back()->push_back(std::move(node));
  }

  void softmax() {
    const int64_t m = case_.blockRows, n = size(), d = size();
    const DType weights = sizeOf(small_) == 2 ? small_ : c_.of({bf16, f16}); // The language takes no narrower ones.
    const Known state = emit({.op = Op::softmax, .dtype = f32, .shape = {m, d}});
    loopOver([&] {
      Known scores = c_.chance(70) && dots_ < kMaxDots ? dot(m, n, 2) : matrix(f32, m, n, 2);
      if (c_.chance(60)) {
        const Known seen = mask(m, n, 0);
        const Known hidden =
            emit({.op = Op::constant, .dtype = f32, .number = -std::numeric_limits<double>::infinity()});
        scores = emit({.op = Op::select, .dtype = f32, .shape = {m, n}, .operands = {seen.id, scores.id, hidden.id}});
      }
      const Known values = matrix(weights, n, d, 2);
      Node update{.op = Op::update, .dtype = weights, .operands = {scores.id, values.id}, .subject = state.id};
      if (c_.chance(30))
        update.operands.push_back(mask(m, n, 0).id);
      emit(std::move(update));
    });
    keep(emit({.op = Op::output, .dtype = f32, .shape = {m, d}, .subject = state.id}));
  }

  /// Writes a tile so that no other instance writes to the same elements.
  void write(const Known &tile) {
    if (c_.chance(25))
      return add(tile);
    if (tile.shape.size() == 2 && c_.chance(15))
      return scatter(tile);
    Node node{.op = Op::store, .dtype = f32, .shape = tile.shape, .operands = {tile.id}};
    const DType dtype = c_.of({f32, narrowType()});
    Shape shape;
    for (int64_t s : tile.shape)
      shape.push_back(extent(s));
    node.perInstance = tile.shape[0] != case_.blockRows || c_.chance(15);
    if (node.perInstance) {
      shape.insert(shape.begin(), case_.instances);
      for (size_t axis = 0; axis < tile.shape.size(); ++axis)
        node.operands.push_back(position().id);
    } else {
      node.operands.push_back(first_.id);
      if (tile.shape.size() == 2)
        node.operands.push_back(position().id);
    }
    node.tensor = addTensor({.dtype = dtype, .shape = shape, .written = true});
    if (node.perInstance)
      chooseRows(node);
    Node again = node;
    if (tile.shape.size() == 2 && c_.chance(15)) {
      node.op = Op::storeWhere;
      node.operands.insert(node.operands.begin() + 1, mask(tile.shape[0], tile.shape[1], 1).id);
    }
    emit(std::move(node));
    if (c_.chance(15))
      readBack(std::move(again), dtype, tile.bound);
  }

  /// Returns i32 [n], base + 0, 1, 2, ... in another order or with gaps, but without repetition.
  Known places(int64_t n, const Known &base) {
    const Known counted = numbers(n, base);
    auto with = [&](Op op, int a, int b) { return emit({.op = op, .dtype = i32, .shape = {n}, .operands = {a, b}}); };
    switch (c_.below(4)) {
    case 0:
      return with(Op::mul, counted.id, whole(c_.of({2, 3})));
    case 1:
      return with(Op::sub, whole(n - 1), counted.id);
    case 2:
      return with(Op::sub, counted.id, whole(c_.of({1, 5})));
    default:
      return counted;
    }
  }

  /// Writes the elements of a matrix to other rows and columns, no two of them to one place.
  void scatter(const Known &tile) {
    Node node{.op = Op::scatter, .dtype = f32, .shape = tile.shape};
    Shape shape{extent(tile.shape[0]), extent(tile.shape[1])};
    node.perInstance = tile.shape[0] != case_.blockRows || c_.chance(15);
    const Known zero{whole(0), i32, {}};
    const Known rows = places(tile.shape[0], node.perInstance ? zero : castTo(i32, first_));
    const Known columns = places(tile.shape[1], zero);
    node.operands = {tile.id, asMatrix(rows, false).id, asMatrix(columns, true).id};
    if (node.perInstance)
      shape.insert(shape.begin(), case_.instances);
    node.tensor = addTensor({.dtype = c_.of({f32, narrowType()}), .shape = shape, .written = true});
    if (node.perInstance)
      chooseRows(node);
    emit(std::move(node));
  }

  /// Loads what a store has written.
  void readBack(Node store, DType dtype, double bound) {
    store.op = Op::load;
    store.dtype = dtype;
    store.operands.erase(store.operands.begin());
    keep(castTo(f32, emit(std::move(store), bound)));
  }

  void add(const Known &tile) {
    Node node{.op = Op::atomicAdd, .dtype = f32, .shape = tile.shape, .operands = {tile.id}};
    Shape shape;
    for (int64_t s : tile.shape) {
      shape.push_back(extent(s));
      node.operands.push_back(position().id);
    }
    node.tensor = addTensor({.dtype = f32, .shape = shape, .written = true});
    chooseRows(node);
    emit(std::move(node));
  }

  /// Stores what the program has computed, so that nothing of it is dropped.
  void finish() {
    const std::vector<Known> known = scope_;
    for (const Known &tile : known)
      if (tile.dtype == f32 && !tile.shape.empty() && c_.chance(60))
        write(tile);
    if (known.empty())
      write(anyTile(1));
  }

  Choices &c_;
  Case case_;
  DType small_ = bf16;
  std::vector<int64_t> sizes_;
  std::vector<Region *> regions_;
  std::vector<Known> scope_, variables_, positions_;
  Known first_;
  int dots_ = 0;
};

} // namespace

Case generate(Choices &choices) { return Generator(choices).make(); }

} // namespace tegula::random_programs
