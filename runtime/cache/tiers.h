// SPDX-License-Identifier: MIT
// The levels of the artifact cache.
#pragma once

#include "cache/manifest.h"
#include "tegula/artifact_cache.h"
#include "tegula/internal/folder.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tegula {

/// The result of a search in one level: an artifact, or nothing, because there is none or because something is wrong.
struct Lookup {
  std::optional<Artifact> artifact = {};
  bool fault = false;
  bool damaged = false; ///< The file could be read, but is not an entry of this key.
};

/// The level of the user's own directory. It is opened when it is first needed, and made when there is something to
/// write.
class UserTier {
public:
  UserTier(std::string path, int64_t limitBytes) : path_(std::move(path)), limit_(limitBytes) {}

  Lookup find(const ArtifactKey &key);
  struct Saved {
    bool ok = false;
    int64_t evicted = 0;
  };
  Saved save(const ArtifactKey &key, const Artifact &artifact);
  Folder::Lock lock(const ArtifactKey &key, std::chrono::milliseconds patience);

private:
  /// Returns the directory, or null if there is none.
  const Folder *folder(bool make, bool &fault);

  const std::string path_;
  const int64_t limit_;
  std::mutex mutex_;
  std::optional<Folder> folder_;
};

/// The level of a bundle, or of a directory that was once a cache's. The directory is opened, and its manifest read,
/// when it is first needed.
class ReadOnlyTier {
public:
  explicit ReadOnlyTier(std::string path) : path_(std::move(path)) {}

  Lookup find(const ArtifactKey &key);

private:
  void open();
  Lookup findInBundle(const ArtifactKey &key) const;

  const std::string path_;
  std::once_flag opened_;
  std::optional<Folder> folder_;
  std::optional<std::vector<ManifestKernel>> bundle_;
  bool fault_ = false;
};

/// Removes the least recently used files until at most `limitBytes` are left, and leftovers.
CacheRemoval prune(const Folder &folder, int64_t limitBytes);

} // namespace tegula
