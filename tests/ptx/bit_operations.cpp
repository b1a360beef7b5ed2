// SPDX-License-Identifier: MIT
// Logic, shifts, fields of bits, and choices.
#include "ptx/operations.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tegula::ptx_fuzz {

namespace {

constexpr Type kWord{Type::Kind::unsigned_integer, 32}, kCondition{Type::Kind::pred, 1};

uint64_t shiftLeft(uint64_t x, uint64_t count) { return count > 63 ? 0 : x << count; }

/// Shifts to the right. A count beyond the size shifts in the sign, or zeros.
uint64_t shiftRight(Type type, uint64_t x, uint64_t count) {
  if (!type.isSigned() && count > 63)
    return 0;
  count = std::min<uint64_t>(count, 63);
  return type.isSigned() ? static_cast<uint64_t>(signExtend(x, type.bits) >> count) : x >> count;
}

std::optional<Operation> logic(const std::string &name, Type type) {
  using Function = uint64_t (*)(const uint64_t *);
  static const std::map<std::string, std::pair<unsigned, Function>> kLogic = {
      {"and", {2, [](const uint64_t *x) { return x[0] & x[1]; }}},
      {"or", {2, [](const uint64_t *x) { return x[0] | x[1]; }}},
      {"xor", {2, [](const uint64_t *x) { return x[0] ^ x[1]; }}},
      {"not", {1, [](const uint64_t *x) { return ~x[0]; }}}};
  auto known = kLogic.find(name);
  if (known == kLogic.end() || (type.kind != Type::Kind::bits && type.kind != Type::Kind::pred))
    return std::nullopt;
  return uniform(type, known->second.first, known->second.second);
}

/// `bfe`: takes a field of bits. The sign of s32 is the field's highest bit.
uint64_t extractField(Type type, const uint64_t *x) {
  const uint64_t start = x[1] & 0xff, count = x[2] & 0xff;
  if (count == 0)
    return 0;
  const uint64_t highest = std::min<uint64_t>(start + count - 1, type.bits - 1);
  const bool sign = type.isSigned() && (x[0] >> highest & 1);
  uint64_t field = zeroExtend(shiftRight({Type::Kind::unsigned_integer, type.bits}, x[0], start),
                              static_cast<unsigned>(std::min<uint64_t>(count, 64)));
  return sign && count < 64 ? field | ~uint64_t{0} << (highest >= start ? highest - start : 0) : field;
}

/// `bfi`: writes a field of bits of the first operand into the second.
uint64_t insertField(Type type, const uint64_t *x) {
  const uint64_t start = x[2] & 0xff, count = x[3] & 0xff;
  const uint64_t field =
      start >= type.bits ? 0 : zeroExtend(~uint64_t{0}, static_cast<unsigned>(std::min<uint64_t>(count, 64))) << start;
  return (x[1] & ~field) | (shiftLeft(x[0], start) & field);
}

/// `prmt`: chooses each byte of the result from eight. Bit 3 of a selector copies the byte's sign.
uint64_t permuteBytes(const uint64_t *x) {
  const uint64_t bytes = x[0] | x[1] << 32;
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t selector = x[2] >> (4 * i) & 15;
    uint64_t byte = bytes >> (8 * (selector & 7)) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

/// `bmsk.clamp`: sets bits from a first one on.
std::optional<Operation> mask(const Words &words) {
  if (words.size() != 3 || words[1] != "clamp" || words[2] != "b32")
    return std::nullopt;
  return uniform(kWord, 2, [](const uint64_t *x) {
    const uint64_t start = std::min<uint64_t>(x[0], 32), count = std::min<uint64_t>(x[1], 32);
    return ((uint64_t{1} << count) - 1) << start;
  });
}

std::optional<Operation> funnelShift(const Words &words) {
  if (words.size() != 4 || (words[2] != "wrap" && words[2] != "clamp") || words[3] != "b32")
    return std::nullopt;
  const bool isLeft = words[1] == "l", wraps = words[2] == "wrap";
  return uniform(kWord, 3, [=](const uint64_t *x) {
    const uint64_t both = x[0] | x[1] << 32;
    const uint64_t count = wraps ? x[2] & 31 : std::min<uint64_t>(x[2], 32);
    return isLeft ? both << count >> 32 : both >> count;
  });
}

uint64_t reverse(uint64_t x, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i)
    result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}

std::optional<Operation> count(const std::string &name, Type type) {
  if (name == "popc")
    return Operation{kWord, {type}, [](const uint64_t *x) { return uint64_t(std::popcount(x[0])); }};
  if (name == "clz")
    return Operation{
        kWord, {type}, [type](const uint64_t *x) { return uint64_t(std::countl_zero(x[0])) - (64 - type.bits); }};
  if (name == "brev")
    return uniform(type, 1, [=](const uint64_t *x) { return reverse(x[0], type.bits); });
  return std::nullopt;
}

} // namespace

std::optional<Operation> bitOperation(const Words &words, Type type) {
  const std::string &name = words[0];
  if (name == "shf")
    return funnelShift(words);
  if (name == "bmsk")
    return mask(words);
  if (words.size() != 2)
    return std::nullopt;
  if (name == "shl" && type.kind == Type::Kind::bits)
    return Operation{type, {type, kWord}, [](const uint64_t *x) { return shiftLeft(x[0], x[1]); }};
  if (name == "shr")
    return Operation{type, {type, kWord}, [type](const uint64_t *x) { return shiftRight(type, x[0], x[1]); }};
  if (name == "bfe" && type.isInteger())
    return Operation{type, {type, kWord, kWord}, [type](const uint64_t *x) { return extractField(type, x); }};
  if (name == "bfi")
    return Operation{type, {type, type, kWord, kWord}, [type](const uint64_t *x) { return insertField(type, x); }};
  if (name == "prmt" && type.bits == 32)
    return uniform(type, 3, permuteBytes);
  if (name == "selp" && type.kind != Type::Kind::pred)
    return Operation{type, {type, type, kCondition}, [](const uint64_t *x) { return x[2] & 1 ? x[0] : x[1]; }};
  if (name == "mov")
    return uniform(type, 1, [](const uint64_t *x) { return x[0]; });
  if (std::optional<Operation> found = logic(name, type))
    return found;
  return count(name, type);
}

} // namespace tegula::ptx_fuzz
