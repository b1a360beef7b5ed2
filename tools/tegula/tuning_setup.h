// SPDX-License-Identifier: MIT
// The machine and the compiler of commands that measure candidates.
#pragma once

#include "tegula/artifact_cache.h"
#include "tegula/search.h"

#include <functional>
#include <memory>
#include <string_view>

namespace tegula::tools {

struct TuningSetup {
  std::unique_ptr<Compiler> worker;
  std::shared_ptr<ArtifactCache> kernels;
  std::unique_ptr<Compiler> compiler; ///< Keeps what it compiles in `kernels`.
  TuningDevice machine;
};

/// Returns the setup for "auto", "cpu" or "cuda".
Expected<TuningSetup> makeTuningSetup(std::string_view target, bool no_cache);

/// A scope in which Ctrl-C says on stderr that it was seen, and sets a flag. If the program has not left the scope
/// within a second, it ends, unless there are results to keep: some work on the host cannot be interrupted. The second
/// Ctrl-C ends the program at once.
class InterruptFlag {
public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag &) = delete;
  InterruptFlag &operator=(const InterruptFlag &) = delete;

  static bool isSet();
  /// Says that there are results to keep from now on.
  static void keepResults();
};

} // namespace tegula::tools
