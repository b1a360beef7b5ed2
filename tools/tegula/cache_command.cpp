// SPDX-License-Identifier: MIT
#include "cache_command.h"
#include "files.h"
#include "tegula/artifact_cache.h"
#include "tegula/cache_directory.h"

#include <chrono>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

Expected<std::string> directoryOf(const CacheOptions &options) {
  if (!options.directory.empty())
    return options.directory;
  const std::string user = userCacheDirectory();
  if (user.empty())
    return Status(ErrorCode::invalid_argument,
                  "neither $HOME nor $XDG_CACHE_HOME says where the cache is; name it with --directory");
  return user + "/kernels";
}

/// Returns the entries of a directory. A directory that was never made is empty.
Expected<std::vector<CacheEntry>> readEntries(const std::string &directory) {
  return std::filesystem::exists(directory) ? listCache(directory) : std::vector<CacheEntry>();
}

std::string ageOf(const CacheEntry &entry) {
  using namespace std::chrono;
  const auto age = duration_cast<minutes>(system_clock::now() - entry.used).count();
  if (age < 120)
    return fmt::format("{} min", age);
  return age < 48 * 60 ? fmt::format("{} h", age / 60) : fmt::format("{} days", age / 60 / 24);
}

/// Returns line `number` of a request without its first word. A request begins with `target ...` and `schedule ...`.
std::string lineOf(const CacheEntry &entry, int number) {
  size_t begin = 0;
  for (; number > 0; --number)
    begin = entry.request.find('\n', begin) + 1;
  const std::string line = entry.request.substr(begin, entry.request.find('\n', begin) - begin);
  return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

std::string rowOf(const CacheEntry &entry) {
  if (!entry.status.ok())
    return fmt::format("{:<14}  damaged: {}\n", entry.key.substr(0, 12), entry.status.message());
  return fmt::format("{:<14}{:>9.1f} KiB {:>9}  {:<28} {:<14} {}\n", entry.key.substr(0, 12),
                     double(entry.bytes) / 1024, ageOf(entry), entry.artifact.kernel, lineOf(entry, 0),
                     lineOf(entry, 1));
}

Status list(const std::string &directory) {
  const Expected<std::vector<CacheEntry>> entries = readEntries(directory);
  if (!entries)
    return entries.status();
  std::string text =
      fmt::format("{:<14}{:>13} {:>9}  {:<28} {:<14} {}\n", "key", "size", "used", "kernel", "target", "schedule");
  int64_t bytes = 0;
  for (const CacheEntry &entry : *entries) {
    text += rowOf(entry);
    bytes += entry.bytes;
  }
  return print(text +
               fmt::format("\n{} kernels, {:.1f} MiB in {}\n", entries->size(), double(bytes) / (1 << 20), directory));
}

std::string describe(const CacheEntry &entry) {
  const Artifact &artifact = entry.artifact;
  return fmt::format(
      "key          {}\nkernel       {}\ntarget       {}\nschedule     {}\nmade by      {}\nsize         {} bytes, "
      "{} of them machine code\nused         {} ago\nassembler    {}\nregisters    {}\nspilled      {} bytes\n\n{}",
      entry.key, artifact.kernel, lineOf(entry, 0), lineOf(entry, 1), entry.environment, entry.bytes,
      artifact.binary.size(), ageOf(entry), artifact.report.assembler, artifact.report.registers,
      artifact.report.spill_bytes, entry.request.substr(entry.request.find('\n', entry.request.find('\n') + 1) + 1));
}

Status show(const std::string &directory, const std::string &key) {
  const Expected<std::vector<CacheEntry>> entries = readEntries(directory);
  if (!entries)
    return entries.status();
  const CacheEntry *found = nullptr;
  for (const CacheEntry &entry : *entries)
    if (entry.key.starts_with(key)) {
      if (found != nullptr)
        return {ErrorCode::invalid_argument, fmt::format("KEY: several keys begin with '{}'", key)};
      found = &entry;
    }
  if (found == nullptr)
    return {ErrorCode::invalid_argument, fmt::format("KEY: no key in '{}' begins with '{}'", directory, key)};
  TEGULA_RETURN_IF_ERROR(found->status);
  return print(describe(*found));
}

Status reportRemoval(const Expected<CacheRemoval> &removal, const char *what) {
  if (!removal)
    return removal.status();
  return print(
      fmt::format("removed {} {}files, {:.1f} MiB\n", removal->files, what, double(removal->bytes) / (1 << 20)));
}

} // namespace

Status cacheCommand(const CacheOptions &options) {
  const Expected<std::string> directory = directoryOf(options);
  if (!directory)
    return directory.status();
  if (options.action == "list")
    return list(*directory);
  if (options.action == "show")
    return show(*directory, options.key);
  if (!std::filesystem::exists(*directory))
    return reportRemoval(CacheRemoval{}, "");
  if (options.action == "verify")
    return reportRemoval(removeDamaged(*directory), "damaged ");
  return reportRemoval(pruneCache(*directory, options.action == "clear" ? 0 : options.limit_mib << 20), "");
}

} // namespace tegula::tools
