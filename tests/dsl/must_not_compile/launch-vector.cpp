// SPDX-License-Identifier: MIT
#include "tegula/kernel.h"

using namespace tegula;

// expect: an argument of launch is a TensorRef, float (0.125f), int32_t or int64_t
Status launch(const Kernel &kernel, const std::vector<float> &data, const TensorRef &x) {
#ifdef BAD
  return kernel.launch(Grid{1, 1, 1}, {data});
#endif
  return kernel.launch(Grid{1, 1, 1}, {x, data[0]});
}
