// SPDX-License-Identifier: MIT
#include "cache/tiers.h"

#include "cache/entry.h"
#include "tegula/internal/digest.h"

#include <algorithm>

namespace tegula {
namespace {

Lookup look(const Folder &folder, const ArtifactKey &key) {
  ReadError fault;
  const std::optional<std::string> bytes = folder.read(key.digest, fault);
  if (!bytes)
    return {.fault = fault == ReadError::failed};
  Expected<Artifact> artifact = decodeEntryFor(key, *bytes);
  return artifact ? Lookup{.artifact = std::move(*artifact)} : Lookup{.fault = true, .damaged = true};
}

/// Returns the size to which a prune reduces a directory, so that there is room for a while.
int64_t comfortable(int64_t limitBytes) { return limitBytes / 10 * 9; }

int64_t totalBytes(const std::vector<FolderFile> &files) {
  int64_t total = 0;
  for (const FolderFile &file : files)
    total += file.bytes;
  return total;
}

} // namespace

CacheRemoval prune(const Folder &folder, int64_t limitBytes) {
  folder.removeLeftovers();
  CacheRemoval removal;
  int64_t kept = 0;
  for (const FolderFile &file : folder.files()) {
    kept += file.bytes;
    if (kept > limitBytes && folder.remove(file.name)) {
      ++removal.files;
      removal.bytes += file.bytes;
    }
  }
  return removal;
}

const Folder *UserTier::folder(bool make, bool &fault) {
  const std::lock_guard lock(mutex_);
  if (!folder_) {
    ReadError problem;
    folder_ = Folder::open(path_, Folder::Access::own, problem);
    if (!folder_ && problem == ReadError::absent && make)
      folder_ = Folder::make(path_);
    fault = !folder_ && (make || problem == ReadError::failed);
  }
  return folder_ ? &*folder_ : nullptr;
}

Lookup UserTier::find(const ArtifactKey &key) {
  Lookup lookup;
  const Folder *folder = this->folder(false, lookup.fault);
  if (folder == nullptr)
    return lookup;
  lookup = look(*folder, key);
  if (lookup.damaged)
    folder->remove(key.digest);
  if (lookup.artifact)
    folder->markUsed(key.digest);
  return lookup;
}

UserTier::Saved UserTier::save(const ArtifactKey &key, const Artifact &artifact) {
  bool fault = false;
  const Folder *folder = this->folder(true, fault);
  if (folder == nullptr || !folder->write(key.digest, encodeEntry(key, artifact)))
    return {};
  const bool full = totalBytes(folder->files()) > limit_;
  return {.ok = true, .evicted = full ? prune(*folder, comfortable(limit_)).files : 0};
}

Folder::Lock UserTier::lock(const ArtifactKey &key, std::chrono::milliseconds patience) {
  bool fault = false;
  const Folder *folder = this->folder(true, fault);
  return folder == nullptr ? Folder::Lock() : folder->lock(key.digest, patience);
}

void ReadOnlyTier::open() {
  ReadError fault;
  folder_ = Folder::open(path_, Folder::Access::read_only, fault);
  fault_ = !folder_; // The host has named a directory, so it should exist.
  const std::optional<std::string> manifest = folder_ ? folder_->read(kManifestFile, fault) : std::nullopt;
  if (!manifest) {
    fault_ |= fault == ReadError::failed;
    return;
  }
  bundle_ = parseManifest(*manifest);
  fault_ = !bundle_;
}

Lookup ReadOnlyTier::find(const ArtifactKey &key) {
  std::call_once(opened_, [&] { open(); });
  if (fault_)
    return {.fault = true};
  return bundle_ ? findInBundle(key) : look(*folder_, key);
}

Lookup ReadOnlyTier::findInBundle(const ArtifactKey &key) const {
  const auto kernel = std::find_if(bundle_->begin(), bundle_->end(), [&](const ManifestKernel &kernel) {
    return kernel.request_digest == key.request_digest;
  });
  if (kernel == bundle_->end())
    return {};
  ReadError fault;
  std::optional<std::string> binary = folder_->read(kernel->file, fault);
  if (!binary || digest(*binary) != kernel->checksum)
    return {.fault = true};
  Lookup lookup{.artifact = kernel->artifact};
  lookup.artifact->binary = std::move(*binary);
  return lookup;
}

} // namespace tegula
