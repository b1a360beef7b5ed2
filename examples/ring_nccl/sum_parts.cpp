// SPDX-License-Identifier: MIT
#include "sum_parts.h"

#include "team.h"
#include "tegula/dsl.h"

using namespace tegula;

std::string sumPartsProgram(int64_t columns) {
  auto kernel = [columns](View Parts, View Sum) {
    Value row = programId(0) * kSumRows, head = programId(1), batch = programId(2);
    Var sum = fill({kSumRows, columns}, 0.0);
    for (Value part : range(0, Parts.dim(0)))
      sum += cast(f32, Parts.at(part, batch, head).load(row, {kSumRows, columns}));
    Sum.at(batch, head).store(row, sum);
  };
  Expected<Program> program = record("sum_parts", kernel, TensorArg{"parts", bf16, 5}, TensorArg{"sum", bf16, 4});
  return valueOf(std::move(program), "record of sum_parts").text;
}
