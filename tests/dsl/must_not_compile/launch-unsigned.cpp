// SPDX-License-Identifier: MIT
#include "tegula/kernel.h"

using namespace tegula;

// expect: an argument of launch is a TensorRef, float (0.125f), int32_t or int64_t
Status launch(const Kernel &kernel, const TensorRef &x) {
#ifdef BAD
  return kernel.launch(Grid{1, 1, 1}, {x, size_t{3}});
#endif
  return kernel.launch(Grid{1, 1, 1}, {x, 0.125f, 3, int64_t{4}});
}
