// SPDX-License-Identifier: MIT
// Floating-point arithmetic. An operation computes exactly, or in long double, and rounds once. It takes and gives
// subnormal numbers, and each NaN that it produces has the same bits.
#include "ptx/operations.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tegula::ptx_fuzz {

namespace {

bool isNan(long double x, long double y) { return std::isnan(x) || std::isnan(y); }

bool isZeroOrSubnormal(float x) { return std::fabs(x) < 0x1p-126f; }

long double flushed(long double x) { return isZeroOrSubnormal(static_cast<float>(x)) ? std::copysign(0.0L, x) : x; }

/// Returns the smaller number, or the number if the other is NaN. -0 is smaller than 0.
long double smaller(long double x, long double y) {
  if (isNan(x, y))
    return std::isnan(x) ? y : x;
  return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
}

long double larger(long double x, long double y) { return -smaller(-x, -y); }

using Unary = long double (*)(long double);
using Binary = long double (*)(long double, long double);

const std::map<std::string, Binary> kBinary = {
    {"add.rn", [](long double x, long double y) { return x + y; }},
    {"sub.rn", [](long double x, long double y) { return x - y; }},
    {"mul.rn", [](long double x, long double y) { return x * y; }},
    {"div.rn", [](long double x, long double y) { return x / y; }},
    {"div.full", [](long double x, long double y) { return x / y; }},
    {"min", smaller},
    {"max", larger},
    {"min.NaN", [](long double x, long double y) { return isNan(x, y) ? std::nanl("") : smaller(x, y); }},
    {"max.NaN", [](long double x, long double y) { return isNan(x, y) ? std::nanl("") : larger(x, y); }},
};

const std::map<std::string, Unary> kUnary = {
    {"rcp.rn", [](long double x) { return 1 / x; }},
    {"rcp.approx.ftz", [](long double x) { return flushed(1 / flushed(x)); }},
    {"sqrt.rn", [](long double x) { return std::sqrt(x); }},
    {"ex2.approx.ftz", [](long double x) { return flushed(std::exp2(flushed(x))); }},
    {"lg2.approx.ftz", [](long double x) { return std::log2(flushed(x)); }},
};

std::optional<Operation> unary(const std::string &key, Type type) {
  auto known = kUnary.find(key);
  if (known == kUnary.end() || type.kind != Type::Kind::f32)
    return std::nullopt;
  return uniform(type, 1,
                 [compute = known->second](const uint64_t *x) { return roundTo(kF32, compute(valueOf(kF32, x[0]))); });
}

std::optional<Operation> binary(const std::string &key, Type type) {
  auto known = kBinary.find(key);
  if (known == kBinary.end())
    return std::nullopt;
  return uniform(type, 2, [compute = known->second, format = formatOf(type)](const uint64_t *x) {
    return roundTo(format, compute(valueOf(format, x[0]), valueOf(format, x[1])));
  });
}

/// Instructions on the sign. They keep the bits of a NaN.
std::optional<Operation> signOperation(const std::string &name, Type type) {
  const uint64_t sign = uint64_t{1} << (type.bits - 1);
  if (name == "neg")
    return uniform(type, 1, [sign](const uint64_t *x) { return x[0] ^ sign; });
  if (name == "abs")
    return uniform(type, 1, [sign](const uint64_t *x) { return x[0] & ~sign; });
  if (name == "copysign") // The sign comes first.
    return uniform(type, 2, [sign](const uint64_t *x) { return (x[0] & sign) | (x[1] & ~sign); });
  return std::nullopt;
}

} // namespace

std::optional<Operation> floatOperation(const Words &words, Type type) {
  if (!type.isFloat())
    return std::nullopt;
  std::string key = words[0];
  for (size_t i = 1; i + 1 < words.size(); ++i)
    key += "." + words[i];
  if (key == "fma.rn")
    return uniform(type, 3, [format = formatOf(type)](const uint64_t *x) { return fuse(format, x[0], x[1], x[2]); });
  if (std::optional<Operation> found = unary(key, type))
    return found;
  if (std::optional<Operation> found = binary(key, type))
    return found;
  return signOperation(key, type);
}

} // namespace tegula::ptx_fuzz
