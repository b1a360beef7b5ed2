// SPDX-License-Identifier: MIT
// Programs that must be refused. Each line with an error says so: `// expect-error: text` or `// expect-note: text`.
// All lines of the Status must be expected.
//
//   ERROR_PROGRAM(View A, View B, View C, Value scale, Value n) { A.load(0, {1}); } // expect-error: ...
#pragma once

#include "tegula/dsl.h"

#include <vector>

struct ErrorProgram {
  using Record = tegula::Expected<tegula::Program> (*)();
  const char *file;
  Record record;

  ErrorProgram(const char *file, Record record) : file(file), record(record) { all().push_back(*this); }
  static std::vector<ErrorProgram> &all();
};

/// Defines a program whose recording fails because of its arguments.
#define ERROR_RECORDING(...)                                                                                           \
  static const ErrorProgram errorProgram(__FILE__, []() -> tegula::Expected<tegula::Program> { __VA_ARGS__ });

#define ERROR_PROGRAM(...)                                                                                             \
  static void kernel(__VA_ARGS__);                                                                                     \
  ERROR_RECORDING(                                                                                                     \
      return tegula::record("kernel", kernel, tegula::TensorArg{"A", tegula::bf16, 2},                                 \
                            tegula::TensorArg{"B", tegula::f32, 2}, tegula::TensorArg{"C", tegula::i32, 1},            \
                            tegula::ScalarArg{"scale", tegula::f32}, tegula::ScalarArg{"n", tegula::i32});)            \
  static void kernel(__VA_ARGS__)
