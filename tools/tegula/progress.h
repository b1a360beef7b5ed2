// SPDX-License-Identifier: MIT
// One line on stderr that says what a long run is doing, if somebody is watching.
#pragma once

#include <string_view>

namespace tegula::tools {

/// Replaces the line while it lives and removes it at the end. Writes nothing unless stderr is a terminal.
class Progress {
public:
  Progress();
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(std::string_view activity);
  /// With a bar, `fraction` of which is done.
  void show(std::string_view activity, double fraction);

private:
  bool visible_;
};

} // namespace tegula::tools
