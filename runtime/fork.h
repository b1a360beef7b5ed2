// SPDX-License-Identifier: MIT
// Recognises that this process is a fork of the one that made an object.
#pragma once

#include "tegula/status.h"

#include <cstdint>

namespace tegula {

/// The number of forks between the first process and this one.
uint64_t forkGeneration() noexcept;

/// Member of objects that own threads or locks, which do not survive a fork.
class ForkGuard {
public:
  /// Whether this process is a child of the one that made the guard.
  bool inChild() const noexcept { return generation_ != forkGeneration(); }
  /// forked_child in a child.
  Status check() const;

private:
  uint64_t generation_ = forkGeneration();
};

} // namespace tegula
