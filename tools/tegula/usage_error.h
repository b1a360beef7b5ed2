// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tegula::tools {

/// What is wrong with a command line, and where its options are explained.
std::string usageError(const CLI::ParseError &error, const CLI::App &app);

} // namespace tegula::tools
