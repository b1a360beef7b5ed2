// SPDX-License-Identifier: MIT
// Rings, through which a producer passes tiles to consumers in slots that are filled again and again.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::cuda {

using Loop = mlir::LoopLikeOpInterface;

/// Returns the body of a loop; its first argument is the iteration index. For an scf.while this is the second region.
inline mlir::Block *bodyOf(Loop loop) { return &loop.getLoopRegions().back()->front(); }
inline mlir::ValueRange carriedIn(Loop loop) { return mlir::ValueRange(bodyOf(loop)->getArguments()).drop_front(); }

/// Returns the loop directly around `op`, or null.
inline Loop loopOf(mlir::Operation *op) { return mlir::dyn_cast<Loop>(op->getParentOp()); }

/// Returns the number of slots of the rings that are filled in `loop`, as planned; 1 if `loop` is null.
int64_t slotsIn(Loop loop);

/// Creates a channel of `slots` tiles, with its ring in shared memory, or of work indices if `tile` is null. If the
/// readers fill it for each other, each of their warpgroups has a full mbarrier of its own.
sm::ChannelOp makeChannel(mlir::ImplicitLocOpBuilder &b, sm::SharedType tile, int64_t slots, llvm::StringRef from,
                          llvm::StringRef to);

/// The next slot of a ring, and the parity of its mbarrier phase. CUTLASS calls this PipelineState.
struct RingPosition {
  mlir::Value slot, phase;

  static RingPosition first(mlir::ImplicitLocOpBuilder &b);
  /// Returns the position in the last two of the values that a loop carries.
  static RingPosition lastOf(mlir::ValueRange carried) { return {carried.drop_back().back(), carried.back()}; }
  /// Returns the position after this one in a ring of `slots` slots. The phase flips after each round.
  RingPosition next(mlir::ImplicitLocOpBuilder &b, int64_t slots) const;
};

/// Lets `loop`, and the loops around it, carry the position of a ring of `slots` slots, of which each iteration of
/// `loop` uses one. Replaces the loops. Returns the new form of `loop`; the position is the last of what it carries.
Loop carryRingPosition(Loop loop, int64_t slots);

/// The channels of a function: one for each tile that the producer loads, and one for the work index of each loop that
/// draws work indices.
class Rings {
public:
  /// Creates the channels at the insertion point of `b`.
  Rings(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<sm::LoadSharedOp> fetches);

  llvm::ArrayRef<sm::LoadSharedOp> fetches() const { return loads_; }
  llvm::ArrayRef<tile::NextWorkOp> work() const { return work_.getArrayRef(); }

  bool isProducerLoaded(mlir::Operation *op) const { return channels_.contains(op); }
  /// Returns the channel through which the tile or the work index of `op` passes.
  mlir::Value of(mlir::Operation *op) const { return channels_.at(op); }

  /// Returns the load whose release also frees this load's slot, or null.
  sm::LoadSharedOp releasedWith(sm::LoadSharedOp fetch) const { return companions_.lookup(fetch); }
  /// Returns true if the release of this load's slot also frees the slot of another load.
  bool isCompanion(sm::LoadSharedOp fetch) const {
    return llvm::is_contained(llvm::make_second_range(companions_), fetch);
  }

  /// Returns true if the loop itself contains loads of the producer or draws work indices, so that it needs a ring
  /// position.
  bool areFilledIn(Loop loop) const;
  /// Returns the loops that fill rings, from `loop` inwards. `loop` carries the ring positions of all of them.
  llvm::SmallVector<Loop> loopsIn(Loop loop) const;

private:
  bool areLoadedApart(sm::LoadSharedOp one, sm::LoadSharedOp other) const;
  void findCompanion(sm::LoadSharedOp fetch);

  llvm::SmallVector<sm::LoadSharedOp> loads_;
  llvm::SetVector<tile::NextWorkOp> work_;
  llvm::DenseMap<mlir::Operation *, mlir::Value> channels_; ///< By the op that loads a tile or draws a work index.
  llvm::DenseMap<mlir::Operation *, sm::LoadSharedOp> companions_;
};

/// Returns the first or last op of the load's block that uses the tile or contains a user.
mlir::Operation *userIn(sm::LoadSharedOp fetch, bool last);

/// Fills the role that loads with the producer loads of all rings and the loops around them.
void buildProducer(const Rings &rings, sm::RolesOp roles);

/// Replaces each load in the role that computes by a consumer wait, adds a release after its last use, and makes loops
/// carry ring positions. Call it after buildProducer, because it erases the loads that `rings` refers to.
void buildConsumers(const Rings &rings, sm::RolesOp roles);

} // namespace tegula::cuda
