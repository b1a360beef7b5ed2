// SPDX-License-Identifier: MIT
// Emits arithmetic on whole tiles.
#pragma once

#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::debug {

class TileBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using TileType = mlir::RankedTensorType;

  TileType i32Tile(llvm::ArrayRef<int64_t> shape) { return TileType::get(shape, getI32Type()); }

  /// Returns a tile whose elements are all `value`, an attribute of its element type.
  Value splat(TileType tile, mlir::Attribute value) {
    return mlir::arith::ConstantOp::create(*this, mlir::DenseElementsAttr::get(tile, value));
  }
  Value splat(TileType tile, int64_t value) { return splat(tile, getIntegerAttr(tile.getElementType(), value)); }
  Value number(int32_t value) { return mlir::arith::ConstantOp::create(*this, getI32IntegerAttr(value)); }
  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(*this, value); }

  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(*this, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(*this, x, y); }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(*this, x, y); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(*this, condition, x, y); }
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpIOp::create(*this, predicate, x, y);
  }
  /// Repeats a scalar, or a tile along its dimensions of size 1.
  Value broadcast(Value x, llvm::ArrayRef<int64_t> shape) {
    auto type = TileType::get(shape, mlir::getElementTypeOrSelf(x.getType()));
    return x.getType() == type ? x : tile::BroadcastOp::create(*this, type, x).getResult();
  }

  /// Returns a tile of i32 whose elements are their own positions along `axis`.
  Value positions(llvm::ArrayRef<int64_t> shape, unsigned axis) {
    llvm::SmallVector<int64_t> line(shape.size(), 1);
    line[axis] = shape[axis];
    Value numbers = tile::IotaOp::create(*this, i32Tile(shape[axis]));
    if (shape.size() > 1)
      numbers = tile::ReshapeOp::create(*this, i32Tile(line), numbers);
    return broadcast(numbers, shape);
  }

  /// Returns a tile of i32 whose elements are their own row-major indices.
  Value indices(llvm::ArrayRef<int64_t> shape) {
    Value sum = positions(shape, shape.size() - 1);
    int64_t stride = shape.back();
    for (unsigned axis = shape.size() - 1; axis-- > 0; stride *= shape[axis]) {
      Value scaled = mlir::arith::MulIOp::create(*this, positions(shape, axis), splat(i32Tile(shape), stride));
      sum = add(sum, scaled);
    }
    return sum;
  }

  /// Combines all elements of a tile of i32 into a tile of one element.
  Value reduce(tile::Reduction kind, Value x) {
    auto type = mlir::cast<TileType>(x.getType());
    while (type.getRank() > 1) {
      type = i32Tile(type.getShape().drop_back());
      x = tile::ReduceOp::create(*this, type, kind, x, type.getRank());
    }
    x = tile::ReshapeOp::create(*this, i32Tile({1, type.getDimSize(0)}), x);
    return tile::ReduceOp::create(*this, i32Tile(1), kind, x, 1);
  }
};

} // namespace tegula::debug
