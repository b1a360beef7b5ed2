// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

#include <optional>

ERROR_PROGRAM(View, View, View C, Value, Value n) {
  std::optional<Value> escaped;
  Var sum = constant(i32, 0);
  when(n > 0, [&] {
    escaped.emplace(n * 2); // expect-note: made here // expect-error: made inside the branch at line 11 and is used outside
  });
  sum = *escaped;
  C.store(0, sum);
}
