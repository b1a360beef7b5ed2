// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: a device condition: use select(...) or when(...), not a C++ if
void kernel(View out, Value count) {
  when((count > 3) & (count < 8), [&] { out.store(0, 1); });
#ifdef BAD
  when(count > 3 && count < 8, [&] { out.store(0, 1); });
#endif
}
