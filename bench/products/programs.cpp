// SPDX-License-Identifier: MIT
#include "bench/products/programs.h"

namespace tegula::bench {
namespace {

/// The tiles of C in the order in which program instances compute them.
struct TileOrder {
  static constexpr int kRowsTogether = 8;

  Value rows, columns; ///< Numbers of tiles.

  TileOrder(View C, ProductBlocks blocks)
      : rows((C.dim(0) + blocks.block_m - 1) / blocks.block_m),
        columns((C.dim(1) + blocks.block_n - 1) / blocks.block_n) {}

  /// Returns the row and the column of tiles of tile `number`.
  std::pair<Value, Value> at(Value number) const {
    Value group = number / (columns * kRowsTogether), first = group * kRowsTogether;
    Value height = min(rows - first, kRowsTogether), inside = number % (columns * kRowsTogether);
    return {first + inside % height, inside / height};
  }
};

void multiplyTile(View A, View B, View C, Value i, Value j, ProductBlocks blocks) {
  const auto [block_m, block_n, block_k] = blocks;
  Var c = fill({block_m, block_n}, 0.0); // [block_m, block_n]
  for (Value k : range(0, A.dim(1), block_k))
    c = dot(A.load({i, k}, {block_m, block_k}), B.load({k, j}, {block_k, block_n}), c);
  C.store({i, j}, c);
}

} // namespace

Expected<Program> recordMatrixProduct(DType dtype, ProductBlocks blocks) {
  auto kernel = [=](View A, View B, View C) {
    auto [row, column] = TileOrder(C, blocks).at(programId(0));
    multiplyTile(A, B, C, row * blocks.block_m, column * blocks.block_n, blocks);
  };
  return record("matrix_product", kernel, TensorArg{"a", dtype, 2}, TensorArg{"b", dtype, 2}, TensorArg{"c", dtype, 2});
}

Expected<Program> recordPersistentMatrixProduct(DType dtype, ProductBlocks blocks) {
  auto kernel = [=](View A, View B, View C) {
    const TileOrder order(C, blocks);
    for (Value tile : parallelRange(programId(0), order.rows * order.columns, numPrograms(0))) {
      auto [row, column] = order.at(tile);
      multiplyTile(A, B, C, row * blocks.block_m, column * blocks.block_n, blocks);
    }
  };
  return record("persistent_matrix_product", kernel, TensorArg{"a", dtype, 2}, TensorArg{"b", dtype, 2},
                TensorArg{"c", dtype, 2});
}

Expected<Program> recordTwoProducts(DType dtype, ProductBlocks blocks, int width) {
  auto kernel = [=](View X, View W, View V, View Y) {
    Value i = programId(0) * blocks.block_m;
    Value x = X.load({i, 0}, {blocks.block_m, width});
    Var y = fill({blocks.block_m, width}, 0.0); // [block_m, width]
    for (Value h : range(0, W.dim(1), blocks.block_n)) {
      Value hidden = max(dot(x, W.load({0, h}, {width, blocks.block_n})), 0.0); // [block_m, block_n]
      y = dot(cast(dtype, hidden), V.load({h, 0}, {blocks.block_n, width}), y);
    }
    Y.store({i, 0}, y);
  };
  return record("two_products", kernel, TensorArg{"x", dtype, 2}, TensorArg{"w", dtype, 2}, TensorArg{"v", dtype, 2},
                TensorArg{"y", dtype, 2});
}

Expected<Program> recordLinearAttention(DType dtype, int block_m, int width) {
  auto kernel = [=](View Q, View K, View V, View O) {
    Value head = programId(0), row = reshape(iota(block_m), {block_m, 1}),
          column = reshape(iota(block_m), {1, block_m});
    Var state = fill({width, width}, 0.0); // [width, width]
    for (Value i : range(0, Q.dim(1), block_m)) {
      auto chunk = [&](View view) { return view.at(head).load({i, 0}, {block_m, width}); };
      Value q = chunk(Q), k = chunk(K), v = chunk(V);
      Value scores = select(column <= row, dot(q, transpose(k)), 0.0); // [block_m, block_m]
      O.at(head).store({i, 0}, dot(cast(dtype, scores), v, dot(q, cast(dtype, state))));
      state = dot(transpose(k), v, state);
    }
  };
  return record("linear_attention", kernel, TensorArg{"q", dtype, 3}, TensorArg{"k", dtype, 3},
                TensorArg{"v", dtype, 3}, TensorArg{"o", dtype, 3});
}

} // namespace tegula::bench
