// SPDX-License-Identifier: MIT
#include "variant_operations.h"

#include <algorithm>

namespace tegula::variant_text {

std::string_view nameOf(Kind kind) {
  return kind == Kind::number ? "a number" : kind == Kind::integer ? "an integer" : "a condition";
}

Kind kindOf(DType dtype) {
  return isFloat(dtype) ? Kind::number : dtype == DType::i1 ? Kind::condition : Kind::integer;
}

Operand operandOf(const Result &result) {
  return std::visit([](const auto &x) { return Operand(x); }, result);
}

Value valueOf(const Result &result) {
  if (const int64_t *integer = std::get_if<int64_t>(&result))
    return constant(i32, double(*integer));
  if (const double *number = std::get_if<double>(&result))
    return constant(f32, *number);
  if (const bool *condition = std::get_if<bool>(&result))
    return constant(DType::i1, *condition ? 1 : 0);
  return std::get<Value>(result);
}

namespace {

constexpr Operation kOperations[] = {
    {"|", 1, 2, Rule::bits, [](Operands x) { return x[0] | x[1]; }},
    {"^", 2, 2, Rule::bits, [](Operands x) { return x[0] ^ x[1]; }},
    {"&", 3, 2, Rule::bits, [](Operands x) { return x[0] & x[1]; }},
    {"==", 4, 2, Rule::equal, [](Operands x) { return x[0] == x[1]; }},
    {"!=", 4, 2, Rule::equal, [](Operands x) { return x[0] != x[1]; }},
    {"<=", 5, 2, Rule::compared, [](Operands x) { return x[0] <= x[1]; }},
    {"<", 5, 2, Rule::compared, [](Operands x) { return x[0] < x[1]; }},
    {">=", 5, 2, Rule::compared, [](Operands x) { return x[0] >= x[1]; }},
    {">", 5, 2, Rule::compared, [](Operands x) { return x[0] > x[1]; }},
    {"<<", 6, 2, Rule::counts, [](Operands x) { return x[0] << x[1]; }},
    {">>", 6, 2, Rule::counts, [](Operands x) { return x[0] >> x[1]; }},
    {"+", 7, 2, Rule::numbers, [](Operands x) { return x[0] + x[1]; }},
    {"-", 7, 2, Rule::numbers, [](Operands x) { return x[0] - x[1]; }},
    {"*", 8, 2, Rule::numbers, [](Operands x) { return x[0] * x[1]; }},
    {"/", 8, 2, Rule::numbers, [](Operands x) { return x[0] / x[1]; }},
    {"%", 8, 2, Rule::integers, [](Operands x) { return x[0] % x[1]; }},
    {"-", kSign, 1, Rule::numbers, [](Operands x) { return -x[0]; }},
    {"!", kSign, 1, Rule::inverse, [](Operands x) { return x[0] ^ true; }},
    {"floorDiv", 0, 2, Rule::integers, [](Operands x) { return floorDiv(x[0], x[1]); }},
    {"ceilDiv", 0, 2, Rule::integers, [](Operands x) { return ceilDiv(x[0], x[1]); }},
    {"min", 0, 2, Rule::numbers, [](Operands x) { return min(x[0], x[1]); }},
    {"max", 0, 2, Rule::numbers, [](Operands x) { return max(x[0], x[1]); }},
    {"clamp", 0, 3, Rule::numbers, [](Operands x) { return clamp(x[0], x[1], x[2]); }},
    {"abs", 0, 1, Rule::numbers, [](Operands x) { return abs(x[0]); }},
    {"exp", 0, 1, Rule::real, [](Operands x) { return exp(x[0]); }},
    {"exp2", 0, 1, Rule::real, [](Operands x) { return exp2(x[0]); }},
    {"log", 0, 1, Rule::real, [](Operands x) { return log(x[0]); }},
    {"log2", 0, 1, Rule::real, [](Operands x) { return log2(x[0]); }},
    {"tanh", 0, 1, Rule::real, [](Operands x) { return tanh(x[0]); }},
    {"fastTanh", 0, 1, Rule::real, [](Operands x) { return fastTanh(x[0]); }},
    {"sqrt", 0, 1, Rule::real, [](Operands x) { return sqrt(x[0]); }},
    {"rsqrt", 0, 1, Rule::real, [](Operands x) { return rsqrt(x[0]); }},
    {"erf", 0, 1, Rule::real, [](Operands x) { return erf(x[0]); }},
    {"sin", 0, 1, Rule::real, [](Operands x) { return sin(x[0]); }},
    {"cos", 0, 1, Rule::real, [](Operands x) { return cos(x[0]); }},
    {"pow", 0, 2, Rule::real, [](Operands x) { return pow(x[0], x[1]); }},
    {"sigmoid", 0, 1, Rule::real, [](Operands x) { return sigmoid(x[0]); }},
    {"silu", 0, 1, Rule::real, [](Operands x) { return silu(x[0]); }},
    {"gelu", 0, 1, Rule::real, [](Operands x) { return gelu(x[0]); }},
    {"isFinite", 0, 1, Rule::compared, [](Operands x) { return isFinite(x[0]); }},
    {"select", 0, 3, Rule::choice, [](Operands x) { return select(x[0], x[1], x[2]); }},
    {"f32", 0, 1, Rule::toNumber, [](Operands x) { return cast(f32, x[0]); }},
    {"i32", 0, 1, Rule::toInteger, [](Operands x) { return cast(i32, x[0]); }},
    {"i64", 0, 1, Rule::toInteger, [](Operands x) { return cast(i64, x[0]); }},
};

} // namespace

std::span<const Operation> operations() { return kOperations; }

std::string functionWords() {
  std::string words;
  for (const Operation &operation : kOperations)
    if (operation.precedence == 0)
      words += (words.empty() ? "" : ", ") + std::string(operation.word);
  return words;
}

const Operation *findFunction(std::string_view word) {
  for (const Operation &operation : kOperations)
    if (operation.precedence == 0 && operation.word == word)
      return &operation;
  return nullptr;
}

std::optional<Kind> kindOfResult(Rule rule, std::span<const Kind> operands) {
  std::span<const Kind> alike = rule == Rule::choice ? operands.subspan(1) : operands;
  const auto all = [&](Kind kind) { return std::ranges::all_of(alike, [&](Kind operand) { return operand == kind; }); };
  const bool conditions = all(Kind::condition), integers = all(Kind::integer);
  const bool numbers = std::ranges::find(alike, Kind::condition) == alike.end();
  const Kind arithmetic = integers ? Kind::integer : Kind::number;
  switch (rule) {
  case Rule::numbers:
    return numbers ? std::optional(arithmetic) : std::nullopt;
  case Rule::integers:
  case Rule::counts:
    return integers ? std::optional(Kind::integer) : std::nullopt;
  case Rule::bits:
    return integers || conditions ? std::optional(operands[0]) : std::nullopt;
  case Rule::inverse:
    return conditions ? std::optional(Kind::condition) : std::nullopt;
  case Rule::real:
    return numbers ? std::optional(Kind::number) : std::nullopt;
  case Rule::compared:
    return numbers ? std::optional(Kind::condition) : std::nullopt;
  case Rule::equal:
    return numbers || conditions ? std::optional(Kind::condition) : std::nullopt;
  case Rule::choice:
    if (operands[0] != Kind::condition || !(numbers || conditions))
      return std::nullopt;
    return conditions ? Kind::condition : arithmetic;
  case Rule::toNumber:
    return Kind::number;
  case Rule::toInteger:
    return Kind::integer;
  }
  return std::nullopt;
}

std::string_view legalOperands(Rule rule) {
  switch (rule) {
  case Rule::integers:
  case Rule::counts:
    return "integers";
  case Rule::bits:
    return "integers, or conditions";
  case Rule::inverse:
    return "a condition, such as x == 0";
  case Rule::equal:
    return "numbers and integers, or conditions";
  case Rule::choice:
    return "a condition, then numbers and integers, or conditions";
  default:
    return "numbers and integers; select(c, 1, 0) makes an integer of a condition";
  }
}

Value evaluate(const Nodes &nodes, size_t root, const Inputs &inputs) {
  std::vector<bool> isNeeded(root + 1);
  isNeeded[root] = true;
  for (size_t n = root + 1; n-- > 0;)
    if (isNeeded[n])
      for (size_t operand : nodes[n].operands)
        isNeeded[operand] = true;
  std::vector<std::optional<Result>> results(root + 1);
  for (size_t n = 0; n <= root; ++n) {
    if (!isNeeded[n])
      continue;
    std::vector<Result> operands;
    for (size_t operand : nodes[n].operands)
      operands.push_back(*results[operand]);
    results[n].emplace(nodes[n].literal ? *nodes[n].literal : nodes[n].make(inputs, operands));
  }
  return valueOf(*results[root]);
}

} // namespace tegula::variant_text
