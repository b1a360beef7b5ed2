// SPDX-License-Identifier: MIT
#include "progress.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace tegula::tools {

constexpr const char *kEraseLine = "\r\033[K";

Progress::Progress() : visible_(isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (visible_)
    fmt::print(stderr, "{}", kEraseLine);
}

void Progress::show(std::string_view activity) {
  if (visible_)
    fmt::print(stderr, "{}{} ...", kEraseLine, activity);
}

} // namespace tegula::tools
