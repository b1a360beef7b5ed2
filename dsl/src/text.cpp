// SPDX-License-Identifier: MIT
#include "text.h"

#include "tegula/record.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cmath>

namespace tegula {
namespace {

/// The numbers of a type: the largest one, and the text of NaN and of numbers that are too large.
struct FloatFormat {
  DType dtype;
  double largest;
  std::string_view nan, above, below;
};

constexpr FloatFormat kFloatFormats[] = {
    {DType::f32, 0x1.fffffep127, "0x7FC00000", "0x7F800000", "0xFF800000"},
    {DType::f16, 65504, "0x7E00", "0x7C00", "0xFC00"},
    {DType::bf16, 0x1.fep127, "0x7FC0", "0x7F80", "0xFF80"},
    {DType::e4m3, 448, "0x7F", "448.0", "-448.0"}, // It has no infinity.
};

const FloatFormat &formatOf(DType dtype) {
  auto *found = std::ranges::find(kFloatFormats, dtype, &FloatFormat::dtype);
  assert(found != std::end(kFloatFormats) && "an integer type");
  return *found;
}

/// Adds the decimal point that MLIR wants: "1e-05" becomes "1.0e-05".
std::string withPoint(std::string text) {
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

bool isWordCharacter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns the last two components of a path.
std::string_view shortPath(std::string_view path) {
  size_t slash = path.find_last_of("/\\");
  if (slash == std::string_view::npos || slash == 0)
    return path;
  size_t before = path.find_last_of("/\\", slash - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

} // namespace

std::string numberText(DType dtype, double value) {
  if (dtype == DType::i1)
    return value != 0 ? "true" : "false";
  if (!isFloat(dtype))
    return std::to_string(static_cast<int64_t>(value));
  float rounded = static_cast<float>(value);
  const FloatFormat &format = formatOf(dtype);
  if (!(std::fabs(rounded) <= format.largest))
    return std::string(std::isnan(value) ? format.nan : std::signbit(value) ? format.below : format.above);
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), rounded);
  return withPoint(std::string(buffer, end));
}

std::string numberText(DType dtype, int64_t value) {
  return isFloat(dtype) || dtype == DType::i1 ? numberText(dtype, static_cast<double>(value)) : std::to_string(value);
}

double numberOf(std::string_view text) {
  constexpr std::string_view dense = "dense<";
  if (text.starts_with(dense))
    text = text.substr(dense.size(), text.size() - dense.size() - 1);
  uint32_t bits = 0;
  float number = 0;
  if (text.starts_with("0x")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    return std::bit_cast<float>(bits);
  }
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string mlirText(const Type &type) {
  std::string dtype(toMlir(type.view_rank ? inMemory(type.dtype) : type.dtype));
  if (type.view_rank)
    return "!tile.view<" + std::to_string(type.view_rank) + "x" + dtype + ">";
  if (type.scalar())
    return dtype;
  std::string text = "tensor<";
  for (int64_t size : type.shape)
    text += std::to_string(size) + "x";
  return text + dtype + ">";
}

std::string locText(const Location &where) {
  std::string text = "loc(\"";
  for (char c : shortPath(where.file_name()))
    text += c == '"' || c == '\\' ? '/' : c;
  return text + "\":" + std::to_string(where.line()) + ":0)";
}

std::string listText(const Shape &shape, std::string_view brackets) {
  std::string text(1, brackets[0]);
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + brackets[1];
}

std::string describe(const Type &type) {
  std::string dtype(toString(type.dtype));
  std::string article = dtype == "bf16" ? "a " : "an ";
  if (type.view_rank)
    return article + dtype + " view of rank " + std::to_string(type.view_rank);
  return type.scalar() ? article + dtype + " scalar" : dtype + " " + listText(type.shape);
}

bool isIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
    return false;
  for (char c : name)
    if (!isWordCharacter(c))
      return false;
  return true;
}

} // namespace tegula
