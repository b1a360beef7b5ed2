// SPDX-License-Identifier: MIT
#include "bench/own_kernels/programs.h"

#include <limits>

namespace tegula::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorArg heads(const char *name, DType dtype) { return {name, dtype, 4}; }

/// Returns P of a tile, [rows of q, rows of k], with 0 for keys from `keys` on.
Value probabilities(Value q, Value k, Value scale, Value shift, Value j, Value keys) {
  Value key = asRow(j + iota(int(k.shape()[0])));
  return select(key < keys, sigmoid(dot(q, transpose(k)) * scale + shift), 0.0);
}

} // namespace

Expected<Program> recordRowSoftmax(DType dtype, int tile_rows, int tile_columns) {
  auto kernel = [=](View X, View Y) {
    Value row = programId(0) * tile_rows;
    Value x = cast(f32, X.load({row, 0}, {tile_rows, tile_columns}, -kInfinity));
    Value e = exp(x - asColumn(rowMax(x)));
    Y.store({row, 0}, cast(dtype, e / asColumn(rowSum(e))));
  };
  return record("row_softmax", kernel, TensorArg{"x", dtype, 2}, TensorArg{"y", dtype, 2});
}

Expected<Program> recordLayerNorm(DType dtype, int tile_rows, int tile_columns) {
  auto kernel = [=](View X, View W, View B, View Y, Value epsilon) {
    Value row = programId(0) * tile_rows, columns = cast(f32, X.dim(1));
    Value x = cast(f32, X.load({row, 0}, {tile_rows, tile_columns})); // Columns beyond the end are 0.
    Value mean = rowSum(x) / columns;
    Value centered = select(asRow(iota(tile_columns)) < X.dim(1), x - asColumn(mean), 0.0);
    Value variance = rowSum(centered * centered) / columns;
    Value w = cast(f32, W.load(0, {tile_columns})), b = cast(f32, B.load(0, {tile_columns}));
    Y.store({row, 0}, cast(dtype, centered * asColumn(rsqrt(variance + epsilon)) * asRow(w) + asRow(b)));
  };
  return record("layer_norm", kernel, TensorArg{"x", dtype, 2}, TensorArg{"weight", dtype, 1},
                TensorArg{"bias", dtype, 1}, TensorArg{"y", dtype, 2}, ScalarArg{"epsilon", f32});
}

Expected<Program> recordSinkAttention(DType dtype, int block_m, int block_n, int head_dim) {
  auto kernel = [=](View Q, View K, View V, View Sink, View O, Value scale) {
    Value i = programId(0) * block_m, head = programId(1), batch = programId(2);
    Value q = Q.at(batch, head).load(i, {block_m, head_dim}), keys = K.dim(2);
    Value sink = broadcast(Sink.load(head, {1}), {block_m});
    OnlineSoftmax softmax(sink, fill({block_m}, 1.0), fill({block_m, head_dim}, 0.0));
    for (Value j : range(0, keys, block_n)) {
      Value s = dot(q, transpose(K.at(batch, head).load(j, {block_n, head_dim}))) * scale;
      softmax.update(select(asRow(j + iota(block_n)) < keys, s, -kInfinity),
                     V.at(batch, head).load(j, {block_n, head_dim}));
    }
    O.at(batch, head).store(i, softmax.output());
  };
  return record("sink_attention", kernel, heads("q", dtype), heads("k", dtype), heads("v", dtype),
                TensorArg{"sink", f32, 1}, heads("o", dtype), ScalarArg{"scale", f32});
}

Expected<Program> recordSigmoidForward(DType dtype, int block_m, int block_n, int head_dim) {
  auto kernel = [=](View Q, View K, View V, View O, Value scale, Value shift) {
    Value i = programId(0) * block_m, head = programId(1), batch = programId(2);
    Value q = Q.at(batch, head).load(i, {block_m, head_dim});
    Var o = fill({block_m, head_dim}, 0.0);
    for (Value j : range(0, K.dim(2), block_n)) {
      Value k = K.at(batch, head).load(j, {block_n, head_dim});
      Value p = probabilities(q, k, scale, shift, j, K.dim(2));
      o = dot(cast(dtype, p), V.at(batch, head).load(j, {block_n, head_dim}), o);
    }
    O.at(batch, head).store(i, o);
  };
  return record("sigmoid_forward", kernel, heads("q", dtype), heads("k", dtype), heads("v", dtype), heads("o", dtype),
                ScalarArg{"scale", f32}, ScalarArg{"shift", f32});
}

Expected<Program> recordSigmoidBackward(DType dtype, int block_m, int block_n, int head_dim) {
  auto kernel = [=](View Q, View K, View V, View dO, View dQ_acc, View dK, View dV, Value scale, Value shift) {
    Value j = programId(0) * block_n, head = programId(1), batch = programId(2);
    Value k = K.at(batch, head).load(j, {block_n, head_dim}), v = V.at(batch, head).load(j, {block_n, head_dim});
    Var dk = fill({block_n, head_dim}, 0.0), dv = fill({block_n, head_dim}, 0.0);
    for (Value i : range(0, Q.dim(2), block_m)) {
      Value q = Q.at(batch, head).load(i, {block_m, head_dim}), d_o = dO.at(batch, head).load(i, {block_m, head_dim});
      Value p = probabilities(q, k, scale, shift, j, K.dim(2));
      Value ds = cast(dtype, dot(d_o, transpose(v)) * p * (1.0 - p));
      dv = dot(transpose(cast(dtype, p)), d_o, dv);
      dk = dot(transpose(ds), q, dk);
      dQ_acc.at(batch, head).atomicAdd(i, dot(ds, k));
    }
    dK.at(batch, head).store(j, dk * scale);
    dV.at(batch, head).store(j, dv);
  };
  return record("sigmoid_backward", kernel, heads("q", dtype), heads("k", dtype), heads("v", dtype), heads("do", dtype),
                heads("dq_acc", f32), heads("dk", dtype), heads("dv", dtype), ScalarArg{"scale", f32},
                ScalarArg{"shift", f32});
}

Expected<Program> recordSigmoidFinish(DType dtype, int block_m, int head_dim) {
  auto kernel = [=](View dQ_acc, View dQ, Value scale) {
    Value i = programId(0) * block_m, head = programId(1), batch = programId(2);
    dQ.at(batch, head).store(i, dQ_acc.at(batch, head).load(i, {block_m, head_dim}) * scale);
  };
  return record("sigmoid_finish", kernel, heads("dq_acc", f32), heads("dq", dtype), ScalarArg{"scale", f32});
}

} // namespace tegula::bench
