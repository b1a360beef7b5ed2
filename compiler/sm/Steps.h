// SPDX-License-Identifier: MIT
// Step lists: the order in which the MMAs and other labelled ops of an iteration start, as one line that a person can
// read and write.
//
//     list := step+
//     step := label | label "@1" | label ".end@1" | label ".lhs" | label ".rhs" | "<" | ">"
//
// A label (`tile.label`) stands for the start of its MMA, load, store, addition or gather. `@1` means: of the iteration
// before. `label.end@1` lets the MMA run into the next iteration, which adds to the same accumulators. `label.lhs` and
// `label.rhs` stand for the write of an operand that warpgroups compute and exchange through shared memory. Warpgroups
// run what is between `<` and `>` one after another. Flash attention's forward pass, overlapped, is `< s o@1 >`: the
// first MMA of an iteration together with the second one of the iteration before. Its backward pass is `s dp < dq.lhs >
// dq@1 dv dk`.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tegula::sm {

struct Step {
  enum class Kind : uint8_t { start, end, lhs, rhs, takeTurn, passTurn };

  Kind kind = Kind::start;
  std::string label = {}; ///< The op, unless the step is a turn.
  bool isDelayed = false; ///< True for an op of the iteration before (`@1`).

  bool isTurn() const { return kind == Kind::takeTurn || kind == Kind::passTurn; }
  bool isWrite() const { return kind == Kind::lhs || kind == Kind::rhs; }
  bool operator==(const Step &) const = default;
};

using StepList = llvm::SmallVector<Step, 8>;

/// Reads a step list. The error says which step is wrong and what is legal.
llvm::Expected<StepList> parseSteps(llvm::StringRef text);
std::string toString(llvm::ArrayRef<Step> steps);

} // namespace tegula::sm
