// SPDX-License-Identifier: MIT
#include "progress.h"

#include <algorithm>
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

void Progress::show(std::string_view activity, double fraction) {
  constexpr size_t width = 32;
  size_t done = size_t(std::clamp(fraction, 0.0, 1.0) * width);
  if (visible_)
    fmt::print(stderr, "{}[{:#<{}}{:.<{}}] {}", kEraseLine, "", done, "", width - done, activity);
}

} // namespace tegula::tools
