// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

#include <optional>

ERROR_PROGRAM(View, View, View C, Value, Value) {
  std::optional<Value> escaped;
  for (Value i : range(0, 8))
    escaped.emplace(i + 1);   // expect-note: made here
  C.store(*escaped, 1);       // expect-error: this value was made inside the loop at line 10 and is used outside of it
}
