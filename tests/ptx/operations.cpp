// SPDX-License-Identifier: MIT
#include "ptx/operations.h"

#include <charconv>

namespace tegula::ptx_fuzz {

uint64_t zeroExtend(uint64_t value, unsigned bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }

int64_t signExtend(uint64_t value, unsigned bits) {
  const unsigned above = 64 - bits;
  return static_cast<int64_t>(value << above) >> above;
}

Operation uniform(Type type, unsigned operands, std::function<uint64_t(const uint64_t *)> compute) {
  return {type, std::vector<Type>(operands, type), std::move(compute)};
}

Format formatOf(Type type) {
  return type.kind == Type::Kind::f16 ? kF16 : type.kind == Type::Kind::bf16 ? kBf16 : kF32;
}

static std::optional<Type> integerNamed(std::string_view name) {
  Type type;
  switch (name.empty() ? '?' : name.front()) {
  case 'b':
    break;
  case 's':
    type.kind = Type::Kind::signed_integer;
    break;
  case 'u':
    type.kind = Type::Kind::unsigned_integer;
    break;
  default:
    return std::nullopt;
  }
  auto [end, problem] = std::from_chars(name.data() + 1, name.data() + name.size(), type.bits);
  const bool isSize = type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64;
  return problem == std::errc() && end == name.data() + name.size() && isSize ? std::optional(type) : std::nullopt;
}

std::optional<Type> typeNamed(std::string_view name) {
  if (name.ends_with("x2")) {
    std::optional<Type> lane = typeNamed(name.substr(0, name.size() - 2));
    return lane ? std::optional(Type{lane->kind, 2 * lane->bits, 2}) : std::nullopt;
  }
  if (name == "pred")
    return Type{Type::Kind::pred, 1};
  if (name == "f16")
    return Type{Type::Kind::f16, 16};
  if (name == "bf16")
    return Type{Type::Kind::bf16, 16};
  if (name == "f32")
    return Type{Type::Kind::f32, 32};
  return integerNamed(name);
}

static Words split(std::string_view name) {
  Words words;
  for (size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1))
    words.emplace_back(name.substr(0, dot));
  words.emplace_back(name);
  return words;
}

/// Returns an operation on pairs, given the one on single numbers. A comparison has two predicates as its result.
static Operation onPairs(const Operation &single, Type pair) {
  const unsigned bits = pair.bits / 2, resultBits = single.result.bits;
  const Type result{single.result.kind, 2 * resultBits, 2};
  return {result, std::vector<Type>(single.operands.size(), pair), [=](const uint64_t *x) {
            uint64_t low[3] = {}, high[3] = {};
            for (size_t i = 0; i < single.operands.size(); ++i)
              low[i] = zeroExtend(x[i], bits), high[i] = zeroExtend(x[i] >> bits, bits);
            return zeroExtend(single.compute(low), resultBits) | zeroExtend(single.compute(high), resultBits)
                                                                     << resultBits;
          }};
}

std::optional<Operation> operationNamed(std::string_view name) {
  const Words words = split(name);
  const std::optional<Type> type = typeNamed(words.back());
  if (!type || words.size() < 2)
    return std::nullopt;
  if (type->lanes == 2 && words[0] != "cvt") {
    const std::optional<Operation> single = operationNamed(name.substr(0, name.size() - 2));
    return single ? std::optional(onPairs(*single, *type)) : std::nullopt;
  }
  for (auto *find : {integerOperation, bitOperation, floatOperation, comparison, conversion})
    if (std::optional<Operation> found = find(words, *type))
      return found;
  return std::nullopt;
}

} // namespace tegula::ptx_fuzz
