// SPDX-License-Identifier: MIT
// Conversions of narrow floats by arithmetic on their bits, for targets without an instruction.
#pragma once

#include "mlir/IR/Builders.h"

namespace tegula::tile {

/// Returns the bits of the e4m3 number nearest to `x`, as i8. Ties go to the even one, numbers that are too large
/// become the largest one, and a NaN stays a NaN. `x` is an f32, or a vector of them.
mlir::Value toE4m3(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// Returns the f32 that has the value of an e4m3 number, given its bits as i8 or a vector of i8.
mlir::Value fromE4m3(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits);

} // namespace tegula::tile
