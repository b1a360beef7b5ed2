// SPDX-License-Identifier: MIT
// Lines of Python as locations of the language.
#pragma once

#include "tegula/value.h"

#include <string_view>

namespace tegula_python {

/// Returns the location of a line. It lives as long as the process.
tegula::Location locationOf(std::string_view file, uint32_t line);

/// Returns the line of Python that is running in this thread.
tegula::Location here();

} // namespace tegula_python
