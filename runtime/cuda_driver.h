// SPDX-License-Identifier: MIT
// The CUDA driver: its entry points, and its errors as a Status.
#pragma once

#include "cuda_abi.h"
#include "tegula/internal/system_library.h"
#include "tegula/status.h"

#include <string>
#include <vector>

namespace tegula::cuda {

/// A table of entry points, which is constant once it is filled.
struct Driver {
#define TEGULA_FUNCTION(name, parameters) CUresult(*name) parameters = nullptr;
  TEGULA_CUDA_FUNCTIONS(TEGULA_FUNCTION)
  TEGULA_CUDA_NEW_FUNCTIONS(TEGULA_FUNCTION)
#undef TEGULA_FUNCTION

  static SystemLibrary library();
  std::vector<Binding> bindings();

  /// Loads the driver at the first call.
  static Expected<const Driver *> get() { return functionsOf<Driver>(); }

  /// Returns a text such as "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(CUresult result) const;

  /// Returns the result of an entry point as a Status. `otherwise` is the code of all results that have no code of
  /// their own.
  Status status(const char *entryPoint, CUresult result, ErrorCode otherwise) const;
};

/// Returns true if a context is beyond use after this error.
bool isFatal(CUresult result) noexcept;

} // namespace tegula::cuda
