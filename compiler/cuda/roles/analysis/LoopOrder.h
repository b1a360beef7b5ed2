// SPDX-License-Identifier: MIT
// The order of the ops of a loop's iteration that follows from a step list (compiler/sm/Steps.h).
#pragma once

#include "compiler/sm/Sm.h"
#include "compiler/sm/Steps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace tegula::cuda {

/// Marks a loop that is in the order of its step list.
constexpr llvm::StringLiteral kPipelined = "tile.pipelined";

/// Returns the MMAs of a loop's body in program order, by label. Those without a label are p0, p1, ...
llvm::MapVector<llvm::StringRef, sm::WgmmaOp> labelledMmas(mlir::scf::ForOp loop);

/// Returns the wait for an MMA in the body of its loop.
sm::AwaitOp awaitOf(sm::WgmmaOp mma);

/// Returns the op in the loop of an MMA through which lanes write the left or the right operand of the MMA to shared
/// memory, for MMAs of this loop alone: an sm.to_shared, or an sm.producer_store. Null if there is none.
mlir::Operation *writerOf(sm::WgmmaOp mma, bool isLhs);

/// The steady state of a loop: each op works either for the current iteration or, delayed, for the one before.
class LoopOrder {
public:
  /// An op, or a turn that warpgroups take or pass.
  struct Entry {
    sm::Step::Kind kind = sm::Step::Kind::start; ///< Start for each op.
    mlir::Operation *op = nullptr;
    sm::ProducerStoreOp passes = {}; ///< The store that passes the turn which begins here, if any.
  };

  /// Orders the ops by `steps`. Call `obstacle` before anything else. MMAs that the list does not name follow in
  /// program order.
  LoopOrder(mlir::scf::ForOp loop, llvm::ArrayRef<sm::Step> steps);

  /// Returns why the loop cannot run in this order, or an empty string if it can.
  llvm::StringRef obstacle() const { return obstacle_; }

  llvm::ArrayRef<Entry> entries() const { return entries_; }
  /// Returns the fences that stores make unnecessary. They are not among the entries.
  const llvm::DenseSet<mlir::Operation *> &coveredFences() const { return covered_; }
  bool isDelayed(mlir::Operation *op) const { return delayed_.contains(op); }
  bool isAnyDelayed() const { return !delayed_.empty(); }
  /// Returns true if the next iteration adds to the accumulators while they are in flight.
  bool staysInFlight(sm::WgmmaOp mma) const { return !isDelayed(mma) && isDelayed(awaitOf(mma)); }
  /// Returns the comparisons of the loop variable with its first value. They are constant in all iterations but the
  /// first, and in the first.
  llvm::ArrayRef<mlir::Operation *> comparisons() const { return comparisons_; }
  /// Returns the values of the current iteration that delayed ops need in the next one.
  llvm::ArrayRef<mlir::Value> handedOver() const { return handedOver_.getArrayRef(); }
  /// Returns the number of MMAs of the same iteration that must be over before `mma` can start.
  unsigned countNeeds(sm::WgmmaOp mma) const { return needs_[numbers_.at(mma)].count(); }
  /// Returns the number of ops of the iteration that wait for `mma` alone.
  unsigned countFollowers(sm::WgmmaOp mma) const;

private:
  using Number = unsigned; ///< The position of an op in the body.

  void findOps();
  void findDelayed(llvm::ArrayRef<sm::Step> steps);
  bool becomesDelayed(mlir::Operation *op) const;
  void findDependences();
  void addValueDependences(Number op);
  void addStoreDependences(sm::ConsumerWaitOp wait);
  void addReleaseDependences(sm::ReleaseOp release);
  void addMemoryDependences();
  void coverFences();
  llvm::BitVector sliceOf(Number op) const;
  mlir::Operation *fenceOf(mlir::Operation *op) const;
  void addOperandDependences(sm::WgmmaOp mma);
  void addDependence(mlir::Operation *op, mlir::Operation *on);
  void findNeeds();
  void findHandedOver();
  void checkDelayed();

  void order(llvm::ArrayRef<sm::Step> steps);
  void start(Number mma);
  void write(Number store);
  void takeTurn();
  void checkTurn(sm::WgmmaOp mma);
  void endTurn(bool isPassedByWrite);
  void emit(Number op);
  void emitAwait(Number op);
  void emitReads();
  void emitReleases();
  void emitRest();
  bool isReady(Number op) const;
  bool isHeld(Number op) const;

  bool isInBody(mlir::Value value) const { return value.getParentBlock() == loop_.getBody(); }
  mlir::Operation *producerOf(mlir::BlockArgument carried) const;

  mutable mlir::scf::ForOp loop_; // Its accessors are not const.
  std::string obstacle_;
  llvm::SmallVector<mlir::Operation *> ops_, comparisons_;
  llvm::DenseMap<mlir::Operation *, Number> numbers_;
  llvm::SmallVector<sm::WgmmaOp> mmas_; ///< In the order in which they start.
  llvm::DenseSet<mlir::Operation *> delayed_;
  llvm::DenseSet<mlir::Operation *> covered_; ///< Fences of releases whose work a store does.
  llvm::SmallVector<llvm::SmallVector<Number, 4>> dependences_;
  llvm::SmallVector<llvm::BitVector> needs_; ///< For each op, the MMAs (by number) whose waits come before it.
  llvm::SetVector<mlir::Value> handedOver_;

  llvm::SmallVector<Entry> entries_;
  std::optional<Entry> turn_; ///< A turn that begins before the next step.
  llvm::BitVector emitted_, awaited_;
  unsigned inFlight_ = 0;
};

} // namespace tegula::cuda
