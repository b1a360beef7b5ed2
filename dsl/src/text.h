// SPDX-License-Identifier: MIT
// Spelling: numbers, types and lines, in MLIR and for people.
#pragma once

#include "graph.h"

#include <string>
#include <string_view>

namespace tegula {

/// Returns a number as MLIR reads it for `dtype`: the shortest decimal that gives the same value, hexadecimal for inf
/// and nan. A number that is too large for e4m3 becomes the largest one.
std::string numberText(DType dtype, double value);
std::string numberText(DType dtype, int64_t value);
/// Returns the f32 that numberText or `dense<...>` spells.
double numberOf(std::string_view text);
/// Returns a text such as "tensor<64x128xbf16>", "f32" or "!tile.view<2xbf16>".
std::string mlirText(const Type &type);
/// Returns a text such as `loc("folder/file.cpp":12:0)`. It has two components of the path, so that a program does not
/// depend on the directory of the checkout.
std::string locText(const Location &where);

/// Returns a text such as "bf16 [64, 128]", "an f32 scalar" or "a bf16 view of rank 2".
std::string describe(const Type &type);
/// Returns a text such as "[64, 128]" or "{64, 128}".
std::string listText(const Shape &shape, std::string_view brackets = "[]");
bool isIdentifier(std::string_view name);

} // namespace tegula
