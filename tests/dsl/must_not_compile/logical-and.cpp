// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: combine device conditions by &, as in (x > 0) & (x < 3)
void kernel(View out, Value count) {
  when((count > 3) & (count < 8), [&] { out.store(0, 1); });
#ifdef BAD
  when(count > 3 && count < 8, [&] { out.store(0, 1); });
#endif
}
