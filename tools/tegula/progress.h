// SPDX-License-Identifier: MIT
// A line on stderr that says what a long run is doing.
#pragma once

#include <string_view>

namespace tegula::tools {

/// A line that is replaced while the object lives and removed at the end. Writes nothing unless stderr is a terminal.
class Progress {
public:
  Progress();
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(std::string_view activity);
  /// Shows the activity with a bar, of which `fraction` is done.
  void show(std::string_view activity, double fraction);

private:
  bool visible_;
};

} // namespace tegula::tools
