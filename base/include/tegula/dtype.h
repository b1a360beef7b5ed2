// SPDX-License-Identifier: MIT
// Element types, shared by the language, the artifact format and the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tegula {

/// Element type of a tensor, a tile or a scalar.
/// `i1` is the result of a comparison and `index` a 64-bit position; tensors in memory hold neither. `e4m3` has a sign,
/// four bits of exponent and three of fraction, a NaN and no infinity; its largest number is 448.
enum class DType : uint8_t { f32, f16, bf16, i64, i32, i8, e4m3, i1, index };

/// Returns the word that users type: "f32", "bf16", "e4m3", "index", ...
std::string_view toString(DType dtype);
/// Parses a result of toString; nullopt for any other word.
std::optional<DType> parseDType(std::string_view text);
/// Returns the spelling in the text of a program, which is MLIR: that of toString, but "f8E4M3FN" for e4m3.
std::string_view toMlir(DType dtype);
/// Parses a result of toMlir; nullopt for any other word.
std::optional<DType> parseMlirType(std::string_view text);
/// Returns the bytes of one element in memory. `i1` counts as 1, `index` as 8.
size_t sizeOf(DType dtype);
bool isFloat(DType dtype);

inline constexpr DType f32 = DType::f32;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType e4m3 = DType::e4m3;
inline constexpr DType i64 = DType::i64;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i8 = DType::i8;

} // namespace tegula
