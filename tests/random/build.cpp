// SPDX-License-Identifier: MIT
#include "random/build.h"

#include "tegula/dsl.h"

#include <map>
#include <memory>
#include <optional>

namespace tegula::random_programs {

namespace {

/// Records the nodes of a program. Lives while the kernel function runs.
class Builder {
public:
  explicit Builder(const Case &program) : program_(program), values_(size_t(program.ids)) {
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      const Tensor &tensor = program.tensors[i];
      views_.push_back(record_details::parameter(
          TensorArg{"t" + std::to_string(i), tensor.dtype, static_cast<int>(tensor.shape.size())}));
    }
  }

  void run(const Region &region) {
    std::vector<int> declared;
    for (const Node &node : region) {
      run(node);
      if (node.op == Op::var)
        declared.push_back(node.id);
    }
    for (int id : declared)
      variables_.erase(id);
  }

private:
  void run(const Node &node) {
    switch (node.op) {
    case Op::constant:
      if (node.dtype == i32)
        literals_[node.id] = static_cast<int64_t>(node.number);
      else
        values_[size_t(node.id)].emplace(constant(node.dtype, node.number));
      return;
    case Op::store:
      return view(node).store(position(node, 1), operand(node, 0));
    case Op::storeWhere:
      return view(node).storeWhere(operand(node, 1), position(node, 2), operand(node, 0));
    case Op::scatter:
      return view(node).scatter(operand(node, 0), *values_[size_t(node.operands[1])],
                                *values_[size_t(node.operands[2])]);
    case Op::atomicAdd:
      return view(node).atomicAdd(position(node, 1), operand(node, 0));
    case Op::var:
      variables_[node.id] = std::make_unique<Var>(*values_[size_t(node.operands[0])]);
      return;
    case Op::assign:
      *variables_.at(node.subject) = *values_[size_t(node.operands[0])];
      return;
    case Op::loop:
      for (Value i : range(operand(node, 0), operand(node, 1), operand(node, 2))) {
        values_[size_t(node.id)].emplace(i);
        run(node.then);
      }
      return;
    case Op::when:
      if (node.otherwise.empty())
        return tegula::when(operand(node, 0), [&] { run(node.then); });
      return tegula::when(operand(node, 0), [&] { run(node.then); }, [&] { run(node.otherwise); });
    case Op::softmax:
      softmaxes_[node.id] = std::make_unique<OnlineSoftmax>(node.shape[0], node.shape[1]);
      return;
    case Op::update:
      if (node.operands.size() == 3)
        return softmaxes_.at(node.subject)
            ->update(operand(node, 0), operand(node, 1), values_[size_t(node.operands[2])]);
      return softmaxes_.at(node.subject)->update(operand(node, 0), operand(node, 1));
    default:
      values_[size_t(node.id)].emplace(value(node));
    }
  }

  Value value(const Node &node) {
    switch (node.op) {
    case Op::programId:
      return tegula::programId(0);
    case Op::dim:
      return views_[size_t(node.tensor)].dim(node.axis);
    case Op::iota:
      return tegula::iota(node.shape[0]);
    case Op::fill:
      return tegula::fill(node.shape, node.number);
    case Op::load:
      return view(node).load(position(node, 0), node.shape, node.number);
    case Op::gather:
      return view(node).gather(*values_[size_t(node.operands[0])], *values_[size_t(node.operands[1])]);
    case Op::randomByte:
      return randomBytes(keyOf(node), operand(node, 0), operand(node, 1));
    case Op::randomNumber:
      return random(keyOf(node), operand(node, 0), operand(node, 1));
    case Op::read:
      return *variables_.at(node.subject);
    case Op::output:
      return softmaxes_.at(node.subject)->output();
    default:
      break;
    }
    const Operand x = operand(node, 0);
    return node.operands.size() == 1   ? unary(node, x)
           : node.operands.size() == 2 ? binary(node.op, x, operand(node, 1))
           : node.op == Op::dotOnto    ? dot(x, operand(node, 1), operand(node, 2))
                                       : select(x, operand(node, 1), operand(node, 2));
  }

  static RandomKey keyOf(const Node &node) { return {int64_t(node.number), kRandomOffset, kRandomStream}; }

  Value unary(const Node &node, Operand x) {
    switch (node.op) {
    case Op::transpose:
      return transpose(x);
    case Op::asColumn:
      return asColumn(x);
    case Op::asRow:
      return asRow(x);
    case Op::broadcast:
      return broadcast(x, node.shape);
    case Op::columns:
      return columns(x, node.first, node.first + node.step * (node.shape.back() - 1) + 1, node.step);
    case Op::neg:
      return -x;
    case Op::abs:
      return abs(x);
    case Op::exp:
      return exp(x);
    case Op::tanh:
      return tanh(x);
    case Op::sqrt:
      return sqrt(x);
    case Op::log:
      return log(x);
    case Op::cast:
      return cast(node.dtype, x);
    case Op::negation:
      return !*values_[size_t(node.operands[0])];
    case Op::sum:
      return reduceSum(x, node.axis);
    case Op::largest:
      return reduceMax(x, node.axis);
    case Op::smallest:
      return reduceMin(x, node.axis);
    case Op::anyAlong:
      return any(x, node.axis);
    case Op::allAlong:
      return all(x, node.axis);
    case Op::cumsum:
      return cumsum(x, node.axis, node.reverse);
    default:
      return any(x);
    }
  }

  static Value binary(Op op, Operand x, Operand y) {
    switch (op) {
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:
      return x * y;
    case Op::div:
      return x / y;
    case Op::mod:
      return x % y;
    case Op::shiftLeft:
      return x << y;
    case Op::shiftRight:
      return x >> y;
    case Op::min:
      return min(x, y);
    case Op::max:
      return max(x, y);
    case Op::less:
      return x < y;
    case Op::lessEqual:
      return x <= y;
    case Op::equal:
      return x == y;
    case Op::join:
      return joinColumns(x, y);
    case Op::interleave:
      return interleaveColumns(x, y);
    case Op::both:
      return x & y;
    case Op::either:
      return x | y;
    default:
      return dot(x, y);
    }
  }

  View inPages(const Node &node, View pool) {
    if (node.page == 0)
      return pool;
    const int page = static_cast<int>(node.page);
    if (node.table < 0)
      return packed(pool, page);
    const View &table = views_[size_t(node.table)];
    return node.lengths < 0 ? paged(pool, table, page) : paged(pool, table, views_[size_t(node.lengths)], page);
  }
  View view(const Node &node) {
    View whole = views_[size_t(node.tensor)];
    View own = node.perInstance ? whole.at(tegula::programId(0)) : whole;
    View part = inPages(node, node.fixed > 0 ? own.atAxis(node.fixed, node.at) : own);
    return node.rows.empty() ? part : part.rows(result(node.rows[0]), result(node.rows[1]));
  }
  Operand operand(const Node &node, size_t index) const { return result(node.operands[index]); }
  Operand result(int id) const {
    if (auto literal = literals_.find(id); literal != literals_.end())
      return literal->second;
    return *values_[size_t(id)];
  }
  Position position(const Node &node, size_t first) const {
    if (node.operands.size() == first + 1)
      return Position(operand(node, first));
    return Position({operand(node, first), operand(node, first + 1)});
  }

  const Case &program_;
  std::vector<View> views_;
  std::vector<std::optional<Value>> values_;
  std::map<int, int64_t> literals_;
  std::map<int, std::unique_ptr<Var>> variables_;
  std::map<int, std::unique_ptr<OnlineSoftmax>> softmaxes_;
};

} // namespace

Expected<Program> build(const Case &program) {
  return record("random_program", [&] { Builder(program).run(program.body); });
}

} // namespace tegula::random_programs
