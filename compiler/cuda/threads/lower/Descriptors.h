// SPDX-License-Identifier: MIT
// Descriptors of operands in shared memory, which tensor cores read by themselves.
#pragma once

#include "compiler/cuda/threads/Threads.h"
#include "compiler/sm/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tegula::cuda {

/// The low words of the matrix descriptors of an operand in shared memory, as wgmma and tcgen05 take them.
class SharedOperand {
public:
  /// `kIsRow` is true if the index along the depth k is the row index of the tile as it is stored.
  SharedOperand(Threads &t, mlir::Value shared, bool kIsRow)
      : t(t), kIsRow(kIsRow), element(*sm::mmaElement(mlir::cast<sm::SharedType>(shared.getType()).getElementType())),
        rows(mlir::cast<sm::SharedType>(shared.getType()).getShape()[0]) {
    mlir::Value address = mlir::arith::ShRUIOp::create(t.b, t.sharedAddress(shared), t.s.i32(4));
    // The distance of panels matters only where the operand's rows or columns, not its depth, lie along them.
    first = t.s.bitOr(address, t.s.i32((kIsRow ? panelBytes() / kUnit : 1) << 16));
  }

  int64_t depthOfStep() const { return element.depth; }

  /// Moves the start of the operand by `count` times `size` rows of A or columns of B.
  void skip(mlir::Value count, int64_t size) {
    const int64_t parts = kIsRow && size < element.panelColumns() ? element.panelColumns() / size : 1;
    if (parts == 1)
      return add(t.s.mul(count, bytesTo(0, size) / kUnit));
    add(t.s.mul(t.s.div(count, parts), panelBytes() / kUnit));
    add(t.s.mul(t.s.rem(count, parts), size * element.bytes / kUnit));
  }

  /// Returns the low 32 bits of the descriptor of a step, for the rows of A or columns of B from `outer` on.
  mlir::Value at(int64_t step, int64_t outer = 0) const {
    return t.s.add(first, bytesTo(step * element.depth, outer) / kUnit);
  }

private:
  static constexpr int64_t kUnit = 16; ///< The unit of addresses and distances in a descriptor, in bytes.

  void add(mlir::Value units) { first = t.s.add(first, units); }

  int64_t panelBytes() const { return rows * sm::kPanelBytes; }

  /// Returns the distance of the element at depth `k` of row (of A) or column (of B) `outer`.
  int64_t bytesTo(int64_t k, int64_t outer) const {
    int64_t row = kIsRow ? k : outer, column = kIsRow ? outer : k;
    const int64_t columns = element.panelColumns();
    return row * sm::kPanelBytes + column / columns * panelBytes() + column % columns * element.bytes;
  }

  Threads &t;
  bool kIsRow;
  sm::MmaElement element;
  int64_t rows;
  mlir::Value first;
};

} // namespace tegula::cuda
