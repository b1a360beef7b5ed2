// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View B, View C, Value, Value n) {
  Value all = numPrograms(0);
  B.arrive(0, all); // expect-error: arrive: the counters are an f32 view of rank 2; they must be a view of type i32 and rank 1
  C.rows(0, 2).arrive(0, all); // expect-error: arrive: the counters are rows(begin, end) of a tensor; take the tensor, and add begin to the place
  C.arrive(fill({4}, 1), all); // expect-error: arrive: i32 [4] (line 10) is not a position; positions are scalars, and gather takes tiles
  C.arrive(0, 1.5); // expect-error: arrive: the literal 1.5 is not a count; counts are integer scalars
  when(n > 0, [&] {
    when(C.arrive(0, all), [&] { A.store(0, fill({4, 4}, 1.0)); }); // expect-error: arrive: the call is inside when(...), which some threads of the program instance may skip; arrive after it
  });
}
