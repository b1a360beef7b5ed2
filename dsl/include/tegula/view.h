// SPDX-License-Identifier: MIT
// Tensors in memory: positions, views, and the derivative of what is gathered from them.
#pragma once

#include "tegula/value.h"

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace tegula {

/// The start of a tile in a view: one position per dimension. Trailing positions that are left out are 0.
class Position {
public:
  Position(Operand first) : coordinates_{first} {}
  Position(std::initializer_list<Operand> positions) : coordinates_(positions) {}
  template <std::convertible_to<Operand> T>
  Position(const T &first, Location where = Location::current()) : coordinates_{Operand(first, where)} {}

private:
  friend class View;
  std::vector<Operand> coordinates_;
};

struct Turn;

/// A tensor in memory with run-time shape and strides, or a part of one: what is left after fixing some dimensions,
/// some of its rows, or its rows in the order of a table of pages.
class View {
public:
  DType dtype() const;
  int rank() const;
  /// Returns the run-time size of one dimension, of type index.
  Value dim(int axis, Location where = Location::current()) const;
  /// Fixes leading dimensions: `q.at(batch, head)` is the rank-2 view of one head. An index outside gives an empty
  /// view.
  template <class... I> View at(Operand first, const I &...rest) const { return slice(together(first, rest...)); }
  /// Fixes dimensions from `axis` on: `pool.atAxis(1, head)` is [pages, rows, columns] of a pool [pages, heads, rows,
  /// columns]. An index outside gives an empty view.
  template <class... I> View atAxis(int axis, Operand first, const I &...rest) const {
    return slice(together(first, rest...), axis);
  }
  /// Takes the rows from `begin` on, below `end`, of the first dimension. Both are integer scalars, such as elements of
  /// a tensor. Rows outside this view are left out; a negative `begin` gives an empty view.
  View rows(Operand begin, Operand end) const;
  /// Loads the tile of `shape` at `position`. Elements outside the view read as `fill`.
  Value load(Position position, Shape shape, double fill = 0, Location where = Location::current()) const;
  /// Writes a tile; elements outside the view are dropped. The tile is rounded to the view's element type.
  void store(Position position, Operand tile, Location where = Location::current()) const;
  /// Writes the elements of a tile at which `condition` is true. The tensor keeps its other elements. The condition is
  /// i1 and repeats to the shape of the tile; a scalar repeats to the shape of the condition.
  void storeWhere(Operand condition, Position position, Operand tile, Location where = Location::current()) const;
  /// Adds an f32 or i32 tile, atomically per element. Elements outside the view are dropped.
  void atomicAdd(Position position, Operand tile, Location where = Location::current()) const;
  /// Adds as atomicAdd does, in a fixed order of program instances, so that sums have the same bits in each run.
  void orderedAdd(Position position, Operand tile, const Turn &turn, Location where = Location::current()) const;
  /// Arrives at a counter, an element of this i32 view of rank 1. Returns an i1 scalar for when(): true in the program
  /// instance that is number `count` to arrive, the last one. What the instances stored before they arrived is there
  /// for its later loads, and the counter is 0 again, as it was at first. `count` is at least 1, and the same for all
  /// that arrive at the counter. At a place outside the view no instance is the last. Not inside when().
  Value arrive(Operand place, Operand count, Location where = Location::current()) const;
  /// Reads one element per position; elements outside the view are 0. Index operands broadcast against each other; if
  /// all are scalars, the result is a scalar.
  template <class... I> Value gather(Operand first, const I &...rest) const {
    return gatherAt(together(first, rest...));
  }
  /// Writes one element per position, such as rows whose numbers come from memory: the mirror of gather. Elements
  /// outside the view are dropped. Of several elements with one position, one remains; it is not defined which.
  template <class... I> void scatter(Operand tile, Operand first, const I &...rest) const {
    scatterAt(tile, together(first, rest...));
  }
  /// Adds one element per position, atomically: the adjoint of gather.
  template <class... I> void scatterAdd(Operand tile, Operand first, const I &...rest) const {
    scatterAddAt(tile, together(first, rest...));
  }

  // at, atAxis, gather, scatter and scatterAdd with a list of indices, for hosts that know their number only at run
  // time. The line is that of the first index; there is at least one.
  View slice(const std::vector<Operand> &indices, int axis = 0) const;
  Value gatherAt(const std::vector<Operand> &indices) const;
  void scatterAt(Operand tile, const std::vector<Operand> &indices) const;
  void scatterAddAt(Operand tile, const std::vector<Operand> &indices) const;

private:
  friend class Recorder;
  View(Value node) : node_(node) {}

  template <class... I> static std::vector<Operand> together(Operand first, const I &...rest) {
    return {first, Operand(rest, first.where())...};
  }

  Value node_;
};

/// Makes one dimension of the pages of `pool` and their rows: row i is row i % page of page `table[i / page]`, and
/// there are table.dim(0) * page rows. The table is an i32 view of rank 1 of a tensor that the program does not write.
/// Rows that the pool does not have are outside the view, such as those of a page -1.
View paged(View pool, View table, int page, Location where = Location::current());
/// Does the same for pages of which page `table[i]` has only its first `lengths[i]` rows; none if that is negative or
/// not there. `lengths` is a view as the table is.
View paged(View pool, View table, View lengths, int page, Location where = Location::current());
/// Makes one dimension of the first two: row i is `view.at(i / group)` at `i % group`. The group is the size of the
/// second dimension. A constant saves divisions; rows that the view does not have are then outside.
View packed(View view, std::optional<int> group = std::nullopt, Location where = Location::current());

/// The turn of an addition (View::orderedAdd). It waits until `counters[place]` is at least `number`, and raises
/// the counter to `next` after it. If it waits, a program instance earlier in the grid must raise the counter to
/// `number`; axis 0 of the grid varies fastest. The counters are 0 when the launch begins, such as by an earlier
/// kernel. A place outside the counters neither waits nor counts.
struct Turn {
  View counters; ///< i32, rank 1.
  Operand place;
  Operand number, next;
};

/// A view that an expression gathers from, and the view that its gradient is added to.
struct ViewGradient {
  View view;
  View gradient;
};

/// Returns seed * d output / d input, in f32, by reverse-mode differentiation of the recorded elementwise expression
/// from `input` to `output`, which have the same shape. For each gather in it from a `view` of `gathered`, seed * d
/// output / d gather is scatter-added to the paired `gradient`. Ops that mix elements (dot, reduce, loads) are errors
/// of the program, except cumsum.
Value differentiate(Value output, Value input, Value seed, std::span<const ViewGradient> gathered = {},
                    Location where = Location::current());

/// Two i1 scalars that bound a condition over all elements of a tile.
struct Enclosure {
  Value sometimes; ///< False: the condition is false for all elements. True says nothing.
  Value always;    ///< True: the condition is true for all elements. False says nothing.
};

/// Returns what the expression of a condition tells without its elements, by interval arithmetic from the positions of
/// iota(). It knows comparisons and arithmetic of i32, `&`, `|`, `!`, select, and gathers all of whose elements are
/// one. It knows nothing of anything else, such as floating-point numbers. A kernel skips work for a tile by it, and
/// evaluates the condition where `sometimes & !always`.
Enclosure enclose(Value condition, Location where = Location::current());

} // namespace tegula
