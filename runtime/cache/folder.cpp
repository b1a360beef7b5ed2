// SPDX-License-Identifier: MIT
#include "tegula/internal/folder.h"

#include "tegula/internal/write_all.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tegula {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::system_clock;

constexpr auto kLeftoverAge = 1h;
/// A file that was used more recently than this is not marked again, so that readers need not write.
constexpr auto kUseResolution = 1min;
constexpr int64_t kLongestFile = int64_t{1} << 30;
/// First character of names that are not entries.
constexpr char kHidden = '.';

bool isTrusted(const struct stat &file, Folder::Access access) {
  const bool ours = file.st_uid == geteuid() || (access == Folder::Access::read_only && file.st_uid == 0);
  return ours && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Clock::time_point usedAt(const struct stat &file) {
  return Clock::time_point(std::chrono::seconds(file.st_mtim.tv_sec) +
                           std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(file.st_mtim.tv_nsec)));
}

bool readAll(int descriptor, std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count == 0 || (count < 0 && errno != EINTR))
      return false;
    done += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

/// Locks an open file for this process alone. Waits until `end`.
bool lockFile(int file, std::chrono::steady_clock::time_point end) {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

/// Returns true if `name` in a directory is the open file.
bool isFileOf(int directory, const std::string &name, int file) {
  struct stat named, opened;
  return fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/// Returns a name that no other writer has, in this process or another.
std::string temporaryName() {
  static std::atomic<uint64_t> serial{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return kHidden + std::to_string(getpid()) + "." + std::to_string(now) + "." + std::to_string(++serial);
}

/// Makes `path` and the directories that it lies in, for this user alone.
bool makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    mkdir(path.substr(0, end).c_str(), S_IRWXU);
  return mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

} // namespace

std::optional<Folder> Folder::open(const std::string &path, Access access, ReadError &fault) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  fault = descriptor.isOpen() || errno == ENOENT ? ReadError::absent : ReadError::failed;
  if (!descriptor.isOpen())
    return {};
  struct stat file;
  if (fstat(descriptor.number(), &file) != 0 || !isTrusted(file, access)) {
    fault = ReadError::failed;
    return {};
  }
  fault = ReadError::none;
  return Folder(std::move(descriptor), access);
}

std::optional<Folder> Folder::make(const std::string &path) {
  ReadError fault;
  return makeFolders(path) ? open(path, Access::own, fault) : std::nullopt;
}

std::optional<std::string> Folder::read(const std::string &name, ReadError &fault) const {
  // O_NONBLOCK: a name that is not a regular file, such as a pipe, must not make this process wait.
  const Descriptor file(
      openat(descriptor_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  fault = !file.isOpen() && errno == ENOENT ? ReadError::absent : ReadError::failed;
  struct stat status;
  if (!file.isOpen() || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || !isTrusted(status, access_) ||
      status.st_size > kLongestFile)
    return {};
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  if (!readAll(file.number(), bytes))
    return {};
  fault = ReadError::none;
  return bytes;
}

void Folder::markUsed(const std::string &name) const {
  struct stat file;
  if (fstatat(descriptor_.number(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0 &&
      Clock::now() - usedAt(file) > kUseResolution)
    utimensat(descriptor_.number(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

bool Folder::write(const std::string &name, std::string_view bytes) const {
  const int folder = descriptor_.number();
  const std::string temporary = temporaryName();
  const Descriptor file(
      openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.isOpen())
    return false;
  const bool written = writeAll(file.number(), bytes) == 0 && fsync(file.number()) == 0 &&
                       renameat(folder, temporary.c_str(), folder, name.c_str()) == 0;
  if (!written)
    unlinkat(folder, temporary.c_str(), 0);
  return written && fsync(folder) == 0;
}

bool Folder::remove(const std::string &name) const { return unlinkat(descriptor_.number(), name.c_str(), 0) == 0; }

Folder::Lock Folder::lock(const std::string &name, std::chrono::milliseconds patience) const {
  const std::string hidden = kHidden + name;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    Descriptor file(
        openat(descriptor_.number(), hidden.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.isOpen() || !lockFile(file.number(), end))
      return {};
    // The process that held the lock has removed its file, and another one may hold the lock of a new file.
    if (isFileOf(descriptor_.number(), hidden, file.number()))
      return {*this, hidden, std::move(file)};
    if (std::chrono::steady_clock::now() > end)
      return {};
  }
}

std::optional<std::vector<FolderFile>> Folder::list(bool leftovers) const {
  struct Close {
    void operator()(DIR *folder) const { closedir(folder); }
  };
  Descriptor copy(openat(descriptor_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, Close> folder(copy.isOpen() ? fdopendir(copy.number()) : nullptr);
  if (!folder)
    return {};
  copy.release();
  std::vector<FolderFile> files;
  while (const dirent *entry = readdir(folder.get())) {
    struct stat file;
    if ((entry->d_name[0] == kHidden) == leftovers &&
        fstatat(descriptor_.number(), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode))
      files.push_back({entry->d_name, file.st_size, usedAt(file)});
  }
  return files;
}

std::vector<FolderFile> Folder::files() const {
  std::vector<FolderFile> files = list(false).value_or(std::vector<FolderFile>());
  std::sort(files.begin(), files.end(), [](const FolderFile &a, const FolderFile &b) { return a.used > b.used; });
  return files;
}

void Folder::removeLeftovers() const {
  const std::optional<std::vector<FolderFile>> leftovers = list(true);
  for (const FolderFile &file : leftovers.value_or(std::vector<FolderFile>()))
    if (Clock::now() - file.used > kLeftoverAge)
      remove(file.name);
}

} // namespace tegula
