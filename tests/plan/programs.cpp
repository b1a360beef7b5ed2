// SPDX-License-Identifier: MIT
#include "plan/programs.h"

#include "tegula/dsl.h"

namespace tegula::testing {
namespace {

constexpr int kDim = 16;  ///< The head dimension of the sigmoid.
constexpr int kRows = 16; ///< Rows of a tile of splitSum().

void multiply(View A, View B, View C, int block_m, int block_n) {
  constexpr int block_k = 32;
  Value i = programId(0) * block_m, j = programId(1) * block_n;
  Var c = fill({block_m, block_n}, 0.0);
  for (Value k : range(0, A.dim(1), block_k))
    c = dot(A.load({i, k}, {block_m, block_k}), B.load({k, j}, {block_k, block_n}), c);
  C.store({i, j}, c);
}

void backward(View Q, View K, View V, View dO, View dQ_acc, View dK, View dV, Value scale, int block_m, int block_n) {
  Value j = programId(0) * block_n;
  Value k = K.load(j, {block_n, kDim}), v = V.load(j, {block_n, kDim});
  Var dk = fill({block_n, kDim}, 0.0), dv = fill({block_n, kDim}, 0.0);
  for (Value i : range(0, Q.dim(0), block_m)) {
    Value q = Q.load(i, {block_m, kDim}), d_o = dO.load(i, {block_m, kDim});
    Value p = sigmoid(dot(q, transpose(k)) * scale), ds = dot(d_o, transpose(v)) * p * (1.0 - p);
    dv = dot(transpose(p), d_o, dv);
    dk = dot(transpose(ds), q, dk);
    dQ_acc.atomicAdd(i, dot(ds, k));
  }
  dK.store(j, dk * scale);
  dV.store(j, dv);
}

void finish(View dQ_acc, View dQ, Value scale, int block_m) {
  Value i = programId(0) * block_m;
  dQ.store(i, dQ_acc.load(i, {block_m, kDim}) * scale);
}

/// Returns the sums of rows from `row` on, over columns from `begin` up to `end`.
Value rowSums(const View &X, Value row, Value begin, Value end, int block) {
  Var sum = fill({kRows}, 0.0);
  for (Value j : range(begin, end, block)) {
    Value inside = asRow(j + iota(block)) < end;
    sum += reduceSum(select(inside, X.load({row, j}, {kRows, block}), 0.0), 1);
  }
  return sum;
}

void partialSums(View X, View Parts, int block) {
  Value split = programId(0), row = programId(1) * kRows;
  Value share = ceilDiv(ceilDiv(X.dim(1), block), numPrograms(0)) * block;
  Value begin = split * share;
  Parts.at(split).store(row, rowSums(X, row, begin, min(begin + share, X.dim(1)), block));
}

void mergeSums(View Parts, View Y) {
  Value row = programId(0) * kRows;
  Var sum = fill({kRows}, 0.0);
  for (Value split : range(0, Parts.dim(0)))
    sum += Parts.at(split).load(row, {kRows});
  Y.store(row, sum);
}

void wholeSums(View X, View Y, int block) {
  Value row = programId(0) * kRows;
  Y.store(row, rowSums(X, row, constant(DType::index, 0), X.dim(1), block));
}

void rowOffsets(View Counts, View Offsets) {
  constexpr int block = 32;
  Var before = fill({1}, 0);
  for (Value row : range(0, Counts.dim(0), block)) {
    Value counts = Counts.load(row, {block});
    Offsets.store(row, before + cumsum(counts, 0) - counts);
    before += reduceSum(counts, 0);
  }
}

void packRow(View X, View Counts, View Offsets, View Y) {
  constexpr int block = 16;
  Value row = programId(0), count = cast(DType::index, Counts.gather(row)),
        begin = cast(DType::index, Offsets.gather(row));
  View packed = Y.rows(begin, begin + count);
  for (Value j : range(0, count, block))
    packed.store(j, X.at(row).load(j, {block}));
}

} // namespace

PlanSpec matmul() {
  Size m("m"), n("n"), k("k");
  Tunable block_m("block_m", {32, 64}, 64), block_n("block_n", {32, 64}, 32);
  return KernelSpec("matmul", multiply, input("a", bf16, {m, k}), input("b", bf16, {k, n}), output("c", f32, {m, n}),
                    block_m, block_n)
      .grid(ceilDiv(m, block_m), ceilDiv(n, block_n))
      .where(block_m * block_n < 64 * 64, "the accumulator is too large");
}

PlanSpec sigmoidBackward() {
  Size queries("queries"), keys("keys");
  Tunable block_m("block_m", {16, 32}, 16), block_n("block_n", {16, 32}, 32);
  const std::vector<Size> rows = {queries, kDim}, columns = {keys, kDim};
  TensorSpec q = input("q", f32, rows), k = input("k", f32, columns), v = input("v", f32, columns);
  TensorSpec d_o = input("do", f32, rows), dq_acc = zeroed(workspace("dq_acc", f32, rows));
  TensorSpec dq = output("dq", f32, rows), dk = output("dk", f32, columns), dv = output("dv", f32, columns);
  ScalarSpec scale = scalar("scale", f32);
  return PlanSpec("sigmoid_backward",
                  {KernelSpec("sigmoid_main", backward, q, k, v, d_o, dq_acc, dk, dv, scale, block_m, block_n)
                       .grid(ceilDiv(keys, block_n)),
                   KernelSpec("sigmoid_finish", finish, dq_acc, dq, scale, block_m).grid(ceilDiv(queries, block_m))});
}

PlanSpec splitSum() {
  Size rows("rows"), columns("columns"), splits("splits");
  Tunable block("block", {16, 32, 64}, 32);
  TensorSpec x = input("x", f32, {rows, columns}), y = output("y", f32, {rows});
  TensorSpec parts = workspace("parts", f32, {splits, rows});
  return PlanSpec(
             "split_sum",
             {KernelSpec("sum_parts", partialSums, x, parts, block).grid(splits, ceilDiv(rows, kRows)).when(splits > 1),
              KernelSpec("sum_merge", mergeSums, parts, y).grid(ceilDiv(rows, kRows)).when(splits > 1),
              KernelSpec("sum_whole", wholeSums, x, y, block).grid(ceilDiv(rows, kRows)).when(splits == 1)})
      .choice("splits", max(1, min(ceilDiv(columns, 64), 4)))
      .require(splits >= 1, "splits must be 1 or more");
}

PlanSpec packRows() {
  Size rows("rows"), columns("columns"), total("total");
  TensorSpec counts = input("counts", i32, {rows}), offsets = workspace("offsets", i32, {rows});
  return PlanSpec("pack_rows", {KernelSpec("row_offsets", rowOffsets, counts, offsets),
                                KernelSpec("pack_row", packRow, input("x", f32, {rows, columns}), counts, offsets,
                                           output("y", f32, {total}))
                                    .grid(rows)})
      .preparation(1);
}

} // namespace tegula::testing
