// SPDX-License-Identifier: MIT
// The compiler as a function: request in, artifact or diagnostics out.
#pragma once

#include "tegula/artifact.h"

#include <string_view>
#include <vector>

namespace tegula {

/// Returns the names that CompileRequest::emit may have: phases in MLIR, then optimised LLVM IR, then the code of the
/// target. They are in the order in which they run. Empty if there is no such target.
std::vector<std::string_view> emittable(std::string_view target);

/// Compiles a program. Returns compile_failed with one `file:line: error: ...` per diagnostic, or an error that says
/// what is wrong with the request.
Expected<Artifact> compile(const CompileRequest &request);

} // namespace tegula
