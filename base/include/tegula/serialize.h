// SPDX-License-Identifier: MIT
// Requests and results as bytes: what the compile worker is sent and answers, what a cache keeps, what a reproducer is.
#pragma once

#include "tegula/artifact.h"

#include <string>
#include <string_view>

namespace tegula {

/// A line `// tegula-request {JSON}`, then the program: a file that is MLIR and says how it was to be compiled.
std::string serialize(const CompileRequest &request);
/// Internal, with what is wrong, for bytes that serialize() of this version did not make; so also below.
Expected<CompileRequest> parseCompileRequest(std::string_view bytes);

/// A line `tegula-artifact {JSON}`, then the binary and the text.
std::string serialize(const Artifact &artifact);
Expected<Artifact> parseArtifact(std::string_view bytes);

/// The artifact, or a line `tegula-status {JSON}`.
std::string serialize(const Expected<Artifact> &result);
/// What was serialised.
Expected<Artifact> parseResult(std::string_view bytes);

} // namespace tegula
