// SPDX-License-Identifier: MIT
// Functions of f32 numbers that no target has an instruction for, as arithmetic. All targets compute the same.
#pragma once

#include "mlir/IR/Builders.h"

namespace tegula::tile {

/// Returns true for an op that expandFunction computes: math.erf, math.sin, math.cos and math.powf.
bool isExpandedFunction(mlir::Operation *op);

/// Returns what such an op computes from `operands`: f32 scalars, or vectors of f32. Its operands may have another
/// shape.
mlir::Value expandFunction(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands);

} // namespace tegula::tile
