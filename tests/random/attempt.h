// SPDX-License-Identifier: MIT
// Checks a program in a process of its own, which may crash or hang.
#pragma once

#include "random/check.h"
#include "random/choices.h"

#include <string>
#include <vector>

namespace tegula::random_programs {

/// How programs are checked.
struct Settings {
  std::vector<std::string> targets = kTargets;
  int seconds = 60; ///< After this processor time, or 20 times as long on the clock, a program counts as hung.
};

/// Ends this process by a signal when the time of a program is over; 0 means never.
void limitTime(int seconds);

/// Checks the program of these choices in a child process. Returns what is wrong, as check() does; also "crash" with
/// the signal, and "hang".
std::string attempt(const std::vector<uint32_t> &choices, const Settings &settings);

/// Removes and lowers numbers as long as the program shows the same kind of defect. Returns the smallest choices.
std::vector<uint32_t> shrink(std::vector<uint32_t> choices, const std::string &wrong, const Settings &settings);

} // namespace tegula::random_programs
