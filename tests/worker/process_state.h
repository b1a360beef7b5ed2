// SPDX-License-Identifier: MIT
// The state of a process that a library must not change.
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

/// Returns the processes that the process `pid` has started and not reaped; this process if `pid` is 0.
std::vector<int> children(int pid = 0);
/// Returns true if a process ends within 5 seconds.
bool ends(int pid);

} // namespace tegula::test
