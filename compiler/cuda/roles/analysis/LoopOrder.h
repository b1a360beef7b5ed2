// SPDX-License-Identifier: MIT
// The order of the ops of a loop's iteration that follows from a step list (compiler/sm/Steps.h).
#pragma once

#include "compiler/cuda/roles/analysis/LoopDependences.h"

namespace tegula::cuda {

/// Marks a loop that is in the order of its step list.
constexpr llvm::StringLiteral kPipelined = "tile.pipelined";

/// The steady state of a loop in the order of its steps. MMAs that the list does not name follow in program order.
class LoopOrder : public LoopDependences {
public:
  /// An op, or a turn that warpgroups take or pass.
  struct Entry {
    sm::Step::Kind kind = sm::Step::Kind::start; ///< Start for each op.
    mlir::Operation *op = nullptr;
    sm::ProducerStoreOp passes = {}; ///< The store that passes the turn which begins here, if any.
  };

  LoopOrder(mlir::scf::ForOp loop, llvm::ArrayRef<sm::Step> steps);

  /// Returns all ops but the covered fences, with the turns.
  llvm::ArrayRef<Entry> entries() const { return entries_; }

private:
  void order(llvm::ArrayRef<sm::Step> steps);
  void setRegisters(Number first, llvm::ArrayRef<sm::Step> steps, bool accumulators);
  void start(Number mma);
  void write(Number store);
  void takeTurn();
  void checkTurn(sm::AsyncProduct mma);
  void endTurn(bool isPassedByWrite);
  void emit(Number op);
  void emitAwait(Number op);
  void emitReads();
  void emitReleases();
  void emitRest();
  bool isReady(Number op) const;
  bool isHeld(Number op) const;

  llvm::SmallVector<Entry> entries_;
  std::optional<Entry> turn_; ///< A turn that begins before the next step.
  llvm::BitVector emitted_, awaited_;
  unsigned inFlight_ = 0;
};

} // namespace tegula::cuda
