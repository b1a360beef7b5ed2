// SPDX-License-Identifier: MIT
// Searches for ops inside other ops.
#pragma once

#include "mlir/IR/Operation.h"

namespace tegula::tile {

/// Returns true if `isWanted` is true for an op inside `root`, which is an op, a region or a block, or for `root`
/// itself. Only ops of the type of the function's argument count.
template <class Root, class Predicate> bool anyOp(Root &&root, Predicate isWanted) {
  using Op = typename llvm::function_traits<std::decay_t<Predicate>>::template arg_t<0>;
  auto search = [&](Op op) { return isWanted(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); };
  return root.walk(search).wasInterrupted();
}

/// Returns the ops inside `root`, in the order of a walk, for which `isWanted` is true.
template <class Root, class Predicate> auto allOps(Root &&root, Predicate isWanted) {
  using Op = typename llvm::function_traits<std::decay_t<Predicate>>::template arg_t<0>;
  llvm::SmallVector<Op> ops;
  root.walk([&](Op op) {
    if (isWanted(op))
      ops.push_back(op);
  });
  return ops;
}

/// Returns all ops of a type inside `root`.
template <class Op, class Root> llvm::SmallVector<Op> allOps(Root &&root) {
  return allOps(root, [](Op) { return true; });
}

} // namespace tegula::tile
