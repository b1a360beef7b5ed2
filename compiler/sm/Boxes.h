// SPDX-License-Identifier: MIT
// What one TMA copy can move: a box, which is a rectangle of a tensor.
#pragma once

#include "mlir/IR/Value.h"

#include <string>

namespace tegula::sm {

/// The most elements of a box along a dimension.
constexpr int64_t kMaxBox = 256;
/// The rows after which the swizzle repeats. Each box of a tile of several boxes has a multiple of them.
constexpr int64_t kSwizzleRows = 8;

/// Returns true if TMA copies tiles of this type: integers and floats of 1, 2 and 4 bytes.
bool isCopiedByTma(mlir::Type element);

/// Returns the number of elements in 16 bytes. The first column of a box is a multiple of it; for any other first
/// column, H100 reports an illegal instruction.
int64_t boxUnit(mlir::Type element);

/// Returns true if a box may provably begin at `column` of a tensor: it is a multiple of 16 bytes.
bool startsAtBox(mlir::Value column, mlir::Type element);

/// The most dimensions of a tensor with a map whose rows end inside it. Such a map has two more (docs/design/tma.md).
constexpr int64_t kMaxRankWithEnd = 3;

/// The coordinates of a box that say where its rows end.
constexpr int64_t kCoordinatesOfEnd = 2;

/// Returns true if each box of the view names an end of its rows, which is inside the tensor.
bool hasEnd(mlir::Value view);

/// Returns true if the rows of the view lie in pages of a table.
bool hasPages(mlir::Value view);

/// Returns the number of coordinates of a box of the view.
int64_t coordinateCount(mlir::Value view);

/// Returns the dimension of the tensor that the map of loads and stores of `view` does not have, because its rows count
/// through that dimension, too: 1 is the first one outside the rows, such as that of pages, and 2 the second one. 0 if
/// there is none.
int64_t joinedDimension(mlir::Value view);

/// Returns the same for rows of a tensor that end inside it.
int64_t joinedWithEnd(mlir::Value tensor);

/// Returns why no tensor map addresses the tiles of `view` for stores, or nothing if one does.
std::string whyNotStored(mlir::Value view);

/// Returns why no tensor map addresses the tiles of `view` for additions, or nothing if one does.
std::string whyNotAdded(mlir::Value view);

/// Returns why no tensor map addresses tiles of `rows` rows of `view` for loads, or nothing if one does.
std::string whyNotLoaded(mlir::Value view, int64_t rows);

/// Returns why boxes of a tile of `rows` rows may not begin at a position, or nothing if they may. The tile provably
/// begins at the first row of a `tile.rows` or after it. If its rows lie in pages, no box reaches into a second page.
std::string whyNoBoxAt(mlir::Value view, mlir::ValueRange position, int64_t rows);

/// Returns the number of rows of each box of a tile: all, or else the largest equal parts of whole swizzles. Returns 0
/// if there are no such parts.
int64_t boxRows(int64_t rows);

/// Returns the same for a tile of `view`. Each box has rows of one page only.
int64_t boxRows(mlir::Value view, int64_t rows);

/// Returns true if the lanes of a warp divide the boxes of a tile of `rows` rows. Where a box is takes a read of a
/// table of pages and some arithmetic, which each lane does for one box.
bool areBoxesDivided(mlir::Value view, int64_t rows);

} // namespace tegula::sm
