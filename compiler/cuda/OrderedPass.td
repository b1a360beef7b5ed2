// SPDX-License-Identifier: MIT
// A pass that says what must happen before it and after it. tools/check-pass-order compares this with the pipelines.
#ifndef TEGULA_CUDA_ORDERED_PASS
#define TEGULA_CUDA_ORDERED_PASS

include "mlir/Pass/PassBase.td"

class OrderedPass<string flag, string operation = ""> : Pass<flag, operation> {
  let dependentDialects = ["::tegula::sm::SmDialect"];
  /// Names of ops and attributes that the pass works on, and that passes before it have put into the program.
  list<string> needs = [];
  /// Names that the pass may put into the program.
  list<string> gives = [];
  /// Names of which the program has none after the pass.
  list<string> ends = [];
}

#endif
