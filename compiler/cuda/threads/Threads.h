// SPDX-License-Identifier: MIT
// The lowering to threads: one walk over the function, in order, that builds the program of one thread next to it.
#pragma once

#include "compiler/emit/Instructions.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Scalars.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

namespace mlir::scf {
class ForOp;
class IfOp;
class WhileOp;
} // namespace mlir::scf

namespace tegula::cuda {

using tile::Scalars;

/// A tensor in global memory. Its base is an i64, and its unit a byte.
struct View : tile::ViewParts {
  mlir::Type element;

  int64_t elementBytes() const { return unit; }
};

/// A tile in shared memory.
struct SharedPlace {
  sm::SharedType type;
  mlir::Value address; ///< i32, in bytes.
};

/// The coordinates of a thread's first element in a tile, computed from lane and warp. Register r of the thread holds
/// the element at `origin + registerOffset(tile, r)`.
struct ThreadCoordinates {
  llvm::SmallVector<mlir::Value, 5> origin; ///< i32, one per dimension.
  /// i1: true in the thread that writes these elements, among the threads that hold replicas of them. Null if each
  /// thread writes.
  mlir::Value writes;
};

/// Returns the number of registers of a thread that hold `tile`.
unsigned registerCount(mlir::RankedTensorType tile);
/// Returns what the register number `reg` contributes to the coordinates of its element.
sm::Coordinates registerOffset(mlir::RankedTensorType tile, unsigned reg);

/// The description of a tensor that TMA needs to copy boxes from or to it.
struct TensorMap {
  int64_t parameter;                 ///< The index of the function's parameter.
  llvm::SmallVector<int64_t, 2> box; ///< The sizes of a box, the innermost dimension first.
  int64_t swizzle;                   ///< The width of the swizzle in bytes; 0 for none.
  int64_t columns;                   ///< The number of columns that TMA sees, if the tensor has more.
  bool endsInside;                   ///< True if a box may name an end of its rows inside the tensor.
  int64_t joined;                    ///< The dimension through which rows count, too, as `sm::joinedDimension` says.

  static constexpr int64_t kAllColumns = std::numeric_limits<int32_t>::max();

  /// Describes boxes of the buffer type `tile`: `rows` rows of a panel, or a whole vector.
  TensorMap(mlir::Value view, sm::SharedType tile, int64_t rows, int64_t columns);
  /// Describes the boxes for additions from a buffer: a warp's rows of one panel. TMA may see all columns if there is
  /// no limit.
  static TensorMap ofAdditions(mlir::Value tensor, sm::SharedType buffer, std::optional<int64_t> columns,
                               bool endsInside);
  bool operator==(const TensorMap &) const = default;
};

class Threads {
public:
  explicit Threads(mlir::func::FuncOp source);
  /// Builds the function of one thread and erases the source function.
  mlir::LogicalResult run();

  //===-- Emitting -----------------------------------------------------------------------------------------------===//
  mlir::ImplicitLocOpBuilder b; ///< Has the location of the op that is being lowered.
  Scalars s{b};
  emit::Instructions gpu{b};

  /// Emits at the entry of the function, where the value dominates all later code. The values that `emit` uses must be
  /// emitted there, too, such as constants, lane() and warp().
  mlir::Value atEntry(llvm::function_ref<mlir::Value()> emit);
  /// Emits a branch. Each side emits values of these types, and the branch returns them.
  llvm::SmallVector<mlir::Value> either(mlir::Value condition, mlir::TypeRange types,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);
  void either(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// Emits a branch that does what `emit` emits if the condition is true. A null condition is always true.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> emit);
  /// Emits a loop whose variable, an i32, goes from `first` in steps to below `end`.
  void repeat(mlir::Value first, mlir::Value end, int64_t step, llvm::function_ref<void(mlir::Value)> emit);
  mlir::Value zero(mlir::Type type) { return mlir::arith::ConstantOp::create(b, b.getZeroAttr(type)); }
  /// Returns registers in the form in which a branch yields them: pairs of 16-bit registers as 32-bit values, if their
  /// number is even.
  llvm::SmallVector<mlir::Value> packed(llvm::ArrayRef<mlir::Value> registers);
  /// Returns type and number of the values that `packed` makes of `count` registers of type `element`.
  static std::pair<mlir::Type, unsigned> packedType(mlir::Type element, unsigned count);
  llvm::SmallVector<mlir::Value> unpacked(mlir::Type element, unsigned count, llvm::ArrayRef<mlir::Value> words);
  mlir::Value lane() const { return lane_; } ///< i32
  /// Returns the number of the warp, an i32: in a role among the warps of the role, otherwise in the thread block.
  mlir::Value warp() const { return warp_; }
  mlir::Value isFirstLane() { return s.compare(Scalars::Compare::eq, lane_, 0); }
  /// Returns an i1: true in the first warp of the role or of the thread block.
  mlir::Value isFirstWarp() { return s.compare(Scalars::Compare::eq, warp_, 0); }
  /// Returns the number of lanes of a warp that execute this part of the program: 1 in an `sm.elect`.
  int64_t lanes() const { return lanes_; }
  /// Returns an i1: true in the lane that acts for its warp. Null if only one lane executes this part of the program.
  mlir::Value isElected() { return lanes_ == 1 ? mlir::Value() : isFirstLane(); }
  /// Returns the number of warps that compute, or of the warps of a role.
  int64_t warps() const { return warps_; }
  /// The compute capability, such as 80 for sm_80.
  int64_t arch() const { return arch_; }

  /// Emits a barrier for all threads that run this part of the program: a role, or the thread block.
  void barrier();

  //===-- Lowered values of the source ---------------------------------------------------------------------------===//
  /// Returns the registers of a tile, in the order of its layout's register digits.
  llvm::ArrayRef<mlir::Value> registers(mlir::Value tile) const { return values_.at(tile); }
  mlir::Value scalar(mlir::Value scalar) const { return values_.at(scalar).front(); }
  llvm::SmallVector<mlir::Value> scalars(mlir::ValueRange scalars) const {
    return llvm::map_to_vector(scalars, [&](mlir::Value x) { return scalar(x); });
  }
  /// Returns the address of a `!sm.shared` in bytes, an i32.
  mlir::Value sharedAddress(mlir::Value shared) const { return values_.at(shared).front(); }
  SharedPlace sharedPlace(mlir::Value shared) const {
    return {mlir::cast<sm::SharedType>(shared.getType()), sharedAddress(shared)};
  }
  View view(mlir::Value view) const { return views_.at(view); }

  void define(mlir::Value value, llvm::ArrayRef<mlir::Value> registers);
  void define(mlir::Value view, const View &is) { views_[view] = is; }

  //===-- Elements of a thread -----------------------------------------------------------------------------------===//
  /// Returns the thread's coordinates in `tile`. Emits them once per layout, at the entry of the function.
  ThreadCoordinates place(mlir::RankedTensorType tile);
  /// Emits the thread's coordinates in `tile` here, from an opaque lane, so that none of them occupies a register
  /// before.
  ThreadCoordinates recomputePlace(mlir::RankedTensorType tile);
  /// Returns a value that equals `number`, an i32, but that ptxas cannot prove equal: a shuffle returns it.
  mlir::Value opaque(mlir::Value number) { return gpu.shuffleXor(number, 0); }
  /// Returns an i1: true if the register's coordinate along `dim` is inside the tile, false if it is padding. Null if
  /// it is inside in all threads.
  mlir::Value inside(mlir::RankedTensorType tile, unsigned reg, unsigned dim);
  /// Returns the same for all dimensions together.
  mlir::Value inside(mlir::RankedTensorType tile, unsigned reg);
  /// Returns `element`, which the register holds, or `otherwise` if its coordinate along `dim` is outside the tile.
  mlir::Value insideOr(mlir::RankedTensorType tile, unsigned reg, unsigned dim, mlir::Value element,
                       mlir::TypedAttr otherwise);

  //===-- Shared memory ------------------------------------------------------------------------------------------===//
  /// Returns the i32 address of byte `offset` of the shared memory of the thread block.
  mlir::Value sharedMemory(int64_t offset);
  /// Returns the i32 address of scratch memory for the whole thread block, aligned to 16 bytes. All uses share it, so
  /// each use must end with a barrier after its last read.
  mlir::Value scratch(int64_t bytes);
  /// Returns the i32 address of memory that nothing else uses, aligned to 8 bytes.
  mlir::Value reserve(int64_t bytes);
  /// Returns the i32 address of a word through which one thread hands a number to the others. All uses share it, so
  /// each use begins with a barrier.
  mlir::Value sharedWord();

  //===-- Roles --------------------------------------------------------------------------------------------------===//
  mlir::LogicalResult lowerRoles(sm::RolesOp roles);
  /// The role that is being lowered.
  const sm::RoleRef &role() const { return *role_; }
  /// Emits what one lane of the warp does. All lanes meet before. In an `sm.elect` it is the lane that is left.
  void byOneLane(llvm::function_ref<void()> emit);
  /// Returns the kernel parameter that contains the tensor map.
  mlir::Value parameterOf(const TensorMap &map);
  /// Returns an i1: true if the runtime could make the tensor map.
  mlir::Value exists(const TensorMap &map);
  /// Returns an i1: true if the runtime could make the tensor maps of all producer loads that are not `tested`. The
  /// overload also requires `map`.
  mlir::Value canLoadByTma();
  mlir::Value canLoadByTma(const TensorMap &map);

private:
  /// Emits what the lane does for which `isLane` (i1) is true.
  void byLane(mlir::Value isLane, llvm::function_ref<void()> emit);
  void buildSignature();
  void findTensorMaps();
  void describeOnModule();
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerRegion(mlir::Block &from, mlir::Block *to, bool pack);
  using Roles = llvm::ArrayRef<sm::RoleRef>;
  mlir::LogicalResult lowerGroups(Roles roles);
  mlir::LogicalResult lowerGroup(Roles group);
  mlir::LogicalResult lowerRole(const sm::RoleRef &role);
  mlir::LogicalResult lowerElect(sm::ElectOp elect);
  int64_t bitOf(const TensorMap &map) const;
  /// Returns an i1: true if the runtime could make all tensor maps of these bits.
  mlir::Value areKnown(int64_t bits);

  mlir::func::FuncOp source_, target_;
  mlir::Operation *entryEnd_ = nullptr; ///< The last op that atEntry has emitted.
  mlir::Value lane_, warp_, sharedBase_;
  int64_t lanes_ = sm::kWarpSize, warps_, arch_, sharedBytes_;
  std::optional<sm::RoleRef> role_;
  llvm::SmallVector<TensorMap> tensorMaps_;
  int64_t neededMaps_ = 0; ///< The bits of the maps of producer loads that are not `tested`.
  std::optional<int64_t> scratchOffset_, sharedWordOffset_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 0>> values_; // On the heap: registers() stays valid
  llvm::DenseMap<mlir::Value, View> views_;
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, ThreadCoordinates> places_;
};

/// Returns the number of this warpgroup in its role, an i32.
inline mlir::Value warpgroupOf(Threads &t) { return t.s.div(t.warp(), sm::kWarpsPerWarpgroup); }

} // namespace tegula::cuda
