// SPDX-License-Identifier: MIT
// Operations on scalars and tiles.
#pragma once

#include "tegula/value.h"

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace tegula {

/// Returns the position of this program instance on grid axis 0, 1 or 2. Axis 0 varies fastest.
Value programId(int axis = 0, Location where = Location::current());
/// Returns the number of program instances along grid axis 0, 1 or 2.
Value numPrograms(int axis = 0, Location where = Location::current());

// Tiles without operands.
Value iota(int64_t size, Location where = Location::current());                  ///< i32 [size]: 0, 1, 2, ...
Value fill(Shape shape, Operand scalar, Location where = Location::current());   ///< f32 from a floating literal.
Value constant(DType dtype, double value, Location where = Location::current()); ///< A scalar.

// Shapes.
Value broadcast(Operand x, Shape shape, Location where = Location::current());
Value reshape(Operand x, Shape shape, Location where = Location::current());
Value transpose(Operand matrix, Location where = Location::current()); ///< [m, n] -> [n, m]
/// Permutes dimensions: dimension i of the result is dimension permutation[i] of x.
Value permute(Operand x, std::initializer_list<int> permutation, Location where = Location::current());
Value asColumn(Operand vector, Location where = Location::current()); ///< [m] -> [m, 1]
Value asRow(Operand vector, Location where = Location::current());    ///< [n] -> [1, n]

// Columns lie along the last dimension of a tile of any rank, a vector included.
/// Returns the columns begin, begin + step, ... below `end`: columns(x, 0, n, 2) are the even ones.
Value columns(Operand x, int64_t begin, int64_t end, int64_t step = 1, Location where = Location::current());
/// Returns the columns of `left`, then those of `right`. Types are those of select().
Value joinColumns(Operand left, Operand right, Location where = Location::current());
/// Returns the columns of two tiles of one shape in turns: column 2 j is column j of `even`, and column 2 j + 1 is
/// column j of `odd`. columns(x, 0, n, 2) and columns(x, 1, n, 2) take them apart. Types are those of select().
Value interleaveColumns(Operand even, Operand odd, Location where = Location::current());

// Elementwise arithmetic. On integers `/` and `%` round toward zero as in C++; x / 0 and x % 0 are 0.
Value operator+(Operand a, Operand b);
Value operator-(Operand a, Operand b);
Value operator*(Operand a, Operand b);
Value operator/(Operand a, Operand b);
Value operator%(Operand a, Operand b);
Value operator-(Operand a);
Value floorDiv(Operand a, Operand b, Location where = Location::current()); ///< Toward minus infinity; 0 where b is 0.
Value ceilDiv(Operand a, Operand b, Location where = Location::current());  ///< Toward plus infinity; 0 where b is 0.
// The count of a shift is unsigned. Counts from the number of bits on give 0, or the sign for `>>`.
Value operator<<(Operand a, Operand b);
Value operator>>(Operand a, Operand b); ///< Keeps the sign.
Value operator&(Operand a, Operand b);
Value operator|(Operand a, Operand b);
Value operator^(Operand a, Operand b);
// These do not take an Operand, which would compete with the built-in operator on bool. Their source line is that of
// the condition.
Value operator!(const Value &condition);
Value operator!(const Var &condition);
Value min(Operand a, Operand b, Location where = Location::current());
Value max(Operand a, Operand b, Location where = Location::current());
/// Returns x, but `low` where x is less and `high` where x is greater. NaN becomes `low`. The derivative by x is 1 at
/// both bounds.
Value clamp(Operand x, Operand low, Operand high, Location where = Location::current());
Value abs(Operand x, Location where = Location::current());

// Functions of real numbers. Integers are converted to f32; f16 and bf16 are widened. The result is f32. An ulp is a
// unit in the last place of the result. Results that are not 0, but below 2^-126, may become 0 on a GPU.

/// Returns e^x within (2 |x| + 4) 2^-24 of the result.
Value exp(Operand x, Location where = Location::current());
/// Returns 2^x within 2 ulp.
Value exp2(Operand x, Location where = Location::current());
/// Returns the natural logarithm within 4 ulp, next to x = 1 within 2^-22. It is NaN for x < 0. Numbers below 2^-126
/// may count as 0 or as 2^-126.
Value log(Operand x, Location where = Location::current());
/// Returns the logarithm of base 2, as accurately as log().
Value log2(Operand x, Location where = Location::current());
/// Returns tanh(x) within 8 ulp.
Value tanh(Operand x, Location where = Location::current());
/// Returns tanh with a relative error below 2^-10.9, in one instruction on a GPU.
Value fastTanh(Operand x, Location where = Location::current());
/// Returns the square root, correctly rounded. It is NaN for x < 0.
Value sqrt(Operand x, Location where = Location::current());
/// Returns 1 / sqrt(x) within 1.5 ulp. It is infinite for x = 0, and NaN for x < 0.
Value rsqrt(Operand x, Location where = Location::current());
/// Returns the error function 2 / sqrt(pi) * integral from 0 to x of exp(-t^2) dt within 2 ulp.
Value erf(Operand x, Location where = Location::current());
/// Returns the sine of x, in radians, within 2 ulp for |x| <= 1e5, and within 2^-23 for |x| < 2^22. For larger |x| it
/// is -1, 0 or 1, without a correct digit. It is NaN for an infinity.
Value sin(Operand x, Location where = Location::current());
/// Returns the cosine of x, in radians, within 2 ulp for |x| <= 1e5. For larger |x|, see sin().
Value cos(Operand x, Location where = Location::current());
/// Returns x^y within 2 ulp, with the special values of C's pow(): it is 1 for y = 0, and NaN for x < 0 unless y is an
/// integer. If y is the literal 2 or 3, it is a product, x * x or x * x * x. The derivative by x is y * x^(y - 1), and
/// infinite where x^(y - 1) overflows.
Value pow(Operand x, Operand y, Location where = Location::current());
/// Returns the logistic function 1 / (1 + exp(-x)), as accurately as exp. Results below 2^-126 become 0.
Value sigmoid(Operand x, Location where = Location::current());
/// Returns x * sigmoid(x), as accurately as exp; 0 for x = -inf (Elfwing et al. 2017, "swish").
Value silu(Operand x, Location where = Location::current());
/// Returns x * Phi(x), where Phi(x) = (1 + erf(x / sqrt(2))) / 2 is the normal distribution (Hendrycks and Gimpel
/// 2016). The error is below 2^-22 |x|. The result is 0 for x = -inf.
Value gelu(Operand x, Location where = Location::current());
Value cast(DType dtype, Operand x, Location where = Location::current());

/// Returns the high half of the product of two i32, which count as unsigned numbers.
Value mulhi(Operand a, Operand b, Location where = Location::current());

/// The key of random numbers. Numbers with different keys are independent of each other. The parts are integer scalars
/// and may come from memory, so that a launch draws new numbers without a new kernel.
struct RandomKey {
  Operand seed;   ///< i64
  Operand offset; ///< i64. The number of draws so far, such as training steps.
  Operand stream; ///< i32. What draws at the same time, such as the attention heads.
};
/// Returns random integers from 0 to 255, of type i32. `row` and `column` are integer tiles or scalars of at most 32
/// bits, which broadcast. The number of an element depends on the key, its row and its column alone, so it is the same
/// on all targets (docs/language.md has the definition). The generator is Philox 4x32 with 7 to 16 rounds. Calls of the
/// generator are shared if rows and columns count up from multiples of 16.
Value randomBytes(const RandomKey &key, Operand row, Operand column, int rounds = 10,
                  Location where = Location::current());
/// Returns random multiples of 2^-24 from 0 on, below 1, of type f32. They are independent of randomBytes().
Value random(const RandomKey &key, Operand row, Operand column, int rounds = 10, Location where = Location::current());

// Comparisons return i1; `&`, `|`, `^` and `!` combine them (`&&` and `||` cannot be overloaded faithfully).
Value operator==(Operand a, Operand b);
Value operator!=(Operand a, Operand b);
Value operator<(Operand a, Operand b);
Value operator<=(Operand a, Operand b);
Value operator>(Operand a, Operand b);
Value operator>=(Operand a, Operand b);
Value select(Operand condition, Operand yes, Operand no, Location where = Location::current());
Value isFinite(Operand x, Location where = Location::current()); ///< i1: neither NaN nor an infinity.

// Operations that combine elements.
/// Gives a dot, a load or a gather a name for step lists (Steps) and remarks, and returns its result:
/// label("s", dot(q, transpose(k))). The name has letters, digits and underscores, and begins with no digit.
Value label(std::string_view name, Operand result, Location where = Location::current());
/// The precision of the f32 operands of a dot.
enum class Precision {
  ieee, ///< All bits count.
  tf32, ///< A GPU may drop the low 13 bits of each operand, and then uses tensor cores. The cpu drops none.
};
/// Multiplies matrices: [m, k] x [k, n] -> f32 [m, n], accumulated in f32. Precision::tf32 is for f32 operands only.
Value dot(Operand a, Operand b, Precision precision = Precision::ieee, Location where = Location::current());
/// Returns acc + a x b.
Value dot(Operand a, Operand b, Operand acc, Precision precision = Precision::ieee,
          Location where = Location::current());
/// Returns acc + a x b, but an element of the result adds only the products at which `seen` is true. `seen` is i1 and
/// broadcasts to [m, k]. A NaN or an infinity in b then reaches no other element, while 0 times it would be NaN. Far
/// slower than a dot.
Value dotWhere(Value seen, Value a, Value b, Operand acc, Location where = Location::current());
/// Returns an i1 scalar for when(): true if no element of a floating-point tile is NaN or an infinity. Cheaper than
/// any().
Value allFinite(Value x, Location where = Location::current());
/// Returns an i1 scalar for when(): true if the condition is true for some element of the tile.
Value any(Operand condition, Location where = Location::current());
/// Returns an i1 scalar for when(): true if the condition is true for all elements of the tile.
Value all(Operand condition, Location where = Location::current());
/// Removes `axis`: an element of the result is true if the condition is true for some element along the axis. A vector
/// becomes [1].
Value any(Operand condition, int axis, Location where = Location::current());
/// Removes `axis`: an element of the result is true if the condition is true for all elements along the axis. A vector
/// becomes [1].
Value all(Operand condition, int axis, Location where = Location::current());
/// Returns the conditions combined by `|`, element by element. They broadcast. Without a condition, returns false.
Value anyOf(std::span<const Value> conditions, Location where = Location::current());
Value anyOf(std::initializer_list<Value> conditions, Location where = Location::current());
/// Returns the conditions combined by `&`, element by element. They broadcast. Without a condition, returns true.
Value allOf(std::span<const Value> conditions, Location where = Location::current());
Value allOf(std::initializer_list<Value> conditions, Location where = Location::current());
/// Returns the sums along `axis` up to and with each element, in the shape of x; f32 or i32. With `reverse`, the sums
/// from each element on.
Value cumsum(Operand x, int axis, bool reverse = false, Location where = Location::current());
Value reduceMax(Operand x, int axis, Location where = Location::current());
Value reduceMin(Operand x, int axis, Location where = Location::current());
Value reduceSum(Operand x, int axis, Location where = Location::current());
Value rowMax(Operand matrix, Location where = Location::current()); ///< [m, n] -> [m]
Value rowSum(Operand matrix, Location where = Location::current()); ///< [m, n] -> [m]
/// Returns log(rowSum(exp(matrix))), f32 [m, n] -> [m]. The row's maximum is subtracted first, so that nothing
/// overflows. A row in which all elements are -inf gives -inf.
Value rowLogSumExp(Operand matrix, Location where = Location::current());

/// Running row maximum m, row sum l and undivided output o of softmax(s) v over blocks of keys
/// (Milakov and Gimelshein 2018; FlashAttention-2, section 3.1).
class OnlineSoftmax {
public:
  /// Begins without keys, for `rows` query rows and `value_dim` columns of the output.
  OnlineSoftmax(int64_t rows, int64_t value_dim, Location where = Location::current());
  /// Begins with an attention sink: a key that each row sees, whose score is the f32 scalar `sink` and whose value is 0
  /// (Xiao et al. 2023; gpt-oss). A sink of -inf changes no bit. A sink of +inf or NaN makes all results NaN.
  OnlineSoftmax(int64_t rows, int64_t value_dim, Value sink, Location where = Location::current());
  /// Continues from a saved state: m [rows], l [rows], o [rows, value_dim], all f32.
  OnlineSoftmax(Value m, Value l, Value o, Location where = Location::current());
  /// Adds keys. Scores are f32 [rows, keys], -inf where a key must not be seen; values are [keys, value_dim].
  void update(Operand scores, Operand values, Location where = Location::current());
  /// Adds keys, but only elements of exp(s) at which `keep` is true are multiplied by values. `keep` is i1 and
  /// broadcasts to [rows, keys]; without it, all elements are. m and l count all elements. Dropout keeps elements at
  /// random.
  void update(Operand scores, Operand values, std::optional<Value> keep, Location where = Location::current());
  /// Adds keys so that a NaN or an infinity among the values of a key reaches only rows that see the key. A row does
  /// not see a value where `keep` is false. Far slower.
  void updateWhereSeen(Value scores, Value values, std::optional<Value> keep = std::nullopt,
                       Location where = Location::current());
  /// Adds keys that another softmax has seen: `output` [rows, value_dim] and `lse` f32 [rows] are its output() and
  /// logSumExp(). A row of it that saw no key, whose lse is -inf, counts for nothing, even if its output is NaN.
  void merge(Value output, Value lse, Location where = Location::current());
  Value output(Location where = Location::current()) const; ///< f32 [rows, value_dim]; 0 in rows that saw no key.
  /// Returns the log-sum-exp of the scores and the sink, f32 [rows], with the natural logarithm. In rows that saw no
  /// key it is the sink, and -inf without a sink.
  Value logSumExp(Location where = Location::current()) const;
  Value max() const { return m_; }                       ///< m: f32 [rows]
  Value sum(Location where = Location::current()) const; ///< l: f32 [rows], with the sink's part.
  Value undivided() const { return o_; }                 ///< o before division by l: f32 [rows, value_dim]

private:
  std::optional<Value> sink_;
  Var m_, l_, o_; ///< l without the sink's part, because loops carry a sum from 0 in partial sums.
};

/// A finished softmax(s) v over some keys.
struct SoftmaxPart {
  Value output; ///< [rows, value_dim]
  Value lse;    ///< f32 [rows]; -inf in rows that saw no key.
};

/// Returns the softmax over the keys of all parts, f32, as OnlineSoftmax::merge adds them. No two parts have seen the
/// same key. There is at least one part, and all have the same shapes.
SoftmaxPart mergeSoftmax(std::span<const SoftmaxPart> parts, Location where = Location::current());

} // namespace tegula
