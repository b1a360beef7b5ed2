// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a device condition: use select(...) or when(...), not a C++ if
void kernel(View out, Value count) {
  Var seen = count > 3;
  when(seen, [&] { out.store(0, 1); });
#ifdef BAD
  if (seen)
#endif
    out.store(0, 2);
}
