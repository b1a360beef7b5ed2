// SPDX-License-Identifier: MIT
#include "tegula/dsl.h"

using namespace tegula;

// expect: combine device conditions by |, as in (x < 0) | (x > 3)
void kernel(View out, Var done, bool host) {
  when(done | host, [&] { out.store(0, 1); });
#ifdef BAD
  when(host || done, [&] { out.store(0, 1); });
#endif
}
