// SPDX-License-Identifier: MIT
// manifest.txt: a line that says what it is; then for each kernel a line `REQUEST_DIGEST CHECKSUM BYTES FILE`, and as
// many bytes of its artifact, as serialize.h has it, without the binary.
#pragma once

#include "tegula/artifact_cache.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

inline constexpr const char *kManifestFile = "manifest.txt";

/// A kernel of a bundle.
struct ManifestKernel {
  std::string request_digest; ///< ArtifactKey::request_digest
  std::string checksum;       ///< Of the file.
  std::string file;           ///< With Artifact::binary.
  Artifact artifact;          ///< Without the binary.
};

std::string writeManifest(const std::vector<ManifestKernel> &kernels);
/// nullopt for anything else.
std::optional<std::vector<ManifestKernel>> parseManifest(std::string_view text);

/// Takes the first line, or all, off `text`.
std::string_view takeLine(std::string_view &text);

} // namespace tegula
