// SPDX-License-Identifier: MIT
// Spelling: numbers, types and lines, in MLIR and for people.
#pragma once

#include "graph.h"

#include <string>
#include <string_view>

namespace tegula {

/// A number as MLIR reads it for `dtype`: the shortest decimal that gives the same value, hexadecimal for inf and nan.
std::string numberText(DType dtype, double value);
std::string numberText(DType dtype, int64_t value);
/// "tensor<64x128xbf16>", "f32", "!tile.view<2xbf16>"
std::string mlirText(const Type &type);
/// `loc("folder/file.cpp":12:0)`: two components of the path, so that programs do not depend on where a checkout lies.
std::string locText(const Location &where);

/// "bf16 [64, 128]", "an f32 scalar", "a bf16 view of rank 2"
std::string describe(const Type &type);
/// "[64, 128]" and "{64, 128}"
std::string listText(const Shape &shape, std::string_view brackets = "[]");
bool isIdentifier(std::string_view name);

} // namespace tegula
