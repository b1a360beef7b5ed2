// SPDX-License-Identifier: MIT
// The lowering to threads: one walk over the function in order that builds the program of one thread beside it.
#pragma once

#include "compiler/cuda/Scalars.h"
#include "compiler/emit/Instructions.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

namespace mlir::scf {
class ForOp;
class IfOp;
class WhileOp;
} // namespace mlir::scf

namespace tegula::cuda {

/// A tensor in global memory.
struct View {
  mlir::Value base;                                 ///< i64, in bytes.
  llvm::SmallVector<mlir::Value, 5> sizes, strides; ///< index; strides count elements.
  mlir::Type element;

  unsigned elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
};

/// Where in a tile a thread is, by its lane and warp. Register r of the thread holds the element at
/// `origin + registerOffset(tile, r)`.
struct ThreadCoordinates {
  llvm::SmallVector<mlir::Value, 5> origin; ///< i32, one per dimension.
  /// i1: of the threads that hold copies of these elements, this is the one that writes them. Null if all do.
  mlir::Value writes;
};

/// How many registers of a thread hold a tile.
unsigned registerCount(mlir::RankedTensorType tile);
/// What a register's number contributes to its coordinates.
sm::Coordinates registerOffset(mlir::RankedTensorType tile, unsigned reg);

/// What TMA must know of a tensor that a function copies boxes of.
struct TensorMap {
  int64_t parameter; ///< Its number among the function's.
  int64_t rows;      ///< Of a box.
  int64_t columns;   ///< Where the tensor's rows end for this use, if not earlier.

  static constexpr int64_t kAllColumns = std::numeric_limits<int32_t>::max();

  TensorMap(mlir::Value view, int64_t rows, int64_t columns);
  bool operator==(const TensorMap &) const = default;
};

class Threads {
public:
  explicit Threads(mlir::func::FuncOp source);
  /// Replaces the source function.
  mlir::LogicalResult run();

  //===-- Emitting -----------------------------------------------------------------------------------------------===//
  mlir::ImplicitLocOpBuilder b; ///< Its location is that of the op being lowered.
  Scalars s{b};
  emit::Instructions gpu{b};

  /// Emits at the entry of the function, from where the value dominates everything. What `emit` uses must be from
  /// there too: constants, lane(), warp() and other such values.
  mlir::Value atEntry(llvm::function_ref<mlir::Value()> emit);
  /// A branch, each side of which emits values of these types.
  llvm::SmallVector<mlir::Value> either(mlir::Value condition, mlir::TypeRange types,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);
  void either(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// Registers as they pass the end of a branch: two of 16 bits as one of 32, where their number is even.
  llvm::SmallVector<mlir::Value> packed(llvm::ArrayRef<mlir::Value> registers);
  /// Of `count` registers of type `element`.
  static std::pair<mlir::Type, unsigned> packedType(mlir::Type element, unsigned count);
  llvm::SmallVector<mlir::Value> unpacked(mlir::Type element, unsigned count, llvm::ArrayRef<mlir::Value> words);
  mlir::Value lane() const { return lane_; } ///< i32
  mlir::Value warp() const { return warp_; } ///< i32
  mlir::Value isFirstLane() { return s.compare(Scalars::Compare::eq, lane_, 0); }
  int64_t warps() const { return warps_; }
  /// 80 for sm_80.
  int64_t arch() const { return arch_; }

  /// Waits for all threads that run this part of the program: those of the role, or the block.
  void barrier();

  //===-- What the values of the source have become --------------------------------------------------------------===//
  /// A tile's registers, in the order of its layout's register digits.
  llvm::ArrayRef<mlir::Value> registers(mlir::Value tile) const { return values_.at(tile); }
  mlir::Value scalar(mlir::Value scalar) const { return values_.at(scalar).front(); }
  llvm::SmallVector<mlir::Value> scalars(mlir::ValueRange scalars) const {
    return llvm::map_to_vector(scalars, [&](mlir::Value x) { return scalar(x); });
  }
  /// i32: of a `!sm.shared`, in bytes.
  mlir::Value sharedAddress(mlir::Value shared) const { return values_.at(shared).front(); }
  View view(mlir::Value view) const { return views_.at(view); }

  void define(mlir::Value value, llvm::ArrayRef<mlir::Value> registers);
  void define(mlir::Value view, const View &is) { views_[view] = is; }

  //===-- Which elements a thread holds --------------------------------------------------------------------------===//
  /// Made once per layout, at the function's entry.
  ThreadCoordinates place(mlir::RankedTensorType tile);
  /// The same, computed here from the number of the lane, so that nothing of it stays in registers.
  ThreadCoordinates recomputePlace(mlir::RankedTensorType tile);
  /// The same i32, but nobody knows: a number that comes out of a lane.
  mlir::Value opaque(mlir::Value number) { return gpu.shuffleXor(number, 0); }
  /// Whether the register holds an element of the tile along `dim` rather than padding. Null if all threads' do.
  mlir::Value inside(mlir::RankedTensorType tile, unsigned reg, unsigned dim);
  /// The same along all dimensions.
  mlir::Value inside(mlir::RankedTensorType tile, unsigned reg);

  //===-- Shared memory ------------------------------------------------------------------------------------------===//
  /// i32 address of a place in the block's shared memory.
  mlir::Value sharedMemory(int64_t offset);
  /// i32 address of scratch memory for the whole block, aligned to 16 bytes. All uses share it: who writes it leaves
  /// with a barrier after the last read.
  mlir::Value scratch(int64_t bytes);
  /// i32 address of memory that no one else uses, aligned to 8 bytes.
  mlir::Value reserve(int64_t bytes);

  //===-- Roles --------------------------------------------------------------------------------------------------===//
  mlir::LogicalResult lowerRoles(sm::RolesOp roles);
  /// In the part of a producer in which one lane asks TMA for tiles, rather than a warp copies them.
  bool loadsByTma() const { return loadsByTma_; }
  /// The kernel's parameter that describes it to TMA.
  mlir::Value parameterOf(const TensorMap &map);
  /// i1: whether the runtime could describe it.
  mlir::Value exists(const TensorMap &map);
  /// i1: whether it could describe all tensors of which producers feed tiles, but for those with tma_only; with `map`,
  /// that one, too.
  mlir::Value canLoadByTma();
  mlir::Value canLoadByTma(const TensorMap &map);

private:
  void buildSignature();
  void findTensorMaps();
  void describeOnModule();
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerRegion(mlir::Block &from, mlir::Block *to, bool pack);
  mlir::LogicalResult lowerRole(mlir::Block &role, unsigned registers, bool more);
  mlir::LogicalResult lowerProducer(mlir::Block &producer);
  int64_t bitOf(const TensorMap &map) const;
  /// i1: whether the runtime could describe all tensors of these bits.
  mlir::Value areKnown(int64_t bits);

  mlir::func::FuncOp source_, target_;
  mlir::Operation *entryEnd_ = nullptr; ///< The last op of what atEntry has emitted.
  mlir::Value lane_, warp_, sharedBase_;
  int64_t warps_, arch_, sharedBytes_;
  bool hasRoles_ = false; ///< Inside an sm.roles.
  bool loadsByTma_ = false;
  llvm::SmallVector<TensorMap> tensorMaps_;
  int64_t neededMaps_ = 0; ///< By bits, of feeds but for those with tma_only.
  std::optional<int64_t> scratchOffset_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 0>> values_; // on the heap: registers() stays valid
  llvm::DenseMap<mlir::Value, View> views_;
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, ThreadCoordinates> places_;
};

//===-- One op each ----------------------------------------------------------------------------------------------===//

// Views.cpp
/// `words` are a tensor's base address, sizes and strides, or a scalar in the low bytes of one.
void defineParameter(Threads &t, mlir::Value parameter, mlir::ValueRange words);
mlir::LogicalResult lower(Threads &t, tile::ProgramIdOp op);
mlir::LogicalResult lower(Threads &t, tile::NumProgramsOp op);
mlir::LogicalResult lower(Threads &t, tile::DimOp op);
mlir::LogicalResult lower(Threads &t, tile::SliceOp op);

// Shapes.cpp
mlir::LogicalResult lower(Threads &t, mlir::arith::ConstantOp op);
mlir::LogicalResult lower(Threads &t, tile::IotaOp op);
mlir::LogicalResult lower(Threads &t, sm::LinearOp op);
mlir::LogicalResult lower(Threads &t, sm::OpaqueOp op);
mlir::LogicalResult lower(Threads &t, sm::WarpgroupOp op);
mlir::LogicalResult lower(Threads &t, tile::BroadcastOp op);
mlir::LogicalResult lower(Threads &t, tile::ReshapeOp op);
mlir::LogicalResult lower(Threads &t, tile::TransposeOp op);

// Elementwise.cpp
/// Arithmetic on scalars, or on tiles element by element.
mlir::LogicalResult lowerElementwise(Threads &t, mlir::Operation *op);

// Functions.cpp: of an f32.
mlir::Value exp(Threads &t, mlir::Value x);
mlir::Value log(Threads &t, mlir::Value x);
mlir::Value tanh(Threads &t, mlir::Value x);

// Reductions.cpp
mlir::LogicalResult lower(Threads &t, tile::ReduceOp op);
mlir::LogicalResult lower(Threads &t, tile::AnyOp op);
mlir::LogicalResult lower(Threads &t, sm::PartialReduceOp op);

// GlobalMemory.cpp
mlir::LogicalResult lower(Threads &t, tile::LoadOp op);
mlir::LogicalResult lower(Threads &t, tile::StoreOp op);
mlir::LogicalResult lower(Threads &t, tile::AtomicAddOp op);
/// By one thread, for all that run this part of the program. A barrier, too.
mlir::LogicalResult lower(Threads &t, tile::NextWorkOp op);
mlir::LogicalResult lower(Threads &t, tile::GatherOp op);
mlir::LogicalResult lower(Threads &t, tile::ScatterAddOp op);

// Buffers.cpp
mlir::LogicalResult lower(Threads &t, sm::AllocOp op);
mlir::LogicalResult lower(Threads &t, sm::SlotOp op);
mlir::LogicalResult lower(Threads &t, sm::ColumnsOp op);
mlir::LogicalResult lower(Threads &t, sm::CommitOp op);
mlir::LogicalResult lower(Threads &t, sm::WaitOp op);
mlir::LogicalResult lower(Threads &t, sm::BarrierOp op);
mlir::LogicalResult lower(Threads &t, sm::ProxyFenceOp op);

// SharedAccess.cpp
mlir::LogicalResult lower(Threads &t, sm::ReadOp op);
mlir::LogicalResult lower(Threads &t, sm::WriteOp op);

// Copies.cpp
mlir::LogicalResult lower(Threads &t, sm::CopyInOp op);
mlir::LogicalResult lower(Threads &t, sm::CopyOutOp op);
mlir::LogicalResult lower(Threads &t, sm::FallbackCopyOp op);

// Boxes.cpp
/// Whether TMA could be asked to store the tile. It reads it later: who writes there waits.
bool canStoreBoxes(sm::CopyOutOp copy);
/// i1: whether the tensors and positions of this launch are such that TMA can store the tile.
mlir::Value areBoxes(Threads &t, sm::CopyOutOp copy);
/// i1: whether the tile begins where a box can, and TMA knows all that it must.
mlir::Value isBox(Threads &t, sm::ProducerLoadOp feed);
mlir::Value isBox(Threads &t, sm::FallbackCopyOp fill);
/// Starts the copies, whose bytes count at the mbarrier `full`. One lane does.
void loadBoxes(Threads &t, sm::ProducerLoadOp feed, mlir::Value full);
/// Starts the copies of this warp's rows.
void storeBoxes(Threads &t, sm::CopyOutOp copy);
/// Waits until boxes that this warp has stored from the place that `write` overwrites have been read, if any may have.
void waitForBoxesOf(Threads &t, sm::WriteOp write);
/// Lets TMA see what this thread has written, if boxes of it may be stored.
void publishToBoxes(Threads &t, sm::WriteOp write);

/// Does what `feed` says by the plain accesses of one warp.
void copyByWarp(Threads &t, sm::ProducerLoadOp feed);

// Mma.cpp
mlir::LogicalResult lower(Threads &t, sm::MmaOp op);

// Warpgroups.cpp
mlir::LogicalResult lower(Threads &t, sm::PackOp op);
mlir::LogicalResult lower(Threads &t, sm::WgmmaOp op);
mlir::LogicalResult lower(Threads &t, sm::WgmmaWaitOp op);

// Roles.cpp
mlir::LogicalResult lower(Threads &t, sm::MbarriersOp op);
mlir::LogicalResult lower(Threads &t, sm::ProducerLoadOp op);
mlir::LogicalResult lower(Threads &t, sm::ConsumerWaitOp op);
mlir::LogicalResult lower(Threads &t, sm::ReleaseOp op);
mlir::LogicalResult lower(Threads &t, sm::ProduceWorkOp op);
mlir::LogicalResult lower(Threads &t, sm::ConsumeWorkOp op);
mlir::LogicalResult lower(Threads &t, sm::SequenceInitOp op);
mlir::LogicalResult lower(Threads &t, sm::SequenceWaitOp op);
mlir::LogicalResult lower(Threads &t, sm::SequenceArriveOp op);

} // namespace tegula::cuda
