// SPDX-License-Identifier: MIT
#include "tegula/kernel.h"

using namespace tegula;

// expect: write the grid as {.x = 8}
Status launch(const Kernel &kernel, const TensorRef &x) {
#ifdef BAD
  return kernel.launch(8, {x});
#endif
  return kernel.launch({.x = 8}, {x});
}
