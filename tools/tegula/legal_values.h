// SPDX-License-Identifier: MIT
// What an option accepts. A refusal names the value and what is legal instead; CLI11 puts the option's name before it.
#pragma once

#include "tegula/schedule.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::tools {

/// A decimal number from `low` to `high`.
CLI::Validator wholeNumber(int64_t low, int64_t high);
/// Any finite number.
CLI::Validator number();
/// One of `words`.
CLI::Validator oneOf(std::vector<std::string> words);

/// The option --schedule.
void addSchedule(CLI::App &command, Schedule &schedule);

/// The words a, b and c as "a, b or c".
std::string alternatives(const std::vector<std::string> &words);

} // namespace tegula::tools
