// SPDX-License-Identifier: MIT
// What a library must leave as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tegula::test {

/// The signal handlers, working directory, locale, descriptors and threads of this process.
struct ProcessState {
  std::map<int, void *> handlers;
  std::string directory, locale;
  std::vector<std::string> descriptors;
  int threads = 0;

  static ProcessState now();
  bool operator==(const ProcessState &) const = default;
};

/// The processes that this one, or another, has started and not reaped.
std::vector<int> children(int pid = 0);
/// Whether a process ends within 5 seconds.
bool ends(int pid);

} // namespace tegula::test
