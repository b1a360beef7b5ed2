// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a number is no Value: write constant(f32, 0.5), or fill({16, 16}, 0.5) for a tile
void kernel(View x, View out) {
  Var sum = x.load(0, {4});
#ifdef BAD
  sum = 0;
#endif
  out.store(0, sum);
}
