// SPDX-License-Identifier: MIT
// How many younger MMAs, copies or stores may still run when a wait for an older one is over, and which write lacks a
// wait.
#pragma once

#include "compiler/sm/Sm.h"

#include "llvm/ADT/MapVector.h"

namespace tegula::sm {

/// Returns, for each `sm.await`, `sm.wait` and `sm.tma_store_wait` in `root`, the least number of commit groups of its
/// engine that start between what it waits for and the wait, over all paths. Groups finish in the order in which they
/// started, so that many younger ones may still run. 0 where a path is not known. A wait for stores that no path has
/// started has no number.
llvm::MapVector<mlir::Operation *, int64_t> pendingGroups(mlir::Operation *root);

/// Returns an op in `root` with which lanes write a buffer that TMA may still read. Null if there is none.
mlir::Operation *findEarlyWrite(mlir::Operation *root);

} // namespace tegula::sm
