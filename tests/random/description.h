// SPDX-License-Identifier: MIT
// A description of a program of the tile language. The generator makes it; the interpreter, the builder and the printer
// read it. It knows nothing of the compiler.
#pragma once

#include "tegula/dtype.h"
#include "tegula/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::random_programs {

using Shape = std::vector<int64_t>;

enum class Op : uint8_t {
  // Scalars and tiles without operands.
  constant,
  programId,
  dim,
  iota,
  fill,
  // Memory. The operands of load, store and atomicAdd are the position; the tile comes first, then a condition. The
  // operands of gather and scatter are a row and a column.
  load,
  gather,
  store,
  storeWhere,
  scatter,
  atomicAdd,
  // Shapes.
  transpose,
  asColumn,
  asRow,
  broadcast,
  columns, ///< From `first` on, `step` apart.
  join,
  interleave,
  // Elementwise.
  add,
  sub,
  mul,
  div,
  mod,
  shiftLeft,
  shiftRight,
  min,
  max,
  neg,
  abs,
  exp,
  tanh,
  sqrt,
  log,
  cast,
  select,
  less,
  lessEqual,
  equal,
  both,
  either,
  negation,
  // Operations that combine elements.
  dot,
  dotOnto,
  sum,
  largest,
  smallest,
  cumsum,
  any,
  anyAlong,
  allAlong,
  // Random numbers at a row and a column, which are the operands. The seed is `number`.
  randomByte,
  randomNumber,
  // Variables: a Var with its first value, its value here, and an assignment.
  var,
  read,
  assign,
  // Control flow: `then` is the body of a loop.
  loop,
  when,
  // An OnlineSoftmax, an update with scores, values and perhaps the elements that it keeps, and its output.
  softmax,
  update,
  output,
};

/// Offset and stream of all random numbers.
inline constexpr int64_t kRandomOffset = int64_t{5} << 30;
inline constexpr int32_t kRandomStream = 6;

struct Node;
using Region = std::vector<Node>;

/// One operation. Its result has the number `id`.
struct Node {
  Op op;
  int id = -1;
  DType dtype = f32;
  Shape shape = {};               ///< Shape of the result; for a store, of the tile.
  std::vector<int> operands = {}; ///< Ids.
  int tensor = -1;                ///< Index of a tensor.
  int subject = -1;               ///< Id of the var, or of the softmax.
  double number = 0;              ///< A constant, what a load reads outside a tensor, or a seed.
  int axis = 0;                   ///< Axis of dim, and of what combines elements along one.
  int64_t first = 0, step = 1;    ///< First column and step of columns.
  bool reverse = false;           ///< A cumsum runs from the last element on.
  bool perInstance = false;       ///< The tensor is a slice `.at(programId(0))`.
  int fixed = 0;                  ///< The axis of the tensor that is fixed at `at`; 0 if none is.
  int64_t at = 0;                 ///< The index of the fixed axis, which may be outside.
  int64_t page = 0;               ///< Rows of a page, if the first dimension of the tensor are pages; otherwise 0.
  int table = -1;                 ///< Index of the tensor that says where page i is; -1 if it is place i.
  int lengths = -1;               ///< Index of the tensor that says how many rows page i has; -1 if nothing does.
  std::vector<int> rows = {};     ///< Ids of the begin and the end of the rows that the node sees; empty for all rows.
  Region then = {}, otherwise = {};
};

/// A parameter of a program. Elements are multiples of 1/4 of at most 1, or small integers.
struct Tensor {
  DType dtype = f32;
  Shape shape = {};
  bool written = false;
  unsigned seed = 0; ///< Seed of its elements; a tensor that is written begins with zeros.
};

/// A program, how often it runs, and the schedules to compile it with.
struct Case {
  std::vector<Tensor> tensors;
  Region body;
  int ids = 0;
  int64_t instances = 1;
  int64_t blockRows = 16; ///< Rows of the tile that an instance owns: from programId(0) * blockRows on.
  Schedule sm80, sm90;
  uint32_t interleaving = 0; ///< Scheduler and seed of the executor.
};

/// Returns the program as C++ of the tile language, with the tensors and the schedules in comments.
std::string toText(const Case &program);

} // namespace tegula::random_programs
