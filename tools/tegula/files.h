// SPDX-License-Identifier: MIT
// Whole files and standard output, with errors as a Status.
#pragma once

#include "tegula/status.h"

#include <string>
#include <string_view>

namespace tegula::tools {

// `option` is the argument that named the file or directory. Errors begin with it.

/// Returns the bytes of a file. The name "-" stands for standard input.
Expected<std::string> readFile(std::string_view option, const std::string &name);
/// Returns the error that writeFile would return now. Leaves the file as it was, or absent.
Status checkWritable(std::string_view option, const std::string &name);
Status writeFile(std::string_view option, const std::string &name, std::string_view bytes);
/// Creates a directory, and those that it lies in, unless it exists.
Status createFolder(std::string_view option, const std::string &name);
/// Writes to standard output.
Status print(std::string_view bytes);

} // namespace tegula::tools
