// SPDX-License-Identifier: MIT
#include "sigmoid.h"

#include "tegula/dsl.h"

#include <cmath>

using namespace tegula;

namespace {

/// Host constants of the kernels, besides the tiles.
struct Options {
  int head_dim;
  bool causal;
};

/// Returns P of a tile, [rows of q, rows of k], from the query `i` and the key `j` on. Keys that a query does not see
/// have 0.
Value probabilities(Value q, Value k, Value scale, Value i, Value j, Value keys, const Options &options) {
  const int rows = int(q.shape()[0]), columns = int(k.shape()[0]);
  Value key = asRow(j + iota(columns)), inside = key < keys;
  Value seen = options.causal ? inside & (key <= asColumn(i + iota(rows))) : inside;
  return select(seen, sigmoid(dot(q, transpose(k)) * scale), 0.0);
}

void forwardKernel(View Q, View K, View V, View O, Value scale, int block_m, int block_n, Options options) {
  Value i = programId(0) * block_m, head = programId(1), batch = programId(2);
  Value q = Q.at(batch, head).load(i, {block_m, options.head_dim});
  Value keys = K.dim(2), end = options.causal ? min(i + block_m, keys) : keys;
  Var o = fill({block_m, options.head_dim}, 0.0);
  for (Value j : range(0, end, block_n)) {
    Value k = K.at(batch, head).load(j, {block_n, options.head_dim});
    Value v = V.at(batch, head).load(j, {block_n, options.head_dim});
    o = dot(cast(Q.dtype(), probabilities(q, k, scale, i, j, keys, options)), v, o);
  }
  O.at(batch, head).store(i, o);
}

void backwardKernel(View Q, View K, View V, View dO, View dQ_acc, View dK, View dV, Value scale, int block_m,
                    int block_n, Options options) {
  Value j = programId(0) * block_n, head = programId(1), batch = programId(2);
  Value k = K.at(batch, head).load(j, {block_n, options.head_dim});
  Value v = V.at(batch, head).load(j, {block_n, options.head_dim});
  Var dk = fill({block_n, options.head_dim}, 0.0), dv = fill({block_n, options.head_dim}, 0.0);
  Value begin = options.causal ? j / block_m * block_m : constant(DType::index, 0);
  for (Value i : range(begin, Q.dim(2), block_m)) {
    Value q = Q.at(batch, head).load(i, {block_m, options.head_dim});
    Value d_o = dO.at(batch, head).load(i, {block_m, options.head_dim});
    Value p = probabilities(q, k, scale, i, j, K.dim(2), options);
    Value ds = cast(Q.dtype(), dot(d_o, transpose(v)) * p * (1.0 - p));
    dv = dot(transpose(cast(Q.dtype(), p)), d_o, dv);
    dk = dot(transpose(ds), q, dk);
    dQ_acc.at(batch, head).atomicAdd(i, dot(ds, k));
  }
  dK.at(batch, head).store(j, dk * scale);
  dV.at(batch, head).store(j, dv);
}

void finishKernel(View dQ_acc, View dQ, Value scale, int block_m, Options options) {
  Value i = programId(0) * block_m, head = programId(1), batch = programId(2);
  dQ.at(batch, head).store(i, dQ_acc.at(batch, head).load(i, {block_m, options.head_dim}) * scale);
}

/// The declarations that both passes share.
struct Declarations {
  explicit Declarations(const Sigmoid &sigmoid)
      : dtype(sigmoid.dtype), rows{batch, heads, queries, sigmoid.head_dim},
        columns{batch, heads, keys, sigmoid.head_dim}, options{sigmoid.head_dim, sigmoid.causal} {}

  DType dtype;
  Size batch{"batch"}, heads{"heads"}, queries{"queries"}, keys{"keys"};
  std::vector<Size> rows, columns;
  Options options;
  Tunable block_m{"block_m", {32, 64, 128}, 64}, block_n{"block_n", {32, 64, 128}, 64};
  TensorSpec q = input("q", dtype, rows), k = input("k", dtype, columns), v = input("v", dtype, columns);
  ScalarSpec scale = scalar("scale", f32);
};

/// Visits every pair of a query and a key that it sees, with its probability.
template <class Visit> void forEachPair(HostCall &call, const Sigmoid &sigmoid, Visit visit) {
  const int64_t all = call.size("batch") * call.size("heads"), queries = call.size("queries"), keys = call.size("keys");
  const std::vector<double> &q = call["q"], &k = call["k"];
  const int64_t dim = sigmoid.head_dim;
  for (int64_t head = 0; head < all; ++head)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < (sigmoid.causal ? std::min(i + 1, keys) : keys); ++j) {
        const int64_t row = (head * queries + i) * dim, column = (head * keys + j) * dim;
        double s = 0;
        for (int64_t d = 0; d < dim; ++d)
          s += q[size_t(row + d)] * k[size_t(column + d)];
        visit(size_t(row), size_t(column), 1 / (1 + std::exp(-call.scalar("scale") * s)));
      }
}

} // namespace

PlanSpec Sigmoid::forward() const {
  const Declarations of(*this);
  return KernelSpec("sigmoid_forward", forwardKernel, of.q, of.k, of.v, output("o", dtype, of.rows), of.scale,
                    of.block_m, of.block_n, of.options)
      .grid(ceilDiv(of.queries, of.block_m), of.heads, of.batch);
}

PlanSpec Sigmoid::backward() const {
  const Declarations of(*this);
  const TensorSpec dq_acc = zeroed(workspace("dq_acc", f32, of.rows));
  return PlanSpec("sigmoid_backward",
                  {KernelSpec("sigmoid_backward", backwardKernel, of.q, of.k, of.v, input("do", dtype, of.rows), dq_acc,
                              output("dk", dtype, of.columns), output("dv", dtype, of.columns), of.scale, of.block_m,
                              of.block_n, of.options)
                       .grid(ceilDiv(of.keys, of.block_n), of.heads, of.batch),
                   KernelSpec("sigmoid_finish", finishKernel, dq_acc, output("dq", dtype, of.rows), of.scale,
                              of.block_m, of.options)
                       .grid(ceilDiv(of.queries, of.block_m), of.heads, of.batch)});
}

Reference Sigmoid::forwardReference() const {
  return [sigmoid = *this](HostCall &call) {
    const std::vector<double> &v = call["v"];
    std::vector<double> &o = call["o"];
    forEachPair(call, sigmoid, [&](size_t row, size_t column, double p) {
      for (size_t d = 0; d < size_t(sigmoid.head_dim); ++d)
        o[row + d] += p * v[column + d];
    });
  };
}

Reference Sigmoid::backwardReference() const {
  return [sigmoid = *this](HostCall &call) {
    const std::vector<double> &q = call["q"], &k = call["k"], &v = call["v"], &d_o = call["do"];
    std::vector<double> &dq = call["dq"], &dk = call["dk"], &dv = call["dv"];
    const double scale = call.scalar("scale");
    forEachPair(call, sigmoid, [&](size_t row, size_t column, double p) {
      const auto dim = size_t(sigmoid.head_dim);
      double dp = 0;
      for (size_t d = 0; d < dim; ++d)
        dp += d_o[row + d] * v[column + d];
      const double ds = scale * dp * p * (1 - p);
      for (size_t d = 0; d < dim; ++d) {
        dq[row + d] += ds * k[column + d];
        dk[column + d] += ds * q[row + d];
        dv[column + d] += p * d_o[row + d];
      }
    });
  };
}
