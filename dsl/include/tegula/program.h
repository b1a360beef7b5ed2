// SPDX-License-Identifier: MIT
// A recorded kernel: data that can be saved, hashed, and compiled later by another process.
#pragma once

#include "tegula/artifact.h"

#include <string>
#include <vector>

namespace tegula {

struct Program {
  std::string name;
  std::string text; ///< MLIR of the `tile` dialect, one `loc` per operation.
  std::vector<Parameter> parameters;
};

} // namespace tegula
