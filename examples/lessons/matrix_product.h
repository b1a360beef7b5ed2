// SPDX-License-Identifier: MIT
// The kernel of lesson 3, which later lessons compile in other ways.
#pragma once

#include "lesson.h"
#include "tegula/dsl.h"

/// The tile of the result that a program instance computes, and the part of the sums of one iteration.
struct Tiles {
  int64_t m = 128, n = 128, k = 64;
};

/// Computes C = A B.
inline void matrixProduct(tegula::View A, tegula::View B, tegula::View C, Tiles tiles) {
  tegula::Value i = tegula::programId(0) * tiles.m, j = tegula::programId(1) * tiles.n;
  tegula::Var c = tegula::fill({tiles.m, tiles.n}, 0.0);
  for (tegula::Value k : tegula::range(0, A.dim(1), tiles.k)) // A loop on the device, which assigns to the Var.
    c = dot(A.load({i, k}, {tiles.m, tiles.k}), B.load({k, j}, {tiles.k, tiles.n}), c);
  C.store({i, j}, c);
}

/// Records the product of two bf16 matrices, whose result is f32.
inline tegula::Program recordMatrixProduct(Tiles tiles = {}) {
  using namespace tegula;
  return valueOf(record("matrix_product", matrixProduct, TensorArg{"a", bf16, 2}, TensorArg{"b", bf16, 2},
                        TensorArg{"c", f32, 2}, tiles));
}

/// Random matrices A [m, k] and B [k, n] on a device, their product in plain loops, and room for C.
class Product {
public:
  Product(Machine &machine, int64_t m, int64_t n, int64_t k) : machine_(machine), m_(m), n_(n), exact_(m * n) {
    const std::vector<float> a = randomNumbers(m * k), b = randomNumbers(k * n);
    A_ = machine.upload(a, {m, k}, tegula::bf16);
    B_ = machine.upload(b, {k, n}, tegula::bf16);
    C_ = machine.allocate({m, n});
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j)
          exact_[i * n + j] += double(a[i * k + l]) * b[l * n + j];
  }

  tegula::Status launch(const tegula::Kernel &kernel, Tiles tiles = {}) const {
    return kernel.launch({.x = (m_ + tiles.m - 1) / tiles.m, .y = (n_ + tiles.n - 1) / tiles.n}, {A_, B_, C_});
  }

  bool isRight() const { return check("c", machine_.download(C_), exact_, 1e-3); }

private:
  Machine &machine_;
  int64_t m_, n_;
  tegula::TensorRef A_, B_, C_;
  std::vector<double> exact_;
};
