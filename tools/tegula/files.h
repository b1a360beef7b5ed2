// SPDX-License-Identifier: MIT
// Whole files and standard output, with errors as a Status.
#pragma once

#include "tegula/status.h"

#include <string>
#include <string_view>

namespace tegula::tools {

/// The bytes of a file; "-" is standard input.
Expected<std::string> readFile(const std::string &name);
Status writeFile(const std::string &name, std::string_view bytes);
/// Writes to standard output.
Status print(std::string_view bytes);

} // namespace tegula::tools
