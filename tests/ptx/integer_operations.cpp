// SPDX-License-Identifier: MIT
// Integer arithmetic. 128 bits hold each product and each quotient exactly.
#include "ptx/operations.h"

#include <algorithm>
#include <map>

namespace tegula::ptx_fuzz {

__extension__ using Wide = __int128;

namespace {

using Binary = Wide (*)(Wide, Wide);

Wide add(Wide x, Wide y) { return x + y; }
Wide subtract(Wide x, Wide y) { return x - y; }
Wide multiply(Wide x, Wide y) { return x * y; }
Wide divide(Wide x, Wide y) { return y == 0 ? Wide(-1) : x / y; }
Wide remainder(Wide x, Wide y) { return y == 0 ? x : x % y; }
Wide smaller(Wide x, Wide y) { return std::min(x, y); }
Wide larger(Wide x, Wide y) { return std::max(x, y); }
Wide magnitude(Wide x, Wide) { return x < 0 ? -x : x; }
Wide negate(Wide x, Wide) { return -x; }

const std::map<std::string, std::pair<unsigned, Binary>> kArithmetic = {
    {"add", {2, add}},       {"sub", {2, subtract}}, {"div", {2, divide}},
    {"rem", {2, remainder}}, {"min", {2, smaller}},  {"max", {2, larger}},
    {"abs", {1, magnitude}}, {"neg", {1, negate}},   {"mul.lo", {2, multiply}}};

Wide exact(uint64_t bits, Type type) { return type.isSigned() ? Wide(signExtend(bits, type.bits)) : Wide(bits); }

/// The upper half of a product, which `unsigned` 128-bit arithmetic holds even for u64.
uint64_t upperHalf(Type type, const uint64_t *x) {
  __extension__ using Unsigned = unsigned __int128;
  const auto product = static_cast<Unsigned>(exact(x[0], type)) * static_cast<Unsigned>(exact(x[1], type));
  return static_cast<uint64_t>(product >> type.bits);
}

/// Instructions whose result is twice as wide as the factors.
std::optional<Operation> wideProduct(const Words &words, Type type) {
  Type wide = type;
  wide.bits *= 2;
  auto product = [type](const uint64_t *x) { return static_cast<uint64_t>(exact(x[0], type) * exact(x[1], type)); };
  if (words[0] == "mul")
    return Operation{wide, {type, type}, product};
  if (words[0] == "mad")
    return Operation{wide, {type, type, wide}, [product](const uint64_t *x) { return product(x) + x[2]; }};
  return std::nullopt;
}

} // namespace

std::optional<Operation> integerOperation(const Words &words, Type type) {
  if (!type.isInteger())
    return std::nullopt;
  const std::string key = words[0] + (words.size() == 3 ? "." + words[1] : "");
  if (auto known = kArithmetic.find(key); known != kArithmetic.end()) {
    auto [operands, function] = known->second;
    return uniform(type, operands, [=, count = operands, compute = function](const uint64_t *x) {
      return static_cast<uint64_t>(compute(exact(x[0], type), count == 2 ? exact(x[1], type) : 0));
    });
  }
  if (key == "mad.lo")
    return uniform(type, 3, [](const uint64_t *x) { return x[0] * x[1] + x[2]; });
  if (key == "mul.hi")
    return uniform(type, 2, [type](const uint64_t *x) { return upperHalf(type, x); });
  if (key == "mul.wide" || key == "mad.wide")
    return wideProduct(words, type);
  return std::nullopt;
}

} // namespace tegula::ptx_fuzz
