// SPDX-License-Identifier: MIT
// Requests and results as bytes: what the compile worker is sent and answers, what a cache keeps, what a reproducer is.
#pragma once

#include "tegula/artifact.h"

#include <string>
#include <string_view>

namespace tegula {

/// Comments that say how the program was to be compiled, then the program: a file that is MLIR.
std::string serialize(const CompileRequest &request);
/// Internal for bytes that serialize() of this version did not make; so also below.
Expected<CompileRequest> parseCompileRequest(std::string_view bytes);

/// Lines of text, then the binary and the text.
std::string serialize(const Artifact &artifact);
Expected<Artifact> parseArtifact(std::string_view bytes);

/// The artifact, or the status in its place.
std::string serialize(const Expected<Artifact> &result);
Expected<Artifact> parseResult(std::string_view bytes);

} // namespace tegula
