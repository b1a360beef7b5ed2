// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a Value is immutable: declare it as `Var` to assign to it
void kernel(View x, View out) {
  Value sum = x.load(0, {4});
  for (Value i : range(0, 8)) {
    out.store(i, sum);
#ifdef BAD
    sum = sum + x.load(i, {4});
#endif
  }
}
