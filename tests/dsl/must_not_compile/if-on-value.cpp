// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a device condition: use select(...) or when(...), not a C++ if
void kernel(View x, View out, Value count) {
  out.store(0, x.load(0, {4}));
#ifdef BAD
  if (count <= 3)
#endif
  out.store(count, 1);
}
