// SPDX-License-Identifier: MIT
// The places where a cache looks.
#pragma once

#include "cache/folder.h"
#include "cache/manifest.h"
#include "tegula/artifact_cache.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tegula {

/// What looking somewhere gave: an artifact, or nothing, because there is none or because something is wrong.
struct Lookup {
  std::optional<Artifact> artifact = {};
  bool fault = false;
  bool damaged = false; ///< It could be read, and is no entry of this key.
};

/// The folder of a user. Opened when it is first needed, made when there is something to write.
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
  /// Null if there is none.
  const Folder *folder(bool make, bool &fault);

  const std::string path_;
  const int64_t limit_;
  std::mutex mutex_;
  std::optional<Folder> folder_;
};

/// A bundle, or what was once the folder of a cache. Opened, and its manifest read, when it is first needed.
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

/// Removes what was used last longest ago until at most `limitBytes` are left, and leftovers.
CacheRemoval prune(const Folder &folder, int64_t limitBytes);

} // namespace tegula
