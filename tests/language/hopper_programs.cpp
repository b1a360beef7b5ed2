// SPDX-License-Identifier: MIT
#include "language/hopper_programs.h"

namespace tegula {

Expected<Program> language::recordBothSides(const char *steps) {
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

Expected<Program> language::recordSigmoidBackward(const char *steps) {
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

Expected<Program> language::recordInSteps(const char *steps) {
  auto kernel = [=](View X, View W, View V, View Y) {
    Value x = X.load({programId(0) * 128, 0}, {128, 128});
    Var y = fill({128, 128}, 0.0); // [128, 128]
    for (Value h : range(0, W.dim(1), 64, Steps(steps))) {
      Value hidden = max(label("hidden", dot(x, W.load({0, h}, {128, 64}))), 0.0); // [128, 64]
      y = label("out", dot(cast(bf16, hidden), V.load({h, 0}, {64, 128}), y));
    }
    Y.store({programId(0) * 128, 0}, y);
  };
  return record("in_steps", kernel, TensorArg{"x", bf16, 2}, TensorArg{"w", bf16, 2}, TensorArg{"v", bf16, 2},
                TensorArg{"y", bf16, 2});
}

Expected<Program> language::recordProductAndRowSums() {
  auto kernel = [](View A, View B, View C, View Sums) {
    Value i = programId(0) * 128;
    Var c = fill({128, 128}, 0.0), sums = fill({128}, 0.0);
    for (Value k : range(0, A.dim(1), 64)) {
      Value a = A.load({i, k}, {128, 64});
      c = dot(a, B.load({k, 0}, {64, 128}), c);
      sums += rowSum(cast(f32, a));
    }
    C.store({i, 0}, c);
    Sums.store(i, sums);
  };
  return record("product_and_row_sums", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                TensorArg{"c", bf16, 2}, TensorArg{"sums", f32, 1});
}

Expected<Program> language::recordProductAfterALoop() {
  auto kernel = [](View A, View B, View C, View D) {
    Var sum = fill({128, 64}, 0.0);
    for (Value k : range(0, A.dim(1), 64))
      sum = dot(A.load({0, k}, {128, 64}), B.load({k, 0}, {64, 64}), sum);
    C.store(0, sum);
    D.store(0, dot(A.load({0, 0}, {128, 64}), B.load({0, 0}, {64, 64})));
  };
  return record("after_a_loop", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", bf16, 2},
                TensorArg{"d", bf16, 2});
}

Expected<Program> language::recordWithBias(DType dtype, int width) {
  auto kernel = [=](View X, View W, View V, View Bias, View Y, View Sums) {
    Value x = X.load({0, 0}, {128, 128});
    Var y = fill({128, 128}, 0.0), sums = fill({128}, 0.0); // [128, 128], [128]
    for (Value h : range(0, W.dim(1), width)) {
      Value bias = cast(f32, Bias.at(programId(0)).load(h, {width}, 3.0));    // [width]
      Value p = max(dot(x, W.load({0, h}, {128, width})) + asRow(bias), 0.0); // [128, width]
      sums = sums + rowSum(p);
      y = dot(cast(bf16, p), V.load({h, 0}, {width, 128}), y);
    }
    Y.store({0, 0}, y);
    Sums.store(0, sums);
  };
  return record("with_bias", kernel, TensorArg{"x", bf16, 2}, TensorArg{"w", bf16, 2}, TensorArg{"v", bf16, 2},
                TensorArg{"bias", dtype, 2}, TensorArg{"y", bf16, 2}, TensorArg{"sums", f32, 1});
}

Expected<Program> language::recordScaledColumns() {
  auto kernel = [](View X, View W, View Scale, View V, View Y) {
    Value i = programId(0) * 128, head = programId(1);
    View scale = Scale.at(head);
    Value x = X.load({i, 0}, {128, 128});
    Var y = fill({128, 64}, 0.0);
    for (Value h : range(0, W.dim(1), 64)) {
      Value hidden = dot(x, W.load({0, h}, {128, 64})) * asRow(scale.load(h, {64})); // [128, 64]
      y = dot(cast(bf16, hidden), V.load({h, 0}, {64, 64}), y);
    }
    Y.at(head).store({i, 0}, y);
  };
  return record("scaled_columns", kernel, TensorArg{"x", bf16, 2}, TensorArg{"w", bf16, 2}, TensorArg{"scale", f32, 2},
                TensorArg{"v", bf16, 2}, TensorArg{"y", f32, 3});
}

Expected<Program> language::recordWithTiles() {
  auto kernel = [](View X, View W, View V, View Bias, View Marks, View Y) {
    Value x = X.load({0, 0}, {128, 128});
    Var y = fill({128, 128}, 0.0); // [128, 128]
    for (Value h : range(0, W.dim(1), 64)) {
      Value bias = Bias.load({0, h}, {128, 64}), marks = cast(f32, Marks.load({0, h}, {128, 64})); // [128, 64]
      Value p = max(dot(x, W.load({0, h}, {128, 64})) + bias + marks, 0.0);                        // [128, 64]
      y = dot(cast(bf16, p), V.load({h, 0}, {64, 128}), y);
    }
    Y.store({0, 0}, y);
  };
  return record("with_tiles", kernel, TensorArg{"x", bf16, 2}, TensorArg{"w", bf16, 2}, TensorArg{"v", bf16, 2},
                TensorArg{"bias", f32, 2}, TensorArg{"marks", i8, 2}, TensorArg{"y", bf16, 2});
}

Expected<Program> language::recordStores(DType dtype) {
  auto kernel = [=](View A, View B, View C) {
    Value b = B.load({0, 0}, {64, 128}); // [64, 128]
    for (Value i : range(0, A.dim(0), 128))
      C.store({i, 0}, cast(dtype, dot(A.load({i, 0}, {128, 64}), b)));
  };
  return record("stores", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", dtype, 2});
}

Expected<Program> language::recordTwoStores() {
  auto kernel = [](View A, View B, View E, View C, View D, View Sums) {
    Value b = B.load({0, 0}, {64, 128}), e = E.load({0, 0}, {64, 128}); // [64, 128]
    for (Value i : range(0, A.dim(0), 128)) {
      Value a = A.load({i, 0}, {128, 64});
      Value x = dot(a, b), y = dot(a, e); // [128, 128]
      Value c = cast(bf16, x + y), d = cast(bf16, cast(f32, c) + y);
      Sums.store(i, rowSum(cast(f32, d)));
      C.store({i, 0}, c);
      D.store({i, 0}, d);
    }
  };
  return record("two_stores", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"e", bf16, 2},
                TensorArg{"c", bf16, 2}, TensorArg{"d", bf16, 2}, TensorArg{"sums", f32, 1});
}

Expected<Program> language::recordSplitProduct(int rows, int first) {
  auto kernel = [=](View A, View B, View C) {
    Value depth = programId(0) * 64, column = programId(1) * 128;
    Value b = B.load({depth, column}, {64, 128}); // [64, 128]
    for (Value i : range(first, A.dim(0), rows))
      C.atomicAdd({i, column}, dot(A.load({i, depth}, {rows, 64}), b));
  };
  return record("split_product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordSplitProductInTurns() {
  auto kernel = [](View A, View B, View C, View Turns) {
    Value part = programId(0), depth = part * 64, column = programId(1) * 128;
    Value b = B.load({depth, column}, {64, 128}); // [64, 128]
    for (Value i : range(0, A.dim(0), 64))
      C.orderedAdd({i, column}, dot(A.load({i, depth}, {64, 64}), b), {Turns.at(programId(1)), i, part, part + 1});
  };
  return record("split_product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"c", f32, 2},
                TensorArg{"turns", i32, 2});
}

Expected<Program> language::recordSplitProductWithArrivals() {
  auto kernel = [](View A, View B, View Parts, View Counters, View C) {
    Value part = programId(0), column = programId(1) * 128, depth = part * 128;
    Var product = fill({128, 128}, 0.0);
    for (Value k : range(depth, depth + 128, 64))
      product = dot(A.load({0, k}, {128, 64}), B.load({k, column}, {64, 128}), product);
    Parts.at(part).store({0, column}, product);
    when(Counters.arrive(programId(1), numPrograms(0)), [&] {
      Var sum = fill({128, 128}, 0.0);
      for (Value i : range(0, numPrograms(0)))
        sum = sum + Parts.at(i).load({0, column}, {128, 128});
      C.store({0, column}, sum);
    });
  };
  return record("split_product", kernel, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2}, TensorArg{"parts", f32, 3},
                TensorArg{"counters", i32, 1}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordTf32Product(int block_m, int block_n) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * block_m, j = programId(1) * block_n;
    Var c = fill({block_m, block_n}, 0.0);
    for (Value k : range(0, A.dim(1), 32))
      c = dot(A.load({i, k}, {block_m, 32}), B.load({k, j}, {32, block_n}), c, Precision::tf32);
    C.store({i, j}, c);
  };
  return record("tf32_product", kernel, TensorArg{"a", f32, 2}, TensorArg{"b", f32, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordE4m3Product(int block_m, int block_n) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * block_m, j = programId(1) * block_n;
    Var c = fill({block_m, block_n}, 0.0);
    for (Value k : range(0, A.dim(1), 128))
      c = dot(A.load({i, k}, {block_m, 128}), B.load({k, j}, {128, block_n}), c);
    C.store({i, j}, c);
  };
  return record("e4m3_product", kernel, TensorArg{"a", e4m3, 2}, TensorArg{"b", e4m3, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordE4m3ProductOfColumns(int block_m, int block_n) {
  auto kernel = [=](View A, View B, View C) {
    Value i = programId(0) * block_m, j = programId(1) * block_n;
    Var c = fill({block_m, block_n}, 0.0);
    for (Value k : range(0, A.dim(1), 128))
      c = dot(A.load({i, k}, {block_m, 128}), transpose(B.load({j, k}, {block_n, 128})), c);
    C.store({i, j}, c);
  };
  return record("e4m3_columns", kernel, TensorArg{"a", e4m3, 2}, TensorArg{"b", e4m3, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordE4m3ProductOfAComputedTile() {
  auto kernel = [](View A, View B, View C) {
    Value i = programId(0) * 64;
    Var c = fill({64, 128}, 0.0);
    for (Value k : range(0, A.dim(1), 128)) {
      Value doubled = cast(e4m3, cast(f32, A.load({i, k}, {64, 128})) * 2.0);
      c = dot(doubled, B.load({k, 0}, {128, 128}), c);
    }
    C.store({i, 0}, c);
  };
  return record("e4m3_computed", kernel, TensorArg{"a", e4m3, 2}, TensorArg{"b", e4m3, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordTf32Rows() {
  auto kernel = [](View A, View B, View C) {
    Value b = B.load({0, 0}, {32, 128}); // [32, 128]
    for (Value i : range(0, A.dim(0), 64))
      C.atomicAdd({i, 0}, dot(A.load({i, 0}, {64, 32}), b, Precision::tf32));
  };
  return record("tf32_rows", kernel, TensorArg{"a", f32, 2}, TensorArg{"b", f32, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordTf32Square() {
  auto kernel = [](View B, View C) {
    Var c = fill({128, 128}, 0.0);
    for (Value k : range(0, B.dim(0), 32)) {
      Value b = B.load({k, 0}, {32, 128});
      c = dot(transpose(b), b, c, Precision::tf32);
    }
    C.store({0, 0}, c);
  };
  return record("tf32_square", kernel, TensorArg{"b", f32, 2}, TensorArg{"c", f32, 2});
}

Expected<Program> language::recordTf32ProductOfAComputedTile() {
  auto kernel = [](View A, View B, View C) {
    Value i = programId(0) * 128;
    Var c = fill({128, 128}, 0.0);
    for (Value k : range(0, A.dim(1), 32))
      c = dot(A.load({i, k}, {128, 32}), B.load({k, 0}, {32, 128}) * 2.0, c, Precision::tf32);
    C.store({i, 0}, c);
  };
  return record("tf32_product_of_a_computed_tile", kernel, TensorArg{"a", f32, 2}, TensorArg{"b", f32, 2},
                TensorArg{"c", f32, 2});
}

Expected<Program> language::recordDrawnTf32Product() {
  auto kernel = [](View A, View B, View C, View Counter) {
    for (Value block : dynamicRange(Counter, (A.dim(0) + 127) / 128)) {
      Value i = block * 128;
      Var c = fill({128, 128}, 0.0);
      for (Value k : range(0, A.dim(1), 32))
        c = dot(A.load({i, k}, {128, 32}), B.load({k, 0}, {32, 128}), c, Precision::tf32);
      C.store({i, 0}, c);
    }
  };
  return record("drawn_tf32_product", kernel, TensorArg{"a", f32, 2}, TensorArg{"b", f32, 2}, TensorArg{"c", f32, 2},
                TensorArg{"counter", i32, 1});
}

} // namespace tegula
