// SPDX-License-Identifier: MIT
#include "tegula/bundle.h"

#include "cache/manifest.h"
#include "tegula/guard.h"
#include "tegula/internal/digest.h"
#include "tegula/internal/folder.h"

#include <algorithm>

namespace tegula {
namespace {

Status unusable(const std::string &directory, const std::string &problem) {
  return {ErrorCode::invalid_argument, "bundle '" + directory + "': " + problem};
}

/// Returns the kernels of the directory's manifest. Returns none if there is no manifest.
Expected<std::vector<ManifestKernel>> readKernels(const std::string &directory, const Folder &folder) {
  ReadError fault;
  const std::optional<std::string> text = folder.read(kManifestFile, fault);
  if (!text && fault == ReadError::absent)
    return std::vector<ManifestKernel>();
  std::optional<std::vector<ManifestKernel>> kernels = text ? parseManifest(*text) : std::nullopt;
  if (!kernels)
    return unusable(directory, std::string(kManifestFile) + " is not one of this version");
  return std::move(*kernels);
}

const char *suffix(const Artifact &artifact) {
  if (artifact.target != "cuda")
    return ".so";
  return artifact.binary.starts_with("\x7f"
                                     "ELF")
             ? ".cubin"
             : ".ptx";
}

ManifestKernel describe(const BundledKernel &kernel) {
  const ArtifactKey key = artifactKey(kernel.request);
  ManifestKernel entry{key.request_digest, digest(kernel.artifact.binary),
                       kernel.artifact.kernel + "-" + key.request_digest.substr(0, 8) + suffix(kernel.artifact),
                       kernel.artifact};
  entry.artifact.binary.clear();
  entry.artifact.text.clear();
  return entry;
}

void replace(std::vector<ManifestKernel> &kernels, ManifestKernel kernel) {
  auto same = [&](const ManifestKernel &other) { return other.request_digest == kernel.request_digest; };
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(), same), kernels.end());
  kernels.push_back(std::move(kernel));
}

} // namespace

Status addToBundle(const std::string &directory, const std::vector<BundledKernel> &kernels) noexcept {
  return guarded([&]() -> Status {
    const std::optional<Folder> folder = Folder::make(directory);
    if (!folder)
      return unusable(directory, "it is no folder of this user that nobody else may write to");
    Expected<std::vector<ManifestKernel>> all = readKernels(directory, *folder);
    if (!all)
      return all.status();
    for (const BundledKernel &kernel : kernels) {
      ManifestKernel entry = describe(kernel);
      if (!folder->write(entry.file, kernel.artifact.binary))
        return {ErrorCode::resource_exhausted, "bundle '" + directory + "': cannot write '" + entry.file + "'"};
      replace(*all, std::move(entry));
    }
    if (!folder->write(kManifestFile, writeManifest(*all)))
      return {ErrorCode::resource_exhausted, "bundle '" + directory + "': cannot write '" + kManifestFile + "'"};
    return {};
  });
}

} // namespace tegula
