// SPDX-License-Identifier: MIT
// A directory whose files appear whole or not at all. Calls throw only std::bad_alloc, and report no more than that
// they failed.
#pragma once

#include "tegula/internal/descriptor.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A file of a folder.
struct FolderFile {
  std::string name;
  int64_t bytes = 0;
  std::chrono::system_clock::time_point used = {};
};

/// The reason why a read returned no bytes.
enum class ReadError {
  none,
  absent, ///< There is no such file.
  failed, ///< The file cannot be read, or must not be trusted.
};

class Folder {
public:
  enum class Access {
    own,       ///< Belongs to this user.
    read_only, ///< Belongs to this user or to root.
  };

  /// Opens `path`, which must be a directory of the right owner that nobody else may write to.
  static std::optional<Folder> open(const std::string &path, Access access, ReadError &fault);
  /// Makes `path` and the directories that it lies in, and opens it.
  static std::optional<Folder> make(const std::string &path);

  std::optional<std::string> read(const std::string &name, ReadError &fault) const;
  /// Sets FolderFile::used to the current time.
  void markUsed(const std::string &name) const;
  /// Puts a file into the directory in place of an older one. If that fails, returns false and leaves the directory as
  /// it was.
  bool write(const std::string &name, std::string_view bytes) const;
  bool remove(const std::string &name) const;

  /// The lock of a file. It is held until it is destroyed, or until this process ends.
  class Lock {
  public:
    Lock() = default;
    Lock(const Folder &folder, std::string name, Descriptor file)
        : folder_(&folder), name_(std::move(name)), file_(std::move(file)) {}
    Lock(Lock &&other) noexcept
        : folder_(std::exchange(other.folder_, nullptr)), name_(std::move(other.name_)), file_(std::move(other.file_)) {
    }
    /// Returns true if the lock was taken.
    explicit operator bool() const { return folder_ != nullptr; }
    ~Lock() {
      if (folder_ != nullptr)
        folder_->remove(name_); // Processes that wait for the lock have the file open.
    }

  private:
    const Folder *folder_ = nullptr;
    std::string name_;
    Descriptor file_;
  };

  /// Takes the lock of a file, which one process or thread has at a time. Waits at most `patience`. Returns a lock that
  /// is false if it could not be taken.
  Lock lock(const std::string &name, std::chrono::milliseconds patience) const;

  std::vector<FolderFile> files() const;
  /// Removes files that a writer or a lock left an hour ago.
  void removeLeftovers() const;

private:
  Folder(Descriptor descriptor, Access access) : descriptor_(std::move(descriptor)), access_(access) {}

  std::optional<std::vector<FolderFile>> list(bool leftovers) const;

  Descriptor descriptor_;
  Access access_;
};

} // namespace tegula
