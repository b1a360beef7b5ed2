// SPDX-License-Identifier: MIT
// The PTX instructions that compute one result from registers, by their names.
#pragma once

#include "ptx/floats.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::ptx_fuzz {

/// The type of an operand: the kind of number, and its size.
struct Type {
  enum class Kind { pred, bits, signed_integer, unsigned_integer, f16, bf16, f32 };

  Kind kind = Kind::bits;
  unsigned bits = 0;
  unsigned lanes = 1; ///< 2 if a register of `bits` holds two numbers.

  bool isSigned() const { return kind == Kind::signed_integer; }
  bool isFloat() const { return kind == Kind::f16 || kind == Kind::bf16 || kind == Kind::f32; }
  bool isInteger() const { return kind == Kind::signed_integer || kind == Kind::unsigned_integer; }
};

/// Returns the type with a name such as `u32`, `pred` or `f16x2`.
std::optional<Type> typeNamed(std::string_view name);

/// Returns the format of a float.
Format formatOf(Type type);

/// An instruction that reads no memory.
struct Operation {
  Type result;
  std::vector<Type> operands;
  std::function<uint64_t(const uint64_t *)> compute; ///< Takes operands without bits beyond their types.
  bool takesWiderRegisters = false;                  ///< Registers may have more bits than the types.
};

/// Returns the operation with a name such as `add.s32`. Returns nothing if the interpreter does not know it.
std::optional<Operation> operationNamed(std::string_view name);

/// A name, split at its dots.
using Words = std::vector<std::string>;

// The parts of operationNamed. Each takes the name's words, of which the last is a type.
std::optional<Operation> integerOperation(const Words &words, Type type);
std::optional<Operation> bitOperation(const Words &words, Type type);
std::optional<Operation> floatOperation(const Words &words, Type type);
std::optional<Operation> comparison(const Words &words, Type type);
std::optional<Operation> conversion(const Words &words, Type type);

/// Returns an operation whose operands have the result's type.
Operation uniform(Type type, unsigned operands, std::function<uint64_t(const uint64_t *)> compute);

/// Returns the low `bits` of `value`, and zeros or copies of the sign above.
uint64_t zeroExtend(uint64_t value, unsigned bits);
int64_t signExtend(uint64_t value, unsigned bits);

} // namespace tegula::ptx_fuzz
