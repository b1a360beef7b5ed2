// SPDX-License-Identifier: MIT
// Detects that this process is a fork of the process that made an object.
#pragma once

#include "tegula/status.h"

#include <cstdint>

namespace tegula {

/// Returns the number of forks between the first process and this one.
uint64_t forkGeneration() noexcept;

/// A member for objects that own threads or locks, which do not survive a fork.
class ForkGuard {
public:
  /// Returns true if this process is a child of the process that made the guard.
  bool inChild() const noexcept { return generation_ != forkGeneration(); }
  /// Returns forked_child in a child.
  Status check() const;

private:
  uint64_t generation_ = forkGeneration();
};

} // namespace tegula
