// SPDX-License-Identifier: MIT
// A folder whose files appear whole or not at all. No call throws but for lack of memory, and none reports more than
// that it did not work.
#pragma once

#include "descriptor.h"

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

/// Why there are no bytes.
enum class ReadFault {
  none,
  absent, ///< There is no such file.
  failed, ///< It cannot be read, or must not be trusted.
};

class Folder {
public:
  enum class Access {
    own,       ///< Belongs to this user.
    read_only, ///< Belongs to this user or to root.
  };

  /// Opens `path`, which must be a folder of the right owner that nobody else may write to.
  static std::optional<Folder> open(const std::string &path, Access access, ReadFault &fault);
  /// The same after making it, and those that it lies in.
  static std::optional<Folder> make(const std::string &path);

  std::optional<std::string> read(const std::string &name, ReadFault &fault) const;
  /// Sets FolderFile::used.
  void markUsed(const std::string &name) const;
  /// Puts a file into the folder in place of an older one. False if that failed; the folder is then as it was.
  bool write(const std::string &name, std::string_view bytes) const;
  bool remove(const std::string &name) const;

  /// Held until it is destroyed, or this process ends.
  class Lock {
  public:
    Lock() = default;
    Lock(const Folder &folder, std::string name, Descriptor file)
        : folder_(&folder), name_(std::move(name)), file_(std::move(file)) {}
    Lock(Lock &&other) noexcept
        : folder_(std::exchange(other.folder_, nullptr)), name_(std::move(other.name_)), file_(std::move(other.file_)) {
    }
    ~Lock() {
      if (folder_ != nullptr)
        folder_->remove(name_); // Those who wait for it have it open.
    }

  private:
    const Folder *folder_ = nullptr;
    std::string name_;
    Descriptor file_;
  };

  /// Takes the lock of a file. Waits at most `patience`, and then goes on without: it only saves work.
  Lock lock(const std::string &name, std::chrono::milliseconds patience) const;

  std::vector<FolderFile> files() const;
  /// What a writer or a lock left behind an hour ago.
  void removeLeftovers() const;

private:
  Folder(Descriptor descriptor, Access access) : descriptor_(std::move(descriptor)), access_(access) {}

  std::optional<std::vector<FolderFile>> list(bool leftovers) const;

  Descriptor descriptor_;
  Access access_;
};

} // namespace tegula
