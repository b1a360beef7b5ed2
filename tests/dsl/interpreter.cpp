// SPDX-License-Identifier: MIT
#include "interpreter.h"

#include "oracle/philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape &shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

/// Calls `visit` with each index of a tile of `shape`, row-major.
void forEach(const Shape &shape, const std::function<void(const Shape &)> &visit) {
  for (int64_t flat = 0; flat < count(shape); ++flat) {
    Shape index(shape.size());
    int64_t rest = flat;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      index[axis] = rest % shape[axis];
    visit(index);
  }
}

/// Returns the element at `index`, or nullptr if the index is outside.
double *elementOf(Tile &tile, const Shape &index) {
  int64_t flat = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    if (index[axis] < 0 || index[axis] >= tile.shape[axis])
      return nullptr;
    flat = flat * tile.shape[axis] + index[axis];
  }
  return &tile.values[flat];
}

Shape shapeOf(const std::string &type) {
  Shape shape;
  if (type.rfind("tensor<", 0) != 0)
    return shape;
  for (size_t at = 7; std::isdigit(type[at]); at = type.find('x', at) + 1)
    shape.push_back(std::stoll(type.substr(at)));
  return shape;
}

double numberOf(std::string text) {
  if (text.rfind("dense<", 0) == 0)
    text = text.substr(6, text.size() - 7);
  if (text.rfind("0x", 0) == 0)
    return std::bit_cast<float>(static_cast<uint32_t>(std::stoul(text, nullptr, 16)));
  return text == "true" ? 1 : text == "false" ? 0 : std::stod(text);
}

const std::map<std::string, std::function<double(double)>> kUnary = {
    {"arith.negf", [](double x) { return -x; }},          {"math.exp", [](double x) { return std::exp(x); }},
    {"math.exp2", [](double x) { return std::exp2(x); }}, {"math.log", [](double x) { return std::log(x); }},
    {"math.log2", [](double x) { return std::log2(x); }}, {"math.tanh", [](double x) { return std::tanh(x); }},
    {"math.sqrt", [](double x) { return std::sqrt(x); }}, {"math.absf", [](double x) { return std::abs(x); }},
    {"arith.extf", [](double x) { return x; }},           {"arith.truncf", [](double x) { return x; }},
    {"arith.sitofp", [](double x) { return x; }},         {"arith.uitofp", [](double x) { return x; }},
    {"arith.index_cast", [](double x) { return x; }},     {"math.erf", [](double x) { return std::erf(x); }},
    {"math.sin", [](double x) { return std::sin(x); }},   {"math.cos", [](double x) { return std::cos(x); }},
};

const std::map<std::string, std::function<double(double, double)>> kBinary = {
    {"arith.addf", [](double a, double b) { return a + b; }},
    {"arith.addi", [](double a, double b) { return a + b; }},
    {"arith.subf", [](double a, double b) { return a - b; }},
    {"arith.mulf", [](double a, double b) { return a * b; }},
    {"arith.muli", [](double a, double b) { return a * b; }},
    {"arith.divsi", [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }},
    {"arith.divf", [](double a, double b) { return a / b; }},
    {"arith.minnumf", [](double a, double b) { return std::fmin(a, b); }},
    {"arith.maxnumf", [](double a, double b) { return std::fmax(a, b); }},
    {"math.powf", [](double a, double b) { return std::pow(a, b); }},
    {"arith.andi", [](double a, double b) { return double(int64_t(a) & int64_t(b)); }},
    {"arith.shrsi", [](double a, double b) { return double(int64_t(a) >> int64_t(b)); }},
    {"arith.xori", [](double a, double b) { return double(int64_t(a) ^ int64_t(b)); }},
};

bool holds(const std::string &predicate, double a, double b) {
  std::string word = predicate.size() == 3 && predicate != "une" ? predicate.substr(1) : predicate;
  return word == "eq"   ? a == b
         : word == "lt" ? a < b
         : word == "le" ? a <= b
         : word == "gt" ? a > b
         : word == "ge" ? a >= b
                        : a != b;
}

class Interpreter {
public:
  explicit Interpreter(std::map<std::string, Tile> &views) : views_(views) {}

  void line(std::string text) {
    text = text.substr(0, text.find(" loc("));
    std::erase(text, ',');
    std::vector<std::string> words;
    for (auto [at, stream] = std::pair(std::string(), std::istringstream(text)); stream >> at;)
      words.push_back(at);
    if (words.size() < 2 || words[0] == "module" || words[0] == "func.func" || words[0] == "}")
      return;
    bool assigns = words[1] == "=";
    const std::string &op = words[assigns ? 2 : 0];
    Operation operation{op, {words.begin() + (assigns ? 3 : 1), words.end()}, {}, words.back()};
    for (const std::string &word : operation.words)
      addOperands(word, operation.operands);
    Tile result = run(operation);
    if (assigns)
      values_[words[0]] = std::move(result);
  }

private:
  struct Operation {
    std::string name;
    std::vector<std::string> words;
    std::vector<std::string> operands;
    std::string type; // The last type of the line: the result's, unless it is a comparison.
  };

  static void addOperands(const std::string &word, std::vector<std::string> &operands) {
    for (size_t at = word.find('%'); at != std::string::npos; at = word.find('%', at + 1))
      operands.push_back(word.substr(at, word.find_first_of("[]%", at + 1) - at));
  }

  Tile &value(const Operation &op, size_t i) { return values_.at(op.operands.at(i)); }
  Tile &view(const std::string &name) { return views_.at(name.substr(1)); }

  Tile run(const Operation &op) {
    Shape shape = shapeOf(op.type);
    Tile result{shape, std::vector<double>(count(shape))};
    if (auto unary = kUnary.find(op.name); unary != kUnary.end())
      std::transform(value(op, 0).values.begin(), value(op, 0).values.end(), result.values.begin(), unary->second);
    else if (auto binary = kBinary.find(op.name); binary != kBinary.end())
      for (size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = binary->second(value(op, 0).values[i], value(op, 1).values[i]);
    else if (op.name == "arith.cmpf" || op.name == "arith.cmpi")
      for (size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = holds(op.words[0], value(op, 0).values[i], value(op, 1).values[i]);
    else if (op.name == "arith.select")
      for (size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = value(op, value(op, 0).values[i] ? 1 : 2).values[i];
    else if (op.name == "arith.constant")
      std::fill(result.values.begin(), result.values.end(), numberOf(op.words[0]));
    else if (op.name == "tile.iota")
      for (size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = double(i);
    else if (op.name == "tile.random")
      draw(op, result);
    else if (op.name == "tile.reshape")
      result.values = value(op, 0).values;
    else
      structured(op, result);
    return result;
  }

  /// Computes `tile.random seed, offset, stream at row, column bits B rounds R`.
  void draw(const Operation &op, Tile &result) {
    auto whole = [&](size_t operand, size_t i) { return int64_t(value(op, operand).values[i]); };
    const tegula::oracle::RandomKey key{whole(0, 0), whole(1, 0), int32_t(whole(2, 0))};
    const int64_t bits = numberAfter(op, "bits");
    const int rounds = int(numberAfter(op, "rounds"));
    for (size_t i = 0; i < result.values.size(); ++i) {
      const auto row = uint32_t(whole(3, i)), column = uint32_t(whole(4, i));
      // The low eight bits of a word do not matter to random().
      result.values[i] = bits == 8 ? tegula::oracle::randomByte(key, row, column, rounds)
                                   : tegula::oracle::random(key, row, column, rounds) * 0x1p32;
    }
  }

  void structured(const Operation &op, Tile &result) {
    if (op.name == "tile.broadcast")
      forEach(result.shape, [&](Shape index) {
        Shape from = index;
        Tile &source = value(op, 0);
        from.resize(source.shape.size());
        for (size_t axis = 0; axis < from.size(); ++axis)
          from[axis] = std::min(from[axis], source.shape[axis] - 1);
        *elementOf(result, index) = *elementOf(source, from);
      });
    else if (op.name == "tile.transpose")
      forEach(result.shape, [&](const Shape &index) {
        *elementOf(result, index) = *elementOf(value(op, 0), {index[1], index[0]});
      });
    else if (op.name == "tile.reduce")
      sum(op, result);
    else if (op.name == "tile.columns")
      forEach(result.shape, [&](Shape index) {
        double &element = *elementOf(result, index);
        index.back() = numberAfter(op, "from") + numberAfter(op, "step") * index.back();
        element = *elementOf(value(op, 0), index);
      });
    else if (op.name == "tile.join")
      join(op, result);
    else
      memory(op, result);
  }

  /// Returns the number after a word of the line.
  static int64_t numberAfter(const Operation &op, const std::string &word) {
    return std::stoll(*(std::find(op.words.begin(), op.words.end(), word) + 1));
  }

  void join(const Operation &op, Tile &result) {
    const bool interleaves = std::find(op.words.begin(), op.words.end(), "{interleave}") != op.words.end();
    const int64_t left = value(op, 0).shape.back();
    forEach(result.shape, [&](Shape index) {
      double &element = *elementOf(result, index);
      const int64_t column = index.back();
      const int operand = interleaves ? int(column % 2) : int(column >= left);
      index.back() = interleaves ? column / 2 : column - operand * left;
      element = *elementOf(value(op, operand), index);
    });
  }

  void sum(const Operation &op, Tile &result) {
    const auto axis = static_cast<size_t>(numberAfter(op, "axis"));
    forEach(value(op, 0).shape, [&](Shape index) {
      double element = *elementOf(value(op, 0), index);
      index.erase(index.begin() + axis);
      *elementOf(result, index) += element;
    });
  }

  /// Returns the indices of an access whose positions start at operand `first`.
  Shape position(const Operation &op, size_t first, const Shape &index, bool gathers) {
    Shape place;
    for (size_t i = first; i < first + view(op.operands[first - 1]).shape.size(); ++i) {
      Tile &at = value(op, i);
      place.push_back(gathers ? int64_t(*elementOf(at, index)) : int64_t(at.values[0]) + index[i - first]);
    }
    return place;
  }

  void memory(const Operation &op, Tile &result) {
    bool loads = op.name == "tile.load" || op.name == "tile.gather";
    const bool scatters = op.name == "tile.scatter" || op.name == "tile.scatter_add";
    const bool gathers = op.name == "tile.gather" || scatters;
    if (!loads && op.name != "tile.store" && !scatters)
      throw std::runtime_error("the interpreter does not know " + op.name);
    Tile &tensor = view(op.operands[loads ? 0 : 1]);
    Tile &tile = loads ? result : value(op, 0);
    const bool isMasked = std::find(op.words.begin(), op.words.end(), "where") != op.words.end();
    forEach(tile.shape, [&](const Shape &index) {
      if (isMasked && *elementOf(value(op, op.operands.size() - 1), index) == 0)
        return;
      double *there = elementOf(tensor, position(op, loads ? 1 : 2, index, gathers));
      double &here = *elementOf(tile, index);
      if (loads)
        here = there ? *there : 0;
      else if (there)
        *there = here + (op.name == "tile.scatter_add" ? *there : 0);
    });
  }

  std::map<std::string, Tile> &views_;
  std::map<std::string, Tile> values_;
};

} // namespace

void interpret(const std::string &text, std::map<std::string, Tile> &views) {
  Interpreter interpreter(views);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    interpreter.line(line);
}
