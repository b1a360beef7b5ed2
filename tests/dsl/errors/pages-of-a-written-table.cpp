// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View A, View, View C, Value, Value) {
  packed(A).store(0, paged(A, C, 16).load(0, {4})); // expect-error: paged: the program writes 'C'; a table of pages, and their lengths, are tensors that the program only reads
  C.store(0, 1);
}
