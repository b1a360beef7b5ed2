// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a Value is immutable: declare it as `Var` to assign to it
void kernel(View x, View out) {
  Value sum = x.load(0, {4});
#ifdef BAD
  sum += 1.0;
#endif
  out.store(0, sum);
}
