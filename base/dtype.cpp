// SPDX-License-Identifier: MIT
#include "tegula/dtype.h"

namespace tegula {
namespace {

struct Row {
  DType dtype;
  std::string_view text;
  size_t size;
};

constexpr Row kRows[] = {
    {DType::f32, "f32", 4}, {DType::f16, "f16", 2}, {DType::bf16, "bf16", 2}, {DType::i64, "i64", 8},
    {DType::i32, "i32", 4}, {DType::i8, "i8", 1},   {DType::i1, "i1", 1},     {DType::index, "index", 8},
};

constexpr Row kUnknown = {DType::f32, "unknown", 0};

const Row &rowOf(DType dtype) {
  for (const Row &row : kRows)
    if (row.dtype == dtype)
      return row;
  return kUnknown;
}

} // namespace

std::string_view toString(DType dtype) { return rowOf(dtype).text; }

std::optional<DType> parseDType(std::string_view text) {
  for (const Row &row : kRows)
    if (row.text == text)
      return row.dtype;
  return std::nullopt;
}

size_t sizeOf(DType dtype) { return rowOf(dtype).size; }

bool isFloat(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

} // namespace tegula
