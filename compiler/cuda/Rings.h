// SPDX-License-Identifier: MIT
// Through which a producer feeds consumers, in slots that are filled again and again.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::cuda {

using Loop = mlir::LoopLikeOpInterface;

/// Of a loop whose iterations have one number, the first of the block's arguments.
inline mlir::Block *bodyOf(Loop loop) { return &loop.getLoopRegions().back()->front(); }
inline mlir::ValueRange carriedIn(Loop loop) { return mlir::ValueRange(bodyOf(loop)->getArguments()).drop_front(); }

/// Around a fetch, a load or a claim; null if there is none.
inline Loop loopOf(mlir::Operation *op) { return mlir::dyn_cast<Loop>(op->getParentOp()); }

/// Of a ring that is filled in `loop`, if not null. An outer loop's next tile comes while the inner one still works on
/// this.
int64_t slotsIn(Loop loop, int64_t stages);

/// The place in a ring at some time.
struct RingPosition {
  mlir::Value slot, phase;

  static RingPosition first(mlir::ImplicitLocOpBuilder &b);
  /// In a ring of so many slots. The phase changes with each round.
  RingPosition next(mlir::ImplicitLocOpBuilder &b, int64_t slots) const;
};

/// A ring and what says which of its slots is next. Numbers of iterations lie beside the mbarriers, in no ring.
struct Channel {
  mlir::Value ring, mbarriers;
};

/// Those of a program's fetches, and of the claims of the loops that these are in.
class Rings {
public:
  /// Places them where `b` is. An innermost loop's has `stages` slots.
  Rings(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<sm::LoadSharedOp> fetches, int64_t stages);

  llvm::ArrayRef<sm::LoadSharedOp> fetches() const { return loads_; }
  llvm::ArrayRef<tile::NextWorkOp> work() const { return work_.getArrayRef(); }

  bool isProducerLoaded(mlir::Operation *op) const { return channels_.contains(op); }
  Channel of(mlir::Operation *op) const { return channels_.at(op); }
  int64_t slotsIn(Loop loop) const { return cuda::slotsIn(loop, stages_); }

  /// Whose slots come back together with this one's; null for most.
  sm::LoadSharedOp companionOf(sm::LoadSharedOp fetch) const { return companions_.lookup(fetch); }
  /// Whether another's slots come back with this one's.
  bool isCompanion(sm::LoadSharedOp fetch) const {
    return llvm::is_contained(llvm::make_second_range(companions_), fetch);
  }

  /// Whether the loop has fetches or a claim of its own, so that it needs to know which slot is next.
  bool areFilledIn(Loop loop) const;
  /// The loops that fill rings from `loop` inwards: it counts the turns of all of them.
  llvm::SmallVector<Loop> loopsIn(Loop loop) const;

private:
  mlir::Value makeMbarriers(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op);
  void makeChannel(mlir::ImplicitLocOpBuilder &b, sm::LoadSharedOp fetch);
  void findCompanion(sm::LoadSharedOp fetch);

  llvm::SmallVector<sm::LoadSharedOp> loads_;
  int64_t stages_;
  llvm::SetVector<tile::NextWorkOp> work_;
  llvm::DenseMap<mlir::Operation *, Channel> channels_; ///< Of fetches and claims.
  llvm::DenseMap<mlir::Operation *, sm::LoadSharedOp> companions_;
};

/// The first or last op of the fetch's block in which a user is.
mlir::Operation *userIn(sm::LoadSharedOp fetch, bool last);

/// Fills the producer's region with what feeds the rings of the consumers' program.
void buildProducer(const Rings &rings, sm::RolesOp roles);

/// The consumers' fetches become receives, behind which slots are released, and loops count the turns of rings. Last:
/// `rings` knows them as fetches.
void buildConsumers(const Rings &rings, sm::RolesOp roles);

} // namespace tegula::cuda
