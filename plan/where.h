// SPDX-License-Identifier: MIT
// Errors at a line of the user's.
#pragma once

#include "tegula/kernel_spec.h"

#include <string>

namespace tegula {

/// Returns a text such as "mine.cpp:12". A description that is not C++ has no lines.
inline std::string lineOf(Location where) {
  return where.line() == 0 ? "another place" : std::string(where.file_name()) + ":" + std::to_string(where.line());
}

/// Returns invalid_program with the message `file:line: error: message`.
inline Status errorAt(Location where, const std::string &message) {
  return {ErrorCode::invalid_program, where.line() == 0 ? message : lineOf(where) + ": error: " + message};
}

} // namespace tegula
