// SPDX-License-Identifier: MIT
// The format of manifest.txt. The first line names the format. Then each kernel has a line `REQUEST_DIGEST CHECKSUM
// BYTES FILE`, and as many bytes of its artifact, as in serialize.h, without the binary.
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
  std::string checksum;       ///< Checksum of the file.
  std::string file;           ///< File with Artifact::binary.
  Artifact artifact;          ///< The artifact without its binary.
};

std::string writeManifest(const std::vector<ManifestKernel> &kernels);
/// Returns nullopt if `text` is not a manifest.
std::optional<std::vector<ManifestKernel>> parseManifest(std::string_view text);

/// Takes the first line off `text` and returns it. Takes all of `text` if it has no line end.
std::string_view takeLine(std::string_view &text);

} // namespace tegula
