// SPDX-License-Identifier: MIT
// Lists and removes the files in the directory of a cache.
#include "cache/entry.h"
#include "cache/tiers.h"
#include "tegula/guard.h"

namespace tegula {
namespace {

Expected<Folder> openFolder(const std::string &directory) {
  ReadError fault;
  std::optional<Folder> folder = Folder::open(directory, Folder::Access::own, fault);
  if (folder)
    return std::move(*folder);
  return Status(ErrorCode::invalid_argument,
                "'" + directory + "': " +
                    (fault == ReadError::absent ? "there is no such folder"
                                                : "it is no folder of this user that nobody else may write to"));
}

CacheEntry readEntry(const Folder &folder, const FolderFile &file) {
  CacheEntry entry;
  entry.key = file.name;
  entry.bytes = file.bytes;
  entry.used = file.used;
  ReadError fault;
  const std::optional<std::string> bytes = folder.read(file.name, fault);
  const Expected<Entry> decoded =
      bytes ? decodeEntry(*bytes) : Status(ErrorCode::internal, "the file cannot be read, or is not this user's");
  if (!decoded) {
    entry.status = decoded.status();
    return entry;
  }
  entry.artifact = decoded->artifact;
  entry.request = decoded->request;
  entry.environment = decoded->environment;
  return entry;
}

} // namespace

Expected<std::vector<CacheEntry>> listCache(const std::string &directory) noexcept {
  return guarded([&]() -> Expected<std::vector<CacheEntry>> {
    const Expected<Folder> folder = openFolder(directory);
    if (!folder)
      return folder.status();
    std::vector<CacheEntry> entries;
    for (const FolderFile &file : folder->files())
      entries.push_back(readEntry(*folder, file));
    return entries;
  });
}

Expected<CacheRemoval> pruneCache(const std::string &directory, int64_t limit_bytes) noexcept {
  return guarded([&]() -> Expected<CacheRemoval> {
    const Expected<Folder> folder = openFolder(directory);
    if (!folder)
      return folder.status();
    return prune(*folder, limit_bytes);
  });
}

Expected<CacheRemoval> removeDamaged(const std::string &directory) noexcept {
  return guarded([&]() -> Expected<CacheRemoval> {
    const Expected<Folder> folder = openFolder(directory);
    if (!folder)
      return folder.status();
    CacheRemoval removal;
    for (const FolderFile &file : folder->files())
      if (!readEntry(*folder, file).status.ok() && folder->remove(file.name)) {
        ++removal.files;
        removal.bytes += file.bytes;
      }
    return removal;
  });
}

} // namespace tegula
