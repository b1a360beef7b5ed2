// SPDX-License-Identifier: MIT
// The recorded program as data: nodes in regions. Recorder builds it, Linearizer orders it, print writes it.
#pragma once

#include "tegula/artifact.h"
#include "tegula/value.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace tegula {

using NodeId = uint32_t;
using RegionId = uint32_t;
using FlowId = uint32_t;

/// The form in which an operation is written.
enum class Form : uint8_t {
  Hidden,  ///< Not an operation: an argument, or a result of an operation.
  Same,    ///< name operands : type
  Compare, ///< name text, operands : operand type
  Convert, ///< name operand : from to type
  Reshape, ///< name operand text : from -> type
  Special,
};

// Each entry has a name, its MLIR spelling and its form.
#define TEGULA_OPS(X)                                                                                                  \
  X(Poison, "", Hidden)                                                                                                \
  X(Parameter, "", Hidden)                                                                                             \
  X(Argument, "", Hidden)                                                                                              \
  X(Result, "", Hidden)                                                                                                \
  X(Constant, "arith.constant", Special)                                                                               \
  X(AddF, "arith.addf", Same)                                                                                          \
  X(AddI, "arith.addi", Same)                                                                                          \
  X(SubF, "arith.subf", Same)                                                                                          \
  X(SubI, "arith.subi", Same)                                                                                          \
  X(MulF, "arith.mulf", Same)                                                                                          \
  X(MulI, "arith.muli", Same)                                                                                          \
  X(DivF, "arith.divf", Same)                                                                                          \
  X(DivI, "arith.divsi", Same)                                                                                         \
  X(RemI, "arith.remsi", Same)                                                                                         \
  X(FloorDivI, "arith.floordivsi", Same)                                                                               \
  X(CeilDivI, "arith.ceildivsi", Same)                                                                                 \
  X(ShiftLeft, "arith.shli", Same)                                                                                     \
  X(ShiftRight, "arith.shrsi", Same)                                                                                   \
  X(And, "arith.andi", Same)                                                                                           \
  X(Or, "arith.ori", Same)                                                                                             \
  X(Xor, "arith.xori", Same)                                                                                           \
  X(MinF, "arith.minnumf", Same)                                                                                       \
  X(MinI, "arith.minsi", Same)                                                                                         \
  X(MaxF, "arith.maxnumf", Same)                                                                                       \
  X(MaxI, "arith.maxsi", Same)                                                                                         \
  X(NegF, "arith.negf", Same)                                                                                          \
  X(Exp, "math.exp", Same)                                                                                             \
  X(Exp2, "math.exp2", Same)                                                                                           \
  X(Log, "math.log", Same)                                                                                             \
  X(Log2, "math.log2", Same)                                                                                           \
  X(Tanh, "math.tanh", Same)                                                                                           \
  X(FastTanh, "math.tanh", Special)                                                                                    \
  X(Sqrt, "math.sqrt", Same)                                                                                           \
  X(Erf, "math.erf", Same)                                                                                             \
  X(Sin, "math.sin", Same)                                                                                             \
  X(Cos, "math.cos", Same)                                                                                             \
  X(Pow, "math.powf", Same)                                                                                            \
  X(AbsF, "math.absf", Same)                                                                                           \
  X(AbsI, "math.absi", Same)                                                                                           \
  X(CompareF, "arith.cmpf", Compare)                                                                                   \
  X(CompareI, "arith.cmpi", Compare)                                                                                   \
  X(Select, "arith.select", Special)                                                                                   \
  X(ExtF, "arith.extf", Convert)                                                                                       \
  X(TruncF, "arith.truncf", Convert)                                                                                   \
  X(ExtSI, "arith.extsi", Convert)                                                                                     \
  X(ExtUI, "arith.extui", Convert)                                                                                     \
  X(TruncI, "arith.trunci", Convert)                                                                                   \
  X(IntToFloat, "arith.sitofp", Convert)                                                                               \
  X(ConditionToFloat, "arith.uitofp", Convert)                                                                         \
  X(FloatToInt, "arith.fptosi", Convert)                                                                               \
  X(IndexCast, "arith.index_cast", Convert)                                                                            \
  X(Broadcast, "tile.broadcast", Reshape)                                                                              \
  X(Reshape, "tile.reshape", Reshape)                                                                                  \
  X(Transpose, "tile.transpose", Reshape)                                                                              \
  X(Iota, "tile.iota", Special)                                                                                        \
  X(ProgramId, "tile.program_id", Special)                                                                             \
  X(NumPrograms, "tile.num_programs", Special)                                                                         \
  X(Dim, "tile.dim", Special)                                                                                          \
  X(Slice, "tile.slice", Special)                                                                                      \
  X(Rows, "tile.rows", Special)                                                                                        \
  X(Pages, "tile.pages", Special)                                                                                      \
  X(Load, "tile.load", Special)                                                                                        \
  X(Gather, "tile.gather", Special)                                                                                    \
  X(Store, "tile.store", Special)                                                                                      \
  X(AtomicAdd, "tile.atomic_add", Special)                                                                             \
  X(OrderedAdd, "tile.atomic_add", Special)                                                                            \
  X(StoreWhere, "tile.store", Special)                                                                                 \
  X(Scatter, "tile.scatter", Special)                                                                                  \
  X(ScatterAdd, "tile.scatter_add", Special)                                                                           \
  X(Print, "tile.print", Special)                                                                                      \
  X(Assert, "tile.assert", Special)                                                                                    \
  X(Columns, "tile.columns", Special)                                                                                  \
  X(Join, "tile.join", Special)                                                                                        \
  X(Random, "tile.random", Special)                                                                                    \
  X(Dot, "tile.dot", Special)                                                                                          \
  X(Reduce, "tile.reduce", Special)                                                                                    \
  X(Cumsum, "tile.cumsum", Special)                                                                                    \
  X(Any, "tile.any", Special)                                                                                          \
  X(SoftmaxUpdate, "tile.softmax_update", Special)                                                                     \
  X(SoftmaxOutput, "tile.softmax_output", Special)                                                                     \
  X(SoftmaxLse, "tile.softmax_lse", Same)                                                                              \
  X(For, "scf.for", Special)                                                                                           \
  X(If, "scf.if", Special)

enum class Op : uint8_t {
#define TEGULA_OP(name, mnemonic, form) name,
  TEGULA_OPS(TEGULA_OP)
#undef TEGULA_OP
};

struct OpInfo {
  const char *mnemonic;
  Form form;
};
const OpInfo &info(Op op);
/// Returns true if the operation makes a view of its first operand, which is a view.
bool makesView(Op op);

struct Type {
  DType dtype = f32;
  Shape shape;
  int view_rank = 0; ///< If not 0, the type is a view of that rank and has no shape.

  bool scalar() const { return shape.empty() && view_rank == 0; }
  bool operator==(const Type &) const = default;
};

struct Node {
  Op op;
  Type type;
  std::vector<NodeId> operands;
  /// An attribute as it is written; for a parameter, its name; for a print and an assert, its label.
  std::string text;
  /// An axis, a first column, a dot's Precision, the position of an argument or result, or the FlowId of For and If.
  int64_t number = 0;
  Location where;
  RegionId region = 0;
  uint32_t epoch = 0;     ///< Number of anchors that `region` had before.
  NodeId owner = 0;       ///< For an Argument, and for the Result of a For or If: that operation.
  NodeId alias = 0;       ///< If not 0, the node that this argument turned out to be.
  std::string label = {}; ///< The name in step lists.
};

/// A block of operations. Its anchors are effects, For and If. They keep the order in which they were recorded, and
/// loads stay between the anchors around them. All other operations are placed where they are needed first.
struct Region {
  RegionId parent = 0;
  NodeId owner = 0; ///< The For or If; 0 for the body of the function.
  std::vector<NodeId> anchors;
  std::unordered_map<std::string, NodeId> known; ///< Nodes by what they compute, to find an equal one.
};

/// A Var that lives across a For or If.
struct Carried {
  uint32_t slot;
  NodeId initial;
  NodeId argument = 0;    ///< For a For: the value at the beginning of its body.
  NodeId yielded[2] = {}; ///< The value at the end of each region.
  NodeId result = 0;
};

enum class LoopKind : uint8_t {
  Ordered,
  Parallel,
  Dynamic, ///< The operands are a counter and the end. It is written as an scf.while.
};

/// The regions of a For (one) or If (two), and the Vars that they carry.
struct Flow {
  NodeId node;
  std::vector<RegionId> regions;
  std::vector<Carried> carried;
  NodeId induction = 0;
  LoopKind kind = LoopKind::Ordered; ///< For a For only.
  std::string attributes = {};       ///< For a For only: its step lists.
};

struct Graph {
  // Deques, because references to elements are kept while more are added.
  std::deque<Node> nodes;
  std::deque<Region> regions;
  std::deque<Flow> flows;

  NodeId resolve(NodeId id) const;
  /// Returns the Var whose value an Argument or a Result of a For or If is. Null for other nodes.
  const Carried *carried(NodeId id) const;
  const Node &operator[](NodeId id) const { return nodes[id]; }
};

} // namespace tegula
