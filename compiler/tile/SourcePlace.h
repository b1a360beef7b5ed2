// SPDX-License-Identifier: MIT
// The line of a user's program that an op comes from.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <string>

namespace tegula {

/// Returns the file and line of a location, such as "flash2_forward.cpp:24".
inline std::string placeOf(mlir::Location location) {
  auto line = location->findInstanceOf<mlir::FileLineColLoc>();
  return line ? line.getFilename().str() + ":" + std::to_string(line.getLine()) : "an unknown place";
}

} // namespace tegula
