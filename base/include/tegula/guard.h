// SPDX-License-Identifier: MIT
// The boundary that no exception crosses.
#pragma once

#include "tegula/status.h"

#include <exception>
#include <new>

namespace tegula {

/// Runs `function`, which returns a Status or an Expected, and turns what it throws into one.
template <class Function> auto guarded(Function &&function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return Status(ErrorCode::resource_exhausted, "out of memory"); // Short enough for std::string not to allocate.
  } catch (...) {
    return Status(ErrorCode::internal, "an exception");
  }
}

} // namespace tegula
