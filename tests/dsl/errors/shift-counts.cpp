// SPDX-License-Identifier: MIT
#include "error_program.h"

using namespace tegula;

ERROR_PROGRAM(View, View, View C, Value, Value n) {
  n << 31;
  n << 32; // expect-error: <<: the count is 32; a literal count must be from 0 to 31 for i32
  n >> -1; // expect-error: >>: the count is -1; a literal count must be from 0 to 31 for i32
  programId(0) >> 63;
  programId(0) >> 64; // expect-error: >>: the count is 64; a literal count must be from 0 to 63 for index
  cast(DType::i8, C.load(0, {4})) << 32; // expect-error: <<: the count is 32; a literal count must be from 0 to 31 for i32
  n << (int64_t(1) << 40); // expect-error: <<: the literal 1099511627776 does not fit into i32
}
