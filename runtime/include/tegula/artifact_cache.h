// SPDX-License-Identifier: MIT
// A cache of compiled kernels that outlive the process.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// The most that a call may do to get a kernel.
enum class CompilePolicy {
  compile,     ///< Load the kernel, or compile it if it is not kept.
  load_only,   ///< Load a kernel that is kept; compile nothing.
  loaded_only, ///< Use a kernel that is loaded already; load nothing.
};

/// The inputs on which an artifact depends, and their digests.
struct ArtifactKey {
  std::string request;        ///< Target, schedule, and the program's text without source locations.
  std::string environment;    ///< Builds of the compiler, the assembler and the driver, on one line.
  std::string request_digest; ///< Digest of `request`: 32 hex digits.
  std::string digest;         ///< Digest of `request` and `environment`.
};

/// Returns the key of a request. `environment` is empty for bundles, whose kernels are found without a compiler.
ArtifactKey artifactKey(const CompileRequest &request, std::string environment = {});

/// A place in which a host keeps the bytes of artifacts. Methods may be called from any thread and must not throw.
class ArtifactStore {
public:
  virtual ~ArtifactStore() = default;
  /// Returns the bytes that were last saved under `key` (32 hex digits), whole or damaged; nullopt if there are none.
  virtual std::optional<std::string> load(const std::string &key) noexcept = 0;
  virtual void save(const std::string &key, std::string_view bytes) noexcept = 0;
};

struct ArtifactCacheOptions {
  /// Directory of this user, which is made when there is something to keep. If empty, there is none. The default is
  /// `kernels` in userCacheDirectory().
  std::optional<std::string> directory = {};
  int64_t limit_bytes = int64_t{1} << 30; ///< Limit of `directory`. The least recently used files go first.
  /// Directories that are only read: bundles, or directories that were once the `directory` of a cache.
  std::vector<std::string> read_only = {};
  std::shared_ptr<ArtifactStore> store = {};
};

/// Counts of what a cache has done so far.
struct CacheCounters {
  int64_t hits = 0;           ///< Artifacts that were found in `directory`.
  int64_t read_only_hits = 0; ///< Artifacts that were found in `read_only`.
  int64_t store_hits = 0;     ///< Artifacts that were found in `store`.
  int64_t misses = 0;
  int64_t compilations = 0;
  int64_t saved = 0;
  int64_t evicted = 0;
  int64_t faults = 0; ///< Damaged or foreign entries, and failures of files and directories. Each was a miss.
};

/// Artifacts in files, for all processes of a user. Thread-safe. A problem with a file is not an error: the file counts
/// as absent if it cannot be read, or if it is not exactly what was written for the same key. A file appears whole or
/// not at all. Directories and files must belong to this user (for `read_only`, or to root). Other users must not be
/// able to write to them.
class ArtifactCache {
public:
  explicit ArtifactCache(const ArtifactCacheOptions &options = {});
  ~ArtifactCache();
  ArtifactCache(const ArtifactCache &) = delete;
  ArtifactCache &operator=(const ArtifactCache &) = delete;

  std::optional<Artifact> find(const ArtifactKey &key) noexcept;
  void save(const ArtifactKey &key, const Artifact &artifact) noexcept;

  /// Finds the artifact, or compiles and saves it. If several processes want the same artifact at the same time, one of
  /// them compiles it. `driver` is the build of the driver that will load the artifact. Returns needs_compile, with the
  /// key, if nothing is found and `policy` is not compile. Otherwise returns the errors of Compiler::compile. All
  /// errors name the kernel, its target and its schedule.
  Expected<Artifact> get(Compiler &compiler, const CompileRequest &request, std::string_view driver = {},
                         CompilePolicy policy = CompilePolicy::compile) noexcept;

  CacheCounters counters() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns `status` with lines that name the kernel, its target and its schedule, as errors of ArtifactCache::get have
/// them.
Status ofKernel(const Status &status, std::string_view name, const Target &target, const Schedule &schedule);

//===-- Maintenance of a directory -----------------------------------------------------------------------------===//

/// A file in the directory of a cache.
struct CacheEntry {
  std::string key; ///< ArtifactKey::digest
  int64_t bytes = 0;
  std::chrono::system_clock::time_point used = {};
  Status status = {}; ///< Error of a damaged file. The fields below are then empty.
  Artifact artifact = {};
  std::string request, environment; ///< As in ArtifactKey.
};

/// Lists all files, the most recently used first. Returns invalid_argument if `directory` cannot be used.
Expected<std::vector<CacheEntry>> listCache(const std::string &directory) noexcept;

/// The number and size of removed files.
struct CacheRemoval {
  int64_t files = 0;
  int64_t bytes = 0;
};

/// Removes the least recently used files until at most `limit_bytes` are left, and files that writers left unfinished
/// an hour ago. A limit of 0 clears the directory. Returns invalid_argument if the directory cannot be used.
Expected<CacheRemoval> pruneCache(const std::string &directory, int64_t limit_bytes) noexcept;
/// Removes damaged files.
Expected<CacheRemoval> removeDamaged(const std::string &directory) noexcept;

} // namespace tegula
