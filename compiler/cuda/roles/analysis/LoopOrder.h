// SPDX-License-Identifier: MIT
// The order of the ops of a loop's iteration that follows from a step list (compiler/sm/Steps.h).
#pragma once

#include "compiler/cuda/roles/analysis/LoopGraph.h"

namespace tegula::cuda {

/// Marks a loop that is in the order of its step list.
constexpr llvm::StringLiteral kPipelined = "tile.pipelined";

/// The steady state of a loop in the order of its steps: all ops but the covered fences, with the turns.
struct LoopOrder {
  /// An op, or a turn that warpgroups take or pass.
  struct Entry {
    sm::Step::Kind kind = sm::Step::Kind::start; ///< Start for each op.
    mlir::Operation *op = nullptr;
    sm::ProducerStoreOp passes = {}; ///< The store that passes the turn which begins here, if any.
  };

  llvm::SmallVector<Entry> entries;
};

/// Returns the order for the step list of the graph. MMAs that the list does not name follow in program order. The
/// error says why the loop cannot run as the list says.
llvm::Expected<LoopOrder> order(const LoopGraph &graph, llvm::ArrayRef<sm::Step> steps);

} // namespace tegula::cuda
