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

/// Ops that a step list may name, in program order, by label.
using Anchors = llvm::MapVector<llvm::StringRef, mlir::Operation *>;

/// Returns the MMAs of a loop's body, of which those without a label are p0, p1, ..., and its other ops with a label,
/// such as loads and additions.
Anchors anchorsOf(mlir::scf::ForOp loop);

/// Returns the labels, as a list for a message.
std::string labelsOf(const Anchors &anchors);

/// MMAs by label, in program order.
using Labels = llvm::MapVector<llvm::StringRef, sm::AsyncProduct>;

/// Returns the MMAs among the anchors of a loop.
Labels labelledMmas(mlir::scf::ForOp loop);

/// Returns the wait for an MMA in the body of its loop.
sm::AwaitOp awaitOf(sm::AsyncProduct mma);

/// Returns the op in the loop of an MMA through which lanes write the left or the right operand of the MMA to shared
/// memory, for MMAs of this loop alone: an sm.to_shared, or an sm.producer_store. Null if there is none.
mlir::Operation *writerOf(sm::AsyncProduct mma, bool isLhs);

/// Returns true if lanes read a slot of a ring in `op`.
bool readsSlotByLanes(mlir::Operation *op);

/// The ops of a loop's steady state: each works either for the current iteration or, delayed, for the one before.
struct LoopGraph {
  using Number = unsigned; ///< The position of an op in the body.

  struct Node {
    mlir::Operation *op;
    bool isDelayed = false;
    llvm::SmallVector<Number, 4> dependences = {}; ///< The ops that come before it.
    llvm::BitVector needs = {};                    ///< The waits for MMAs that come before it, or that it is.
  };

  /// Returns the graph for a step list. The error says why the loop cannot run as the list says.
  static llvm::Expected<LoopGraph> of(mlir::scf::ForOp loop, llvm::ArrayRef<sm::Step> steps);

  mlir::scf::ForOp loop;
  std::vector<Node> nodes; ///< In program order.
  llvm::DenseMap<mlir::Operation *, Number> numbers;
  llvm::SmallVector<sm::AsyncProduct> mmas;  ///< In the order in which they start.
  llvm::SetVector<mlir::Operation *> others; ///< The ops that the list names and that are no MMAs, in its order.
  /// The comparisons of the loop variable with its first value. They are constant in all iterations but the first, and
  /// in the first.
  llvm::SmallVector<mlir::Operation *> comparisons;
  llvm::DenseSet<mlir::Operation *> coveredFences; ///< Fences of releases whose work a store does.
  llvm::SetVector<mlir::Value> handedOver; ///< The values of an iteration that delayed ops need in the next one.

  bool isInBody(mlir::Value value) const { return value.getParentBlock() == mlir::scf::ForOp(loop).getBody(); }
  bool isDelayed(mlir::Operation *op) const {
    auto number = numbers.find(op);
    return number != numbers.end() && nodes[number->second].isDelayed;
  }
  bool isAnyDelayed() const {
    return llvm::any_of(nodes, [](const Node &node) { return node.isDelayed; });
  }
  /// Returns true if the next iteration adds to the accumulators while they are in flight.
  bool staysInFlight(sm::AsyncProduct mma) const { return !isDelayed(mma) && isDelayed(awaitOf(mma)); }
  /// Returns the number of MMAs of the same iteration that must be over before `mma` can start.
  unsigned countNeeds(sm::AsyncProduct mma) const { return nodes[numbers.at(mma)].needs.count(); }
  /// Returns the number of ops of the iteration that wait for `mma` alone.
  unsigned countFollowers(sm::AsyncProduct mma) const;
  /// Returns the op with all that it depends on.
  llvm::BitVector sliceOf(Number op) const;
  /// Returns the fence of a release, unless a store makes it unnecessary.
  mlir::Operation *fenceOf(mlir::Operation *op) const;
};

} // namespace tegula::cuda
