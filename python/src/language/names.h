// SPDX-License-Identifier: MIT
// The names of Python that a loop must not bind again. In C++ `value = other` does not compile; in Python a name takes
// another Value, and the next iteration would not see it.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

namespace tegula_python {

/// The Values and Vars that were bound to names inside loops of this thread's recording, which have ended. Their names
/// may be bound again.
class EndedNames {
public:
  EndedNames();
  ~EndedNames();
  EndedNames(const EndedNames &) = delete;

private:
  friend class LoopNames;
  EndedNames *outer_; ///< The object of the recording that this one interrupts; null if there is none.
  std::vector<nanobind::object> objects_;
};

/// The names of the running function that have a Value or a Var when a loop begins.
class LoopNames {
public:
  void begin();
  /// Throws a TypeError if a name was bound to another Value or Var inside the loop.
  void end();

private:
  std::vector<std::pair<nanobind::object, nanobind::object>> before_;
};

} // namespace tegula_python
