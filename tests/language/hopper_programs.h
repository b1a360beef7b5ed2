// SPDX-License-Identifier: MIT
// Programs of several products, for the tests of their results and of their synchronisation.
#pragma once

#include "tegula/dsl.h"

namespace tegula::language {

/// X = A B^T from both sides: U = X^T C, for which each warpgroup has its part of X, and V += X B, which needs all of
/// X. Warpgroups exchange X where `steps` delays V, or names the write of X. a and c are [n, 128], b [128, 128],
/// u [128, 128] and v [n, 128].
inline Expected<Program> recordBothSides(const char *steps) {
  auto kernel = [=](View A, View B, View C, View U, View V) {
    Value b = B.load({0, 0}, {128, 128});
    Var u = fill({128, 128}, 0.0);
    for (Value i : range(0, A.dim(0), 64, Steps(steps))) {
      Value x = cast(bf16, label("x", dot(A.load({i, 0}, {64, 128}), transpose(b)))); // [64, 128]
      u = label("u", dot(transpose(x), C.load({i, 0}, {64, 128}), u));                // [128, 128]
      V.atomicAdd({i, 0}, label("v", dot(x, b)));                                     // [64, 128]
    }
    U.store({0, 0}, u);
  };
  return record("both_sides", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", bf16, 2},
                TensorArg{"u", f32, 2}, TensorArg{"v", f32, 2});
}

/// The gradients of O = P V with P = sigmoid(Q K^T) (Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for
/// Sigmoid Self-Attention"): dV = P^T dO, dS = P (1 - P) dO V^T, dK = dS^T Q, dQ += dS K. q, d_o and dq are
/// [queries, 64], k, v, dk and dv [keys, 64]. A program instance has 128 keys. The loop has the step list `steps`, if
/// any.
inline Expected<Program> recordSigmoidBackward(const char *steps = "") {
  auto kernel = [=](View Q, View K, View V, View dO, View dQ, View dK, View dV) {
    Value j = programId(0) * 128;
    Value k = K.load({j, 0}, {128, 64}), v = V.load({j, 0}, {128, 64});
    Var dk = fill({128, 64}, 0.0), dv = fill({128, 64}, 0.0);
    for (Value i : range(0, Q.dim(0), 64, Steps(steps))) {
      Value q = Q.load({i, 0}, {64, 64}), d_o = dO.load({i, 0}, {64, 64});
      Value p = sigmoid(label("s", dot(q, transpose(k))));                        // [64, 128]
      Value ds = cast(bf16, p * (1.0 - p) * label("dp", dot(d_o, transpose(v)))); // [64, 128]
      dv = label("dv", dot(transpose(cast(bf16, p)), d_o, dv));                   // [128, 64]
      dk = label("dk", dot(transpose(ds), q, dk));                                // [128, 64]
      dQ.atomicAdd({i, 0}, label("dq", dot(ds, k)));                              // [64, 64]
    }
    dK.store({j, 0}, dk);
    dV.store({j, 0}, dv);
  };
  return record("sigmoid_backward", kernel, TensorArg{"q", bf16, 2}, TensorArg{"k", bf16, 2}, TensorArg{"v", bf16, 2},
                TensorArg{"d_o", bf16, 2}, TensorArg{"dq", f32, 2}, TensorArg{"dk", f32, 2}, TensorArg{"dv", f32, 2});
}

} // namespace tegula::language
