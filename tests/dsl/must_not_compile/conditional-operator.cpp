// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a device condition: use select(...) or when(...), not a C++ if
void kernel(View out, Value count) {
  out.store(0, select(count > 3, 1, 2));
#ifdef BAD
  out.store(0, count > 3 ? 1 : 2);
#endif
}
