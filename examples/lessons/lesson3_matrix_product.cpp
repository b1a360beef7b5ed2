// SPDX-License-Identifier: MIT
// Lesson 3: a loop on the device, and tiles that specialise a kernel. Matrices need not be whole tiles.
#include "matrix_product.h"

using namespace tegula;

int main() {
  Machine machine;
  const Product product(machine, /*m=*/200, /*n=*/300, /*k=*/250);
  bool right = true;
  for (Tiles tiles : {Tiles{}, Tiles{.m = 64, .n = 32, .k = 32}}) {
    const Program program = recordMatrixProduct(tiles); // Each choice of tiles is a program of its own.
    const std::shared_ptr<Kernel> kernel = valueOf(machine.cache.get(program.text));
    std::printf("tiles %ldx%ldx%ld, ", long(tiles.m), long(tiles.n), long(tiles.k));
    require(product.launch(*kernel, tiles));
    right &= product.isRight();
  }
  return right ? 0 : 1;
}
