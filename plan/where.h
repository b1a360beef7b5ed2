// SPDX-License-Identifier: MIT
// Errors at a line of the user's.
#pragma once

#include "tegula/kernel_spec.h"

#include <string>

namespace tegula {

/// Returns invalid_program with the message `file:line: error: message`.
inline Status errorAt(Location where, const std::string &message) {
  return {ErrorCode::invalid_program,
          std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": error: " + message};
}

/// Returns a text such as "mine.cpp:12".
inline std::string lineOf(Location where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

} // namespace tegula
