// SPDX-License-Identifier: MIT
// Which tiles must be held by threads in the same way.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace tegula::cuda {

/// The tiles of a function, in groups that one layout fits. Elementwise ops, loops, branches and accumulators tie tiles
/// together. Constants, indices and broadcasts tie nothing, because they can be made again in any layout.
class ProductGroups {
public:
  explicit ProductGroups(mlir::func::FuncOp function);

  /// Returns a tile that stands for the group of `tile`; `tile` itself if nothing is tied to it.
  mlir::Value of(mlir::Value tile) const;

private:
  void tie(mlir::Value a, mlir::Value b);
  void tieOperands(mlir::Operation *op);

  llvm::EquivalenceClasses<mlir::Value> groups_;
};

} // namespace tegula::cuda
