// SPDX-License-Identifier: MIT
#include "tegula/dtype.h"

namespace tegula {
namespace {

struct Row {
  DType dtype;
  std::string_view text;
  size_t size;
  bool is_float = false;
  std::string_view mlir = text;
};

constexpr Row kRows[] = {
    {DType::f32, "f32", 4, true},   {DType::f16, "f16", 2, true},
    {DType::bf16, "bf16", 2, true}, {DType::e4m3, "e4m3", 1, true, "f8E4M3FN"},
    {DType::i64, "i64", 8},         {DType::i32, "i32", 4},
    {DType::i8, "i8", 1},           {DType::i1, "i1", 1},
    {DType::index, "index", 8},
};

constexpr Row kUnknown = {DType::f32, "unknown", 0};

const Row &rowOf(DType dtype) {
  for (const Row &row : kRows)
    if (row.dtype == dtype)
      return row;
  return kUnknown;
}

std::optional<DType> find(std::string_view text, std::string_view Row::*spelling) {
  for (const Row &row : kRows)
    if (row.*spelling == text)
      return row.dtype;
  return std::nullopt;
}

} // namespace

std::string_view toString(DType dtype) { return rowOf(dtype).text; }

std::optional<DType> parseDType(std::string_view text) { return find(text, &Row::text); }

std::string_view toMlir(DType dtype) { return rowOf(dtype).mlir; }

std::optional<DType> parseMlirType(std::string_view text) { return find(text, &Row::mlir); }

size_t sizeOf(DType dtype) { return rowOf(dtype).size; }

bool isFloat(DType dtype) { return rowOf(dtype).is_float; }

} // namespace tegula
