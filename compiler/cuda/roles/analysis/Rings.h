// SPDX-License-Identifier: MIT
// Rings, through which a producer passes tiles to consumers in slots that are filled again and again.
#pragma once

#include "compiler/sm/Roles.h"

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

/// Creates a channel of `slots` slots with these parts, with their rings in shared memory, or of work indices if there
/// are none. If the readers fill it for each other, each of their warpgroups has a full mbarrier of its own.
sm::ChannelOp makeChannel(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<sm::SharedType> parts, int64_t slots,
                          llvm::StringRef from, llvm::ArrayRef<llvm::StringRef> to);

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

/// The channels of a function: one for each tile that a role loads or transposes, or for several tiles that are needed
/// at once, one for the work index of each loop that draws work indices, and one for accumulators in tensor memory.
class Rings {
public:
  /// Creates the channels at the insertion point of `b`.
  Rings(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<sm::LoadSharedOp> fetches);

  llvm::ArrayRef<sm::LoadSharedOp> fetches() const { return loads_; }
  llvm::ArrayRef<tile::NextWorkOp> work() const { return work_.getArrayRef(); }
  /// Returns the products that a lane starts.
  llvm::ArrayRef<mlir::Operation *> products() const { return products_.getArrayRef(); }
  /// Returns the places of their accumulators, as the program names them.
  llvm::ArrayRef<sm::TensorAllocOp> sums() const { return sums_.getArrayRef(); }
  /// Returns the ring in tensor memory for such a place.
  mlir::Value tensorRing(sm::TensorAllocOp sums) const { return tensorRings_.at(sums); }

  /// Returns true if the tile or the work index of `op` passes through a channel.
  bool isPassed(mlir::Operation *op) const { return channels_.contains(op); }
  /// Returns true if it passes through a channel that the role fills.
  bool isFilledBy(llvm::StringRef role, mlir::Operation *op) const { return isPassed(op) && of(op).getFrom() == role; }
  /// Returns true if the role executes `op`: it fills its channel, starts the product, or hands the accumulators over
  /// where the program reads them.
  bool isOf(llvm::StringRef role, mlir::Operation *op) const;
  /// Returns the channel through which the tile or the work index of `op` passes.
  sm::ChannelOp of(mlir::Operation *op) const { return channels_.at(op); }
  /// Returns the ops that make the tiles of a channel's slots, in the order of the parts.
  llvm::ArrayRef<mlir::Operation *> partsOf(sm::ChannelOp channel) const { return parts_.at(channel); }
  /// Returns the part of the slot that the tile of `op` fills.
  int64_t partOf(mlir::Operation *op) const { return llvm::find(partsOf(of(op)), op) - partsOf(of(op)).begin(); }

  /// Returns the load whose release also frees the slot of `tile`, or null.
  mlir::Operation *releasedWith(mlir::Operation *tile) const { return companions_.lookup(tile); }
  /// Returns true if the release of this load's slot also frees the slot of another load.
  bool isCompanion(mlir::Operation *tile) const {
    return llvm::is_contained(llvm::make_second_range(companions_), tile);
  }

  /// Returns true if the role needs a ring position in the loop: the loop itself has ops whose slots the role fills, or
  /// draws work indices that it reads.
  bool areUsedIn(Loop loop, llvm::StringRef role) const;
  /// Returns the loops in which the role needs ring positions, from `loop` inwards. `loop` carries all of them.
  llvm::SmallVector<Loop> loopsIn(Loop loop, llvm::StringRef role) const;

private:
  llvm::StringRef readerOf(sm::LoadSharedOp load) const;
  bool mayShareSlots(sm::LoadSharedOp one, sm::LoadSharedOp other) const;
  void addTiles(mlir::ImplicitLocOpBuilder &b, sm::LoadSharedOp fetch);
  void addChannel(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Operation *> parts, llvm::StringRef from,
                  llvm::StringRef to);
  void addProducts(mlir::ImplicitLocOpBuilder &b);
  llvm::SmallVector<llvm::StringRef> readersOfWork(mlir::scf::WhileOp loop) const;
  bool areLoadedApart(sm::LoadSharedOp one, sm::LoadSharedOp other) const;
  void findCompanion(sm::LoadSharedOp fetch);

  llvm::SmallVector<sm::LoadSharedOp> loads_;
  llvm::SetVector<tile::NextWorkOp> work_;
  llvm::SetVector<mlir::Operation *> products_;
  llvm::SetVector<sm::TensorAllocOp> sums_;
  llvm::DenseMap<mlir::Operation *, mlir::Value> tensorRings_;
  llvm::DenseMap<mlir::Operation *, sm::ChannelOp> channels_; ///< By the op that makes a tile or draws a work index.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>> parts_; ///< By channel.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> companions_;
};

/// Returns true if `op` is a product that one lane starts.
inline bool isStartedByLane(mlir::Operation *op) {
  auto product = mlir::dyn_cast<sm::AsyncProduct>(op);
  return product && product.getIssuer() == sm::Issuer::lane;
}

/// Returns the place in tensor memory that a product adds to, or that an op reads.
sm::TensorAllocOp sumsOf(mlir::Operation *op);

/// Returns the first or last op of the block of `tile` that uses the tile that it makes, or contains a user.
mlir::Operation *userIn(mlir::Operation *tile, bool last);

/// Waits for the work index of a slot and releases the slot. Returns the index.
mlir::Value receiveWork(mlir::ImplicitLocOpBuilder &b, sm::ChannelOp channel, RingPosition position);

/// Returns the layout in which `warps` warps read a tile that they transpose.
sm::LayoutAttr transposingLayout(sm::SharedType tile, int64_t warps);
/// Reads a tile in shared memory to the registers of `warps` warps. Returns its transpose.
mlir::Value readTransposed(mlir::ImplicitLocOpBuilder &b, mlir::Value tile, int64_t warps);

/// Gives a role that loads or transposes tiles its program: the ops that fill its rings, and the loops around them.
void buildProducer(const Rings &rings, sm::RoleRef role);

/// Replaces each passed tile in the role that computes by a consumer wait, adds a release after its last use, and makes
/// loops carry ring positions. Call it after buildProducer, because it erases the ops that `rings` refers to.
void buildConsumers(const Rings &rings, sm::RolesOp roles);

} // namespace tegula::cuda
