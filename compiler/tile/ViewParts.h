// SPDX-License-Identifier: MIT
// Where the elements of a view are: as scalars of a program that a target emits, and as a position in the tensor.
#pragma once

#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tegula::tile {

class Scalars;
class LoweredProgram;

/// The pages that the rows of a view lie in. Row r of the view is row q mod `rows` of page q / `rows`, with
/// q = `first` + r. All numbers are of type index.
struct Pages {
  mlir::Value table;   ///< A view of the program: its element i is the place of page i. If it is null, the place is i.
  mlir::Value lengths; ///< A view of the program: element i limits the rows of page i. If it is null, nothing does.
  mlir::Value rows, first;
  mlir::Value count;  ///< The number of places for pages.
  mlir::Value held;   ///< The rows that there are at each place, if no length limits them.
  mlir::Value stride; ///< The elements from one place to the next.
};

/// A row of a view whose rows lie in pages.
struct RowInPages {
  mlir::Value exists;    ///< i1: true if the view has the row. Otherwise the other values mean nothing.
  mlir::Value page, row; ///< The place of the page, and the row in it.
  mlir::Value held;      ///< The rows that the page has.
};

/// The place of an index along one dimension of a view.
struct IndexPlace {
  mlir::Value isInside; ///< i1: true if the view has the index. Otherwise the other values mean nothing.
  mlir::Value toPage;   ///< The elements from the base to the page; null without pages.
  mlir::Value distance; ///< The elements from there.
};

/// Describes a view by scalars of the program that a target emits. The element at `position` is at
/// base + unit * (sum of position * stride), except that rows may lie in pages.
struct ViewParts {
  mlir::Value base;                                 ///< The place of the first element, of the type of the target.
  int64_t unit = 1;                                 ///< The size of an element, as the target counts places.
  llvm::SmallVector<mlir::Value, 5> sizes, strides; ///< index; strides count elements.
  std::optional<Pages> pages;                       ///< With pages, the first stride is that of rows of one page.

  /// Moves the base by a number of elements, an index.
  void advance(Scalars &s, mlir::Value elements);
  /// Returns where row `index` is. All values may also be vectors.
  RowInPages rowInPages(Scalars &s, mlir::Value index, LoweredProgram &program) const;
  /// Returns where `index` is along dimension `dim`. All values may also be vectors.
  IndexPlace placeOf(Scalars &s, unsigned dim, mlir::Value index, LoweredProgram &program) const;
  /// Returns true if the dimension has rows that lie in pages.
  bool isInPages(unsigned dim) const { return dim == 0 && pages; }
};

/// The program that a target emits, as far as ops of views use it.
class LoweredProgram {
public:
  virtual ~LoweredProgram() = default;
  /// Returns what a scalar of the source program is in the emitted one.
  virtual mlir::Value scalar(mlir::Value source) = 0;
  /// Returns the size of the first dimension of a view of the source program.
  virtual mlir::Value sizeOf(mlir::Value view) = 0;
  /// Emits the read of an element, an i32, of a view of the source program. Returns an index, or a vector of them if
  /// `at` is one. It is 0 outside the view.
  virtual mlir::Value entry(mlir::Value view, mlir::Value at) = 0;
};

/// A position in a tensor, for hardware that takes an index for each dimension.
struct TensorPosition {
  /// Scalars of the program, the innermost dimension first. They are null along the dimensions of a view without a
  /// position, and along that of pages.
  llvm::SmallVector<mlir::Value> indices;
  /// The rows of the tensor that the view has, if not all; otherwise null. The row, which is the second index, then
  /// counts from `begin`. `clipRows` says which rows these are.
  mlir::Value begin = {}, end = {};
  /// The rows of a page, if a table says where pages are; otherwise 0. The row then counts through all pages of the
  /// table.
  int64_t page = 0;
};

/// Returns where `position` of `view` is in its tensor; nothing if indices cannot say it, as for rows in pages. An
/// empty position is none: only dimensions that ops fix have an index.
std::optional<TensorPosition> positionInTensor(mlir::Value view, mlir::ValueRange position);
/// Returns the same, also for rows in pages of a table.
std::optional<TensorPosition> positionInPages(mlir::Value view, mlir::ValueRange position);

/// The rows from `first` on, below `end`, of a tensor.
struct RowRange {
  mlir::Value first, end;
};

/// Returns the rows of `begin` to `end` that a tensor of `size` rows has. All are of type index. Whatever the numbers
/// are, 0 <= first <= end <= size. There are no rows if `begin` is negative.
RowRange clipRows(Scalars &s, mlir::Value begin, mlir::Value end, mlir::Value size);

} // namespace tegula::tile
