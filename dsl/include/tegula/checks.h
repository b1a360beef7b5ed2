// SPDX-License-Identifier: MIT
// Checks of what a user's functions return, for libraries that call them while a kernel is recorded.
#pragma once

#include "tegula/value.h"

#include <string>
#include <vector>

namespace tegula {

/// The requirements of a library on a value that a user's function returns. The message of an error is made of these
/// words: "FUNCTION returned f32 [64, 64]; it must return RULE", as in "mask returned f32 [64, 64]; it must return a
/// condition".
struct Expectation {
  std::string function;
  std::string rule;
  std::vector<DType> dtypes; ///< The legal dtypes; at least one.
  Shape shape;               ///< The value is a scalar, or repeats to this shape.
  Location given;            ///< The line where the user gave the function to the library.
};

/// Returns `value` if it is as expected. Otherwise reports an error of the program at the line that made the value, and
/// returns a value that causes no further errors.
Value checkReturned(Value value, const Expectation &expectation);

/// Returns `value` as a tile of the first of the legal dtypes and of the expected shape. Does the check of
/// checkReturned(), and also reports an error if an element depends on more than one element of `input`: the operation
/// that combines elements is at the line of the error.
Value checkElementwise(Value value, Value input, const Expectation &expectation);

/// Returns true if `output` is computed from `input`, through any operations. Equal expressions are one value.
bool dependsOn(Value output, Value input);

} // namespace tegula
