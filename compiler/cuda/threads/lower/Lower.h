// SPDX-License-Identifier: MIT
// The lowerings of single ops. A new op needs a function in a file of this folder, and its name in the last lines
// there.
#pragma once

#include "compiler/cuda/threads/Threads.h"

namespace tegula::cuda {

/// The functions that lower ops to the program of one thread, by kind of op.
class Lowerings {
public:
  static const Lowerings &all();

  /// Lets `lower` lower all ops of these kinds. It takes a Threads and the op, and returns a LogicalResult if it can
  /// fail.
  template <class... Ops, class Function> void add(Function lower) {
    auto one = [&]<class Op>(Op *) {
      functions_[mlir::TypeID::get<Op>()] = [lower](Threads &t, mlir::Operation *op) -> mlir::LogicalResult {
        if constexpr (std::is_void_v<decltype(lower(t, mlir::cast<Op>(op)))>) {
          lower(t, mlir::cast<Op>(op));
          return mlir::success();
        } else {
          return lower(t, mlir::cast<Op>(op));
        }
      };
    };
    (one(static_cast<Ops *>(nullptr)), ...);
  }

  /// Lowers `op` by its function; without one, as a view of a view or as elementwise arithmetic.
  mlir::LogicalResult lower(Threads &t, mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::TypeID, std::function<mlir::LogicalResult(Threads &, mlir::Operation *)>> functions_;
};

void addViewLowerings(Lowerings &known);
void addShapeLowerings(Lowerings &known);
void addReductionLowerings(Lowerings &known);
void addCumsumLowerings(Lowerings &known);
void addGlobalMemoryLowerings(Lowerings &known);
void addBufferLowerings(Lowerings &known);
void addSharedAccessLowerings(Lowerings &known);
void addCopyLowerings(Lowerings &known);
void addBoxLowerings(Lowerings &known);
void addMmaLowerings(Lowerings &known);
void addWarpgroupLowerings(Lowerings &known);
void addTensorMemoryLowerings(Lowerings &known);
void addChannelLowerings(Lowerings &known);
void addNamedBarrierLowerings(Lowerings &known);
void addSequenceLowerings(Lowerings &known);
void addTurnLowerings(Lowerings &known);
void addRandomLowerings(Lowerings &known);

/// Defines a parameter of the source function. `words` are the base address, sizes and strides of a tensor, or one
/// value with a scalar in the low bytes.
void defineParameter(Threads &t, mlir::Value parameter, mlir::ValueRange words);

/// The program of one thread, for the ops of views.
class ThreadProgram final : public tile::LoweredProgram {
public:
  explicit ThreadProgram(Threads &t) : t_(t) {}
  mlir::Value scalar(mlir::Value source) override { return t_.scalar(source); }
  mlir::Value sizeOf(mlir::Value view) override { return t_.view(view).sizes.front(); }
  mlir::Value entry(mlir::Value view, mlir::Value at) override;

private:
  Threads &t_;
};

/// Lowers an op that makes a view of another view.
void lowerView(Threads &t, tile::ViewOpInterface op);

/// Returns the registers of a choice between two tiles on conditions of positions, which become bits of words. Returns
/// nothing if that saves few instructions.
llvm::SmallVector<mlir::Value> chooseByBits(Threads &t, mlir::arith::SelectOp op);

/// Loads what the warp has that differs from this one only in a digit of its number.
using LoadOfWarp = llvm::function_ref<mlir::Value(int64_t digit)>;
/// Lets warps that differ only in `digit` exchange `values` of 4 bytes through scratch memory. Calls `take` with the
/// index of each value, and with a function that loads this value of another warp.
void exchangeBetweenWarps(Threads &t, llvm::ArrayRef<mlir::Value> values, const sm::DigitAlong &digit,
                          llvm::function_ref<void(size_t, LoadOfWarp)> take);

/// Lowers arithmetic on scalars, or on tiles element by element.
mlir::LogicalResult lowerElementwise(Threads &t, mlir::Operation *op);

/// Casts floats of one type to `to`.
llvm::SmallVector<mlir::Value> castFloats(Threads &t, mlir::ValueRange elements, mlir::Type to);

// Functions of an f32.
mlir::Value exp(Threads &t, mlir::Value x);
mlir::Value log(Threads &t, mlir::Value x);
mlir::Value tanh(Threads &t, mlir::Value x);
mlir::Value divide(Threads &t, mlir::Value x, mlir::Value y);

} // namespace tegula::cuda
