// SPDX-License-Identifier: MIT
// Requests and results as bytes, for the compile worker, the caches and reproducers.
#pragma once

#include "tegula/artifact.h"

#include <string>
#include <string_view>

namespace tegula {

/// Returns a file of MLIR: comments that hold the target, the schedule and the phase, then the program.
std::string serialize(const CompileRequest &request);
/// Parses a result of serialize(). Bytes that another version made are an error with the code Internal. The other
/// parsers below answer in the same way.
Expected<CompileRequest> parseCompileRequest(std::string_view bytes);

/// Returns lines of text, then the binary and the text of the artifact.
std::string serialize(const Artifact &artifact);
Expected<Artifact> parseArtifact(std::string_view bytes);

/// Returns the artifact as bytes, or the status in its place.
std::string serialize(const Expected<Artifact> &result);
Expected<Artifact> parseResult(std::string_view bytes);

} // namespace tegula
