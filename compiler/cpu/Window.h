// SPDX-License-Identifier: MIT
// The part of a view that one tile covers: its index arithmetic, and loops over it.
#pragma once

#include "compiler/cpu/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tegula::cpu {

/// The program of loops, for the ops of views.
class LoweredLoops final : public tile::LoweredProgram {
public:
  explicit LoweredLoops(Lowering &lowering) : l_(lowering) {}
  mlir::Value scalar(mlir::Value source) override { return l_.scalars_.lookup(source); }
  mlir::Value sizeOf(mlir::Value view) override { return l_.views_.lookup(view).sizes.front(); }
  mlir::Value entry(mlir::Value view, mlir::Value at) override;
  /// Returns where `index` is along dimension `dim` of a view. All values may also be vectors.
  tile::IndexPlace placeOf(const View &view, unsigned dim, mlir::Value index);

private:
  Lowering &l_;
};

/// Index arithmetic for the part of a view that one tile covers. `low` and `high` bound, for each dimension, the
/// elements of the tile that are inside the view.
class Window {
public:
  Window(Lowering &lowering, mlir::Value view, mlir::ValueRange position, mlir::RankedTensorType type)
      : l(lowering), b(lowering.builder_), loc(lowering.loc()), view(lowering.views_.lookup(view)), type(type) {
    for (auto [dim, original] : llvm::enumerate(position)) {
      mlir::Value at = l.scalars_.lookup(original);
      mlir::Value size = l.index(type.getDimSize(dim)), zero = l.index(0);
      start.push_back(at);
      low.push_back(clamp(sub(zero, at), zero, size));
      high.push_back(clamp(sub(this->view.sizes[dim], at), zero, size));
    }
  }

  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  mlir::Value both(mlir::Value x, mlir::Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  mlir::Value clamp(mlir::Value x, mlir::Value from, mlir::Value to) {
    return mlir::arith::MinSIOp::create(b, loc, mlir::arith::MaxSIOp::create(b, loc, x, from), to);
  }

  /// Returns the offset in memory of the tile's element `at`. A dimension without an index counts as at the tile's
  /// start.
  mlir::Value linear(llvm::ArrayRef<mlir::Value> at) {
    mlir::Value result = view.base;
    for (size_t dim = view.pages ? 1 : 0; dim < at.size(); ++dim)
      result = add(result, mul(at[dim] ? add(start[dim], at[dim]) : start[dim], view.strides[dim]));
    return row_.isInside ? add(result, add(row_.toPage, row_.distance)) : result;
  }

  /// Runs `body(place)` with the offset in memory of element `x` along `inner` of the row at `at`, which begins at
  /// `row`. Does not run it if the element is in no page.
  void element(llvm::ArrayRef<mlir::Value> at, int64_t inner, mlir::Value row, mlir::Value x,
               llvm::function_ref<void(mlir::Value)> body) {
    if (!view.isInPages(inner))
      return body(add(row, mul(x, view.strides[inner])));
    llvm::SmallVector<mlir::Value, 5> there(at);
    inPage(x, [&] { body(linear(there)); });
  }

  /// Returns where the last dimension of the view begins that the element at `place` is part of. The element has the
  /// index `x` of the tile along this dimension.
  mlir::Value startOfRow(mlir::Value place, mlir::Value x) {
    const bool isPage = view.isInPages(type.getRank() - 1);
    return sub(place, isPage ? row_.distance : mul(add(start.back(), x), view.strides.back()));
  }

  /// Emits the test that the whole tile is inside the view. Rows in pages never count as whole.
  mlir::Value whole() {
    if (view.pages)
      return isFalse();
    mlir::Value result;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      mlir::Value fits = both(compare(mlir::arith::CmpIPredicate::eq, low[dim], l.index(0)),
                              compare(mlir::arith::CmpIPredicate::eq, high[dim], l.index(type.getDimSize(dim))));
      result = result ? both(result, fits) : fits;
    }
    return result;
  }

  mlir::Value constant(int64_t value) { return l.index(value); }
  mlir::Value isFalse() { return mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(false)); }
  mlir::Value isContiguous(int64_t dim) {
    if (view.isInPages(dim))
      return isFalse();
    return compare(mlir::arith::CmpIPredicate::eq, view.strides[dim], l.index(1));
  }

  /// Runs `body(index)` in a loop. The builder ends up after the loop.
  void loop(mlir::Value from, mlir::Value to, int64_t step, llvm::function_ref<void(mlir::Value)> body) {
    auto loop = mlir::scf::ForOp::create(b, loc, from, to, l.index(step));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar());
  }

  void ifTrue(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr) {
    auto region = [&](llvm::function_ref<void()> body) {
      return [this, body](mlir::OpBuilder &, mlir::Location) {
        b.setInsertionPoint(mlir::scf::YieldOp::create(b, loc));
        body();
      };
    };
    if (otherwise)
      mlir::scf::IfOp::create(b, loc, condition, region(then), region(otherwise));
    else
      mlir::scf::IfOp::create(b, loc, condition, region(then));
  }

  /// Loops over the valid part of every dimension except `inner`, and runs `body(indices)` with indices[inner] unset.
  void outerLoops(int64_t inner, llvm::function_ref<void(llvm::SmallVector<mlir::Value, 5> &)> body) {
    llvm::SmallVector<mlir::Value, 5> at(type.getRank());
    outerLoop(0, inner, at, body);
  }

  Lowering &l;
  mlir::OpBuilder &b;
  mlir::Location loc;
  View view;
  mlir::RankedTensorType type;
  llvm::SmallVector<mlir::Value, 5> start, low, high;

private:
  void outerLoop(int64_t dim, int64_t inner, llvm::SmallVector<mlir::Value, 5> &at,
                 llvm::function_ref<void(llvm::SmallVector<mlir::Value, 5> &)> body) {
    if (dim == type.getRank())
      return body(at);
    if (dim == inner)
      return outerLoop(dim + 1, inner, at, body);
    loop(low[dim], high[dim], 1, [&](mlir::Value i) {
      at[dim] = i;
      auto rest = [&] { outerLoop(dim + 1, inner, at, body); };
      if (view.isInPages(dim))
        inPage(i, rest);
      else
        rest();
    });
  }

  /// Runs `body` for row `i` of the tile if the row is in a page. `linear` then returns offsets in the row.
  void inPage(mlir::Value i, llvm::function_ref<void()> body) {
    row_ = LoweredLoops(l).placeOf(view, 0, add(start[0], i));
    ifTrue(row_.isInside, body);
    row_ = {};
  }

  tile::IndexPlace row_; ///< The place of the row that is being lowered, if it is in a page.
};

} // namespace tegula::cpu
