// SPDX-License-Identifier: MIT
// The tile language. Running a kernel function records it as a Program; nothing is computed.
//
//   Value   an immutable scalar or tile          (host `if`, `for` and `?:` specialise the kernel while it is recorded)
//   Var     an assignable variable               (carries state through device loops and branches)
//   View    a tensor argument, or a slice of it  (loads and stores handle bounds)
//
// Arithmetic follows numpy: scalars and dimensions of size 1 repeat. A C++ literal takes the other operand's type; a
// position (`index`) takes an integer tile's type; f16 and bf16 are widened to f32, so only `cast` rounds.
#pragma once

#include "tegula/dtype.h"
#include "tegula/program.h"
#include "tegula/status.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula {

using Location = std::source_location;
using Shape = std::vector<int64_t>;

class Var;

/// A scalar (shape {}) or a tile of the program that is being recorded. Immutable: use Var for what changes.
class Value {
public:
  Value(const Value &) = default;
  Value &operator=(const Value &) = delete;      // a Value is immutable: declare it as `Var` to assign to it
  explicit operator bool() const = delete;       // a device condition: use select(...) or when(...), not a C++ if

  DType dtype() const;
  const Shape &shape() const;

private:
  friend class Recorder;
  explicit Value(uint32_t node) : node_(node) {}
  uint32_t node_;
};

/// An operand of an operation, with the caller's line. Made implicitly; never write it yourself.
class Operand {
public:
  Operand(Value value, Location where = Location::current());
  Operand(const Var &variable, Location where = Location::current());
  Operand(int literal, Location where = Location::current());
  Operand(int64_t literal, Location where = Location::current());
  Operand(double literal, Location where = Location::current());
  // ... details for the recorder
};

/// A variable: assigned inside device loops and branches, it carries its value out of them.
/// A helper function that only reads should take a Value.
class Var {
public:
  Var(Value initial, Location where = Location::current());
  Var(const Var &other);
  ~Var();
  Var &operator=(Value value);
  Var &operator=(const Var &other);
  operator Value() const; ///< The value at this point of the program.
};

/// Where a tile starts in a view: one position per dimension; trailing ones that are left out are 0.
class Position {
public:
  Position(Operand first);
  Position(std::initializer_list<Operand> positions);
};

/// A tensor in memory with run-time shape and strides, or what is left of one after fixing leading dimensions.
class View {
public:
  DType dtype() const;
  int rank() const;
  /// Run-time size of one dimension, of type index.
  Value dim(int axis, Location where = Location::current()) const;
  /// Fixes leading dimensions: `q.at(batch, head)` is the rank-2 view of one head. An index outside gives an empty view.
  template <class... I> View at(Operand first, I... rest) const;
  /// The tile of `shape` at `position`; elements outside the view read as `fill`.
  Value load(Position position, Shape shape, double fill = 0, Location where = Location::current()) const;
  /// Writes a tile; elements outside the view are dropped. The tile is rounded to the view's element type.
  void store(Position position, Operand tile) const;
  /// Adds an f32 or i32 tile, atomically per element; elements outside the view are dropped.
  void atomicAdd(Position position, Operand tile) const;
  /// Reads one element per position; index operands broadcast against each other; 0 outside the view.
  template <class... I> Value gather(Operand first, I... rest) const;
  /// The adjoint of gather: adds one element per position, atomically.
  template <class... I> void scatterAdd(Operand tile, Operand first, I... rest) const;
};

/// Position of this program instance on grid axis 0, 1 or 2 (axis 0 varies fastest).
Value programId(int axis = 0, Location where = Location::current());

// Tiles from nothing.
Value iota(int64_t size, Location where = Location::current());                   ///< i32 [size]: 0, 1, 2, ...
Value fill(Shape shape, Operand scalar);                                          ///< f32 from a floating literal.
Value constant(DType dtype, double value, Location where = Location::current());  ///< A scalar.

// Shapes.
Value broadcast(Operand x, Shape shape);
Value reshape(Operand x, Shape shape);
Value transpose(Operand matrix);                                  ///< [m, n] -> [n, m]
Value permute(Operand x, std::initializer_list<int> permutation); ///< Dimension i of the result is permutation[i] of x.
Value asColumn(Operand vector);                                   ///< [m] -> [m, 1]
Value asRow(Operand vector);                                      ///< [n] -> [1, n]

// Elementwise arithmetic. On integers `/` and `%` round toward zero as in C++; x / 0 and x % 0 are 0.
Value operator+(Operand a, Operand b);
Value operator-(Operand a, Operand b);
Value operator*(Operand a, Operand b);
Value operator/(Operand a, Operand b);
Value operator%(Operand a, Operand b);
Value operator-(Operand a);
Value floorDiv(Operand a, Operand b); ///< Rounds toward minus infinity; 0 where b is 0.
Value ceilDiv(Operand a, Operand b);  ///< Rounds toward plus infinity; 0 where b is 0.
Value operator<<(Operand a, Operand b);
Value operator>>(Operand a, Operand b); ///< Arithmetic shift.
Value operator&(Operand a, Operand b);
Value operator|(Operand a, Operand b);
Value operator^(Operand a, Operand b);
Value operator!(Operand condition);
Value min(Operand a, Operand b);
Value max(Operand a, Operand b);
Value exp(Operand x);
Value exp2(Operand x);
Value log(Operand x);
Value log2(Operand x);
Value tanh(Operand x);
Value sqrt(Operand x);
Value abs(Operand x);
Value cast(DType dtype, Operand x);

// Comparisons give i1; `&`, `|`, `^` and `!` combine them (`&&` and `||` cannot be overloaded faithfully).
Value operator==(Operand a, Operand b);
Value operator!=(Operand a, Operand b);
Value operator<(Operand a, Operand b);
Value operator<=(Operand a, Operand b);
Value operator>(Operand a, Operand b);
Value operator>=(Operand a, Operand b);
Value select(Operand condition, Operand yes, Operand no);

// What mixes elements.
Value dot(Operand a, Operand b);              ///< [m, k] x [k, n] -> f32 [m, n], accumulated in f32.
Value dot(Operand a, Operand b, Operand acc); ///< acc + a x b
Value reduceMax(Operand x, int axis);
Value reduceMin(Operand x, int axis);
Value reduceSum(Operand x, int axis);
Value rowMax(Operand matrix); ///< [m, n] -> [m]
Value rowSum(Operand matrix); ///< [m, n] -> [m]

/// Running row maximum m, row sum l and undivided output o of softmax(s) v over blocks of keys
/// (Milakov and Gimelshein 2018; FlashAttention-2, section 3.1).
class OnlineSoftmax {
public:
  /// `rows` query rows, `value_dim` columns of the output.
  OnlineSoftmax(int64_t rows, int64_t value_dim, Location where = Location::current());
  /// Continues from a saved state: m [rows], l [rows], o [rows, value_dim], all f32.
  OnlineSoftmax(Value m, Value l, Value o);
  /// scores f32 [rows, keys], -inf where a key must not be seen; values [keys, value_dim].
  void update(Operand scores, Operand values);
  Value output() const;    ///< f32 [rows, value_dim]; 0 in rows that saw no key.
  Value logSumExp() const; ///< f32 [rows], natural logarithm; -inf in rows that saw no key.
  Value max() const;       ///< m: f32 [rows]
  Value sum() const;       ///< l: f32 [rows]
  Value undivided() const; ///< o before division by l: f32 [rows, value_dim]
};

/// A device loop: `for (Value key : range(0, end, block)) { ... }`. The body runs once, while recording; leaving it by
/// `break`, `return` or an exception is an error of the program. Positions are of type index.
class Range;
Range range(Operand begin, Operand end, Operand step = 1);

/// A device branch on a scalar condition. Vars assigned inside keep the value of the branch that ran.
void when(Operand condition, const std::function<void()> &then, const std::function<void()> &otherwise = {});

/// A view that an expression gathers from, and where its gradient goes.
struct ViewGradient {
  View view;
  View gradient;
};

/// Reverse-mode derivative of the recorded elementwise expression that leads from `input` to `output` (same shape):
/// returns seed * d output / d input. For each gather in it from a `view` of `gathered`, seed * d output / d gather
/// is scatter-added to the paired `gradient`. Ops that mix elements (dot, reduce, loads) are errors of the program.
Value differentiate(Value output, Value input, Value seed, std::span<const ViewGradient> gathered = {});

/// A tensor parameter of a kernel: becomes a View.
struct TensorArg {
  std::string name;
  DType dtype;
  int rank; ///< 1 to 5
};
/// A scalar parameter of a kernel: becomes a Value.
struct ScalarArg {
  std::string name;
  DType dtype; ///< f32, i32 or i64
};

/// Runs `kernel(arguments...)` once and returns what it recorded. TensorArg and ScalarArg arguments become parameters
/// of the program; every other argument is passed through and specialises it. All errors of the program are reported
/// together in the Status, each as `file:line: error: ...`, with notes that point at the operands.
template <class Kernel, class... Arguments>
Expected<Program> record(std::string_view name, Kernel &&kernel, Arguments &&...arguments);

} // namespace tegula
