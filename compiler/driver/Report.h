// SPDX-License-Identifier: MIT
// What a person who tunes a kernel asks first: which instructions it uses, what its loops have to do, and
// in which order.
#pragma once

#include "tegula/artifact.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tegula {

/// Returns a line for each kind of instruction that multiplies or copies tiles, with its number in the PTX text.
std::string describeInstructions(llvm::StringRef ptx);

/// Returns the work of an iteration of each innermost loop of a program in the phase `shared`: of MMAs, special
/// functions (exponentials, reciprocals, ...) and loads, for one program instance. Rare paths (`tile.rare`) do not
/// count, nor does the else side of any other branch. Where the GPU's rates are known (`arch` is 90 for sm_90a), also
/// the clocks that a multiprocessor needs for them at least.
std::string describeLoops(mlir::ModuleOp module, int64_t arch);

/// Returns the order that was decided for each consumer loop with MMAs, from a program in the phase `shared`: the step
/// list, then a line for each MMA, wait, release and turn of an iteration, at the program's own line. `@1` stands for
/// the iteration before.
std::string describeOrder(mlir::ModuleOp module);

/// Returns the name of the kernel, and the schedule as `--schedule` reads it.
std::string describeSchedule(const Artifact &artifact);

/// Returns what the assembler says, with the resources of a launch and the number of program instances that share a
/// multiprocessor. `sharedBytes` is the shared memory of a multiprocessor.
std::string describeResources(const Artifact &artifact, int64_t sharedBytes);

} // namespace tegula
