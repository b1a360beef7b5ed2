// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact_cache.h"

#include <string>
#include <string_view>

namespace tegula {

/// Returns the name of a program's function, or an empty string if there is none.
std::string_view functionName(std::string_view program);

/// Returns `status` with lines that name the request's kernel.
Status ofKernel(const Status &status, const CompileRequest &request);

/// Returns needs_compile, with the kernel and its key: it is in no cache and in no bundle.
Status needsCompile(const CompileRequest &request, const ArtifactKey &key);
/// Returns needs_compile, with the kernel and its key, under the policy loaded_only.
Status notLoaded(const CompileRequest &request, const ArtifactKey &key);

/// Compiles, in a range that profilers show. Errors name the kernel.
Expected<Artifact> compileKernel(Compiler &compiler, const CompileRequest &request);

} // namespace tegula
