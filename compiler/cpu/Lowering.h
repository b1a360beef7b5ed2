// SPDX-License-Identifier: MIT
// The state of one lowering from tiles to loops. Each file that shares it lowers one kind of op.
#pragma once

#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace tegula::cpu {

class Window;

inline constexpr int64_t kCacheLine = 64; ///< In bytes.

/// A tile in memory. `memory` has the physical shape: the tile's own, or reversed for Order::Column. Its rows are
/// padded to an odd number of cache lines, which are whole vectors. An even number would map the rows of a panel to few
/// sets of the cache. The tile of a load with the attribute `tile.alias` has the elements and the rows of the tensor.
struct Buffer {
  mlir::Value memory;
  Order order = Order::Row;
  bool isTensor = false;  ///< The tile of a load with the attribute `tile.alias`.
  bool continues = false; ///< The rows after the tile's last one are read soon.

  int64_t contiguousDim(int64_t rank) const { return order == Order::Row ? rank - 1 : 0; }
};

/// A view. `flat` is all memory from the tensor's base on, which the places of elements count from.
struct View : tile::ViewParts {
  mlir::Value flat;
};

/// An index, or a computed element, and the number of loops of the nest that it depends on.
struct Element {
  mlir::Value value;
  int depth = 0;
};

/// A loop nest under construction. A value that depends on d loops is emitted inside loop d, before the loops that it
/// does not need.
struct Nest {
  llvm::SmallVector<mlir::Operation *, 4> before; ///< before[d]: the insertion point at loop depth d.
  llvm::SmallVector<Element, 4> position;         ///< One index per dimension of the tile that is computed.
  struct Computed {
    mlir::Value tile;
    llvm::SmallVector<mlir::Value, 4> position;
    int vectorDim;
    Element result;
  };
  llvm::SmallVector<Computed> computed;

  int depth() const { return static_cast<int>(before.size()) - 1; }
};

/// The vectorised dimension if elements are computed one at a time.
inline constexpr int kScalar = -1;

/// The lowering of one kernel from tiles to loops over vectors.
class Lowering {
public:
  Lowering(mlir::func::FuncOp source, int64_t lanes);

  /// Emits the body function before the source, and erases the source. Fails after reporting an error at an op that it
  /// cannot lower.
  mlir::LogicalResult run();

private:
  // Structure (LowerToLoops.cpp).
  void buildSignature();
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerScalar(mlir::Operation *op);
  mlir::LogicalResult lowerBranchBody(mlir::Block *from, mlir::Block *to, llvm::ArrayRef<Buffer> results);
  void copyYielded(mlir::Operation *yield, llvm::ArrayRef<Buffer> targets);

  // Buffers and nests (Nests.cpp).
  Buffer allocate(mlir::RankedTensorType type, Order order);
  Buffer allocate(mlir::RankedTensorType type, Order order, mlir::Type stored);
  Buffer bufferFor(mlir::Operation *op);
  Nest openNest(llvm::ArrayRef<int64_t> shape, int vectorDim, llvm::ArrayRef<int64_t> skipped = {});
  Nest here(llvm::ArrayRef<mlir::Value> position);
  void materialize(mlir::Value tile, Buffer target);
  int naturalVectorDim(mlir::Value tile);
  void lowerReduce(tile::ReduceOp reduce);
  void lowerCumsum(tile::CumsumOp cumsum);
  void lowerAny(tile::AnyOp any);
  /// Lowers a `tile.columns` or `tile.join`.
  void lowerColumns(mlir::Operation *op);
  /// Copies column j of `count`, from column `from.first + from.step * j` of the source to column
  /// `to.first + to.step * j` of the buffer of a tile of type `type`.
  void copyColumns(mlir::Value source, const tile::ColumnRange &from, const Buffer &target, mlir::RankedTensorType type,
                   const tile::ColumnRange &to);
  /// Returns the mask of the lanes that are inside a dimension of `size` elements, for a vector that begins at `at`.
  mlir::Value lanesInside(mlir::Value at, int64_t size);

  // One element, or one vector of them along `vectorDim`, of a tile (Elements.cpp).
  Element element(Nest &nest, mlir::Value tile, llvm::ArrayRef<Element> position, int vectorDim);
  Element compute(Nest &nest, mlir::Value tile, llvm::ArrayRef<Element> position, int vectorDim);
  Element bufferElement(Nest &nest, const Buffer &buffer, mlir::RankedTensorType type, llvm::ArrayRef<Element> position,
                        int vectorDim);
  Element constantElement(mlir::arith::ConstantOp constant, int vectorDim);
  Element iotaElement(Nest &nest, tile::IotaOp iota, llvm::ArrayRef<Element> position, int vectorDim);
  Element broadcastElement(Nest &nest, tile::BroadcastOp op, llvm::ArrayRef<Element> position, int vectorDim);
  Element reshapeElement(Nest &nest, tile::ReshapeOp op, llvm::ArrayRef<Element> position, int vectorDim);
  Element reshapeLanes(Nest &nest, tile::ReshapeOp op, llvm::ArrayRef<Element> position, int vectorDim);
  Element elementwise(Nest &nest, mlir::Operation *op, llvm::ArrayRef<Element> position, int vectorDim);
  mlir::Value arithmetic(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, mlir::Type resultElement,
                         bool vector);

  // Views (Loads.cpp, Stores.cpp).
  View kernelArgument(mlir::Value flat, int64_t rank, int64_t firstWord);
  void lowerView(tile::ViewOpInterface op);
  void lowerLoad(tile::LoadOp load);
  /// Copies the tile of a load to its buffer.
  void copyToBuffer(tile::LoadOp load, Window &m, const Buffer &target);
  /// Lowers a store or an atomic addition. With a condition, a store writes only elements at which it is true.
  void lowerStore(mlir::Operation *op, mlir::Value tile, mlir::Value view, mlir::ValueRange position,
                  mlir::Value condition = {});
  void lowerGather(tile::GatherOp gather);
  void lowerScalarGather(tile::GatherOp gather);
  /// Loads the element at these indices, or a vector of elements if the indices are vectors. Returns zeros for elements
  /// outside the view. The result has the type of memory.
  mlir::Value gatherElements(View view, mlir::Type element, llvm::ArrayRef<mlir::Value> indices);
  /// Lowers a store of single elements, or an addition of single elements.
  void lowerScatter(mlir::Operation *op, mlir::Value tile, mlir::Value view, mlir::ValueRange indices);
  void lowerAddInTurn(tile::AtomicAddOp add);
  void lowerArrive(tile::ArriveOp arrive);
  void lowerNextWork(tile::NextWorkOp work);

  // Matrix products (Dot.cpp, DotAlongDepth.cpp).
  void lowerDot(tile::DotOp dot);
  void lowerDotAlongDepth(tile::DotOp dot, const Buffer &target);
  /// Loads a vector of a factor of a dot from its buffer, or from the tensor.
  mlir::Value factorVector(mlir::Value memory, mlir::Type element, mlir::ValueRange at);
  /// Prefetches what a dot will read of a factor that is in the tensor: `count` elements at `row` and `column`, but
  /// some rows further.
  void prefetchAhead(const Buffer &factor, mlir::Value row, mlir::Value column, int64_t count);
  /// Runs `body(first, step)` in a loop over the whole blocks of `step` indices in [0, size), and then
  /// `body(first, count)` for the indices after them, if there are any.
  void forBlocks(int64_t size, int64_t step, llvm::function_ref<void(mlir::Value, int64_t)> body);

  // Small helpers.
  mlir::Value index(int64_t value);
  mlir::Value plus(mlir::Value index, int64_t distance) {
    return distance ? plus(index, this->index(distance)) : index;
  }
  mlir::Value plus(mlir::Value x, mlir::Value y);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value word(int64_t position);
  llvm::SmallVector<mlir::Value> scalars(mlir::ValueRange values) {
    return llvm::map_to_vector(values, [&](mlir::Value x) { return scalars_.lookup(x); });
  }
  mlir::Location loc() const { return loc_; }

  mlir::func::FuncOp source_, body_;
  mlir::OpBuilder builder_;
  mlir::Location loc_;
  int64_t lanes_;
  mlir::Value words_;
  llvm::SmallVector<mlir::Value, 3> programId_, numPrograms_;
  mlir::IRMapping scalars_;
  llvm::DenseMap<mlir::Value, Buffer> buffers_;
  llvm::DenseMap<mlir::Value, View> views_;
  llvm::SmallVector<int64_t> bufferBytes_;
  mlir::Operation *failed_ = nullptr;

  friend class DepthDotEmitter;
  friend class DotEmitter;
  friend class LoweredLoops;
  friend class Window;
};

// VectorMath.cpp: arithmetic that has no single instruction. Each function takes a scalar or a vector.

/// Returns the f32 type, or the vector of f32 in the shape of `type`.
mlir::Type likeF32(mlir::Type type);
/// Returns 2^x in f32 with a relative error below 2^-23. It is 0 below -127, inf from 128 on, and NaN for NaN.
mlir::Value exp2(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// Returns tanh(x) in f32 with a relative error below 2^-22.
mlir::Value tanh(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// Rounds f32 to the nearest f16, bf16 or e4m3, ties to even. The result is still an f32.
mlir::Value roundTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Type narrow);
/// Returns the type in which elements of `type` are loaded and stored. It is i16 for bf16, because x86 code generation
/// turns some vector operations on bf16 into calls of a library, and i8 for e4m3, which LLVM does not have.
mlir::Type memoryType(mlir::Type type);
/// Converts a value that was loaded from memory of element type `narrow` to the type that arithmetic uses.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type narrow);
/// Is the inverse of widen. It rounds to nearest even.
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type narrow);
/// Returns the type in which arithmetic on elements of `type` is done: f32 for narrower floats, otherwise `type`.
mlir::Type computeType(mlir::Type type);

} // namespace tegula::cpu
