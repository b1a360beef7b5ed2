// SPDX-License-Identifier: MIT
// Which ops of a loop's iteration come one iteration late by a step list (compiler/sm/Steps.h), and what each op waits
// for.
#pragma once

#include "compiler/sm/Sm.h"
#include "compiler/sm/Steps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace tegula::cuda {

/// Returns the MMAs of a loop's body in program order, by label. Those without a label are p0, p1, ...
llvm::MapVector<llvm::StringRef, sm::AsyncProduct> labelledMmas(mlir::scf::ForOp loop);

/// Returns the wait for an MMA in the body of its loop.
sm::AwaitOp awaitOf(sm::AsyncProduct mma);

/// Returns the op in the loop of an MMA through which lanes write the left or the right operand of the MMA to shared
/// memory, for MMAs of this loop alone: an sm.to_shared, or an sm.producer_store. Null if there is none.
mlir::Operation *writerOf(sm::AsyncProduct mma, bool isLhs);

/// Returns true if lanes read a slot of a ring in `op`.
bool readsSlotByLanes(mlir::Operation *op);

/// The ops of a loop's steady state: each works either for the current iteration or, delayed, for the one before.
class LoopDependences {
public:
  LoopDependences(mlir::scf::ForOp loop, llvm::ArrayRef<sm::Step> steps);

  /// Returns why the loop cannot run as the list says, or an empty string if it can. Ask this first.
  llvm::StringRef obstacle() const { return obstacle_; }

  /// Returns the fences that stores make unnecessary.
  const llvm::DenseSet<mlir::Operation *> &coveredFences() const { return covered_; }
  bool isDelayed(mlir::Operation *op) const { return delayed_.contains(op); }
  bool isAnyDelayed() const { return !delayed_.empty(); }
  /// Returns true if the next iteration adds to the accumulators while they are in flight.
  bool staysInFlight(sm::AsyncProduct mma) const { return !isDelayed(mma) && isDelayed(awaitOf(mma)); }
  /// Returns the comparisons of the loop variable with its first value. They are constant in all iterations but the
  /// first, and in the first.
  llvm::ArrayRef<mlir::Operation *> comparisons() const { return comparisons_; }
  /// Returns the values of the current iteration that delayed ops need in the next one.
  llvm::ArrayRef<mlir::Value> handedOver() const { return handedOver_.getArrayRef(); }
  /// Returns the number of MMAs of the same iteration that must be over before `mma` can start.
  unsigned countNeeds(sm::AsyncProduct mma) const { return needs_[numbers_.at(mma)].count(); }
  /// Returns the number of ops of the iteration that wait for `mma` alone.
  unsigned countFollowers(sm::AsyncProduct mma) const;

protected:
  using Number = unsigned; ///< The position of an op in the body.

  llvm::BitVector sliceOf(Number op) const;
  mlir::Operation *fenceOf(mlir::Operation *op) const;

  mutable mlir::scf::ForOp loop_; // Its accessors are not const.
  std::string obstacle_;
  llvm::SmallVector<mlir::Operation *> ops_;
  llvm::DenseMap<mlir::Operation *, Number> numbers_;
  llvm::SmallVector<sm::AsyncProduct> mmas_;  ///< In the order in which they start.
  llvm::DenseSet<mlir::Operation *> covered_; ///< Fences of releases whose work a store does.
  llvm::SmallVector<llvm::SmallVector<Number, 4>> dependences_;
  llvm::SmallVector<llvm::BitVector> needs_; ///< For each op, the MMAs (by number) whose waits come before it.

  bool isInBody(mlir::Value value) const { return value.getParentBlock() == loop_.getBody(); }

private:
  void findOps();
  void findDelayed(llvm::ArrayRef<sm::Step> steps);
  bool becomesDelayed(mlir::Operation *op) const;
  void findDependences();
  void addValueDependences(Number op);
  void addWaitDependences(sm::ConsumerWaitOp wait);
  void addReleaseDependences(sm::ReleaseOp release);
  void addMemoryDependences();
  void addOperandDependences(sm::AsyncProduct mma);
  void addDependence(mlir::Operation *op, mlir::Operation *on);
  mlir::Operation *fencedAfter(mlir::Operation *store) const;
  void coverFences();
  void findNeeds();
  void findHandedOver();
  void checkDelayed();

  mlir::Operation *producerOf(mlir::BlockArgument carried) const;

  llvm::SmallVector<mlir::Operation *> comparisons_;
  llvm::DenseSet<mlir::Operation *> delayed_;
  llvm::SetVector<mlir::Value> handedOver_;
};

} // namespace tegula::cuda
