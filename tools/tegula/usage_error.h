// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tegula::tools {

/// Returns the message for a wrong command line: the mistake, and where the options are explained.
std::string usageError(const CLI::ParseError &error, const CLI::App &app);

} // namespace tegula::tools
