// SPDX-License-Identifier: MIT
#include "compiler/sm/Boxes.h"

#include "compiler/sm/Multiples.h"
#include "compiler/tile/IntegerRanges.h"
#include "compiler/tile/Tile.h"

#include <numeric>

namespace tegula::sm {

using namespace mlir;

bool isCopiedByTma(Type element) {
  const unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return bits == 8 || bits == 16 || bits == 32;
}

int64_t boxUnit(Type element) {
  constexpr int64_t bits = 16 * 8;
  return bits / element.getIntOrFloatBitWidth();
}

bool startsAtBox(Value column, Type element) { return isMultipleOf(column, boxUnit(element)); }

/// Returns the rows of a page of the view, or 0 if its rows lie in no pages that a map may address.
static int64_t pageOf(Value view) {
  const std::optional<tile::TensorPosition> place = tile::positionInPages(view, {});
  return place ? place->page : 0;
}

static int64_t rankOfTensor(Value view) { return cast<tile::ViewType>(tile::rootOf(view).getType()).getRank(); }

bool hasEnd(Value view) {
  const std::optional<tile::TensorPosition> place = tile::positionInPages(view, {});
  return place && (place->begin || place->page != 0);
}

int64_t coordinateCount(Value view) { return rankOfTensor(view) + (hasEnd(view) ? kCoordinatesOfEnd : 0); }

bool hasPages(Value view) { return pageOf(view) != 0; }

int64_t joinedDimension(Value view) {
  if (hasPages(view)) {
    const tile::TensorPosition place = *tile::positionInPages(view, {});
    return llvm::find(llvm::drop_begin(place.indices, 2), Value()) - place.indices.begin() - 1;
  }
  return hasEnd(view) ? joinedWithEnd(view) : 0;
}

int64_t joinedWithEnd(Value tensor) { return rankOfTensor(tensor) > kMaxRankWithEnd ? 2 : 0; }

/// Returns true if the dimensions of `view` are the last ones of its tensor, except that rows may lie in pages.
static bool hasLastDimensions(Value view) {
  const std::optional<tile::TensorPosition> place = tile::positionInPages(view, {});
  const int64_t rank = cast<tile::ViewType>(view.getType()).getRank();
  return !place || llvm::none_of(ArrayRef(place->indices).take_front(rank), [](Value index) { return index; });
}

constexpr const char *kOtherDimensions =
    "its rows and columns are not the last dimensions of its tensor; TMA moves tiles of these, so put them last";

/// Returns why no tensor map of at most `maxRank` dimensions with an end addresses tiles of `view`, which has no pages.
static std::string whyNoMap(Value view, int64_t maxRank, StringRef moves) {
  if (!tile::positionInTensor(view, {}))
    return "TMA moves rows(begin, end) of a matrix only, no rows of such rows, and pages only of a table";
  if (!hasLastDimensions(view))
    return kOtherDimensions;
  const int64_t rank = rankOfTensor(view);
  if (hasEnd(view) && rank > maxRank)
    return ("its tensor has " + Twine(rank) + " dimensions; with rows(begin, end), TMA " + moves +
            " tiles of at most " + Twine(maxRank))
        .str();
  return "";
}

/// The most dimensions of a tensor with such a map if its rows may count through one of them.
constexpr int64_t kMaxJoinedRank = kMaxRankWithEnd + 1;

/// Returns why no tensor map addresses tiles of `view` for what TMA does not do with pages.
static std::string whyNotWritten(Value view, int64_t maxRank, StringRef moves) {
  if (hasPages(view))
    return "TMA loads rows of pages, but does not store or add them";
  return whyNoMap(view, maxRank, moves);
}

std::string whyNotStored(Value view) { return whyNotWritten(view, kMaxJoinedRank, "stores"); }

std::string whyNotAdded(Value view) { return whyNotWritten(view, kMaxRankWithEnd, "adds"); }

std::string whyNotLoaded(Value view, int64_t rows) {
  const int64_t page = pageOf(view);
  if (page == 0)
    return whyNoMap(view, kMaxJoinedRank, "loads");
  if (!hasLastDimensions(view))
    return kOtherDimensions;
  if (rankOfTensor(view) > kMaxJoinedRank)
    return "its tensor has " + std::to_string(rankOfTensor(view)) +
           " dimensions; with pages, TMA loads tiles of at most " + std::to_string(kMaxJoinedRank);
  const int64_t part = boxRows(view, rows);
  if (llvm::isPowerOf2_64(part) && (part == rows || part % kSwizzleRows == 0))
    return "";
  return "its " + std::to_string(rows) + " rows and pages of " + std::to_string(page) +
         " rows have no common parts for boxes; these have a power of two of rows, at least " +
         std::to_string(kSwizzleRows);
}

std::string whyNoBoxAt(Value view, ValueRange position, int64_t rows) {
  const tile::TensorPosition place = *tile::positionInPages(view, position);
  Value row = place.begin || place.page != 0 ? place.indices[1] : Value();
  if (place.page == 0)
    return !row || tile::IntegerRanges().of(row).smin().isNonNegative()
               ? ""
               : "its first row in rows(begin, end) is not provably at least 0; begin the loop over rows at a constant "
                 "or at a multiple of the program id";
  const int64_t part = boxRows(view, rows);
  if (isMultipleOf(row, part) && (!place.begin || isMultipleOf(place.begin, part)))
    return "";
  return "its first row is not provably a multiple of " + std::to_string(part) +
         ", so a box may reach into a second page; begin the loop over rows, and rows(begin, end), at such a multiple";
}

int64_t boxRows(int64_t rows) {
  if (rows <= kMaxBox)
    return rows;
  int64_t part = kMaxBox;
  while (part > 0 && rows % part != 0)
    part -= kSwizzleRows;
  return part;
}

int64_t boxRows(Value view, int64_t rows) {
  const int64_t page = pageOf(view), part = boxRows(rows);
  return page == 0 ? part : std::gcd(page, part);
}

bool areBoxesDivided(Value view, int64_t rows) { return hasPages(view) && boxRows(view, rows) < rows; }

} // namespace tegula::sm
