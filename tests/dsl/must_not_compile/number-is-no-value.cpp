// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a number is no Value: write constant(f32, 0.5), or fill({16, 16}, 0.5) for a tile
void kernel(View out) {
#ifdef BAD
  Var sum = 0.0;
#else
  Var sum = fill({4}, 0.0);
#endif
  out.store(0, sum);
}
