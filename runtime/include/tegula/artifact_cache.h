// SPDX-License-Identifier: MIT
// Compiled kernels that outlive the process.
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

/// How far a call may go to get a kernel.
enum class CompilePolicy {
  compile,     ///< Compile what is not at hand.
  load_only,   ///< Load what is kept, compile nothing.
  loaded_only, ///< Use what is loaded already, nothing else.
};

/// What an artifact depends on.
struct ArtifactKey {
  std::string request;        ///< Target, schedule, and the program's text without source locations.
  std::string environment;    ///< Builds of the compiler, the assembler and the driver, on one line.
  std::string request_digest; ///< Of `request`: 32 hex digits.
  std::string digest;         ///< Of both.
};

/// An empty `environment` is for bundles, which no compiler stands behind.
ArtifactKey artifactKey(const CompileRequest &request, std::string environment = {});

/// Where a host keeps the bytes of artifacts itself. May be called from any thread; must not throw.
class ArtifactStore {
public:
  virtual ~ArtifactStore() = default;
  /// What was last saved under `key` (32 hex digits), whole or damaged; nullopt if there is nothing.
  virtual std::optional<std::string> load(const std::string &key) noexcept = 0;
  virtual void save(const std::string &key, std::string_view bytes) noexcept = 0;
};

struct ArtifactCacheOptions {
  /// A folder of this user; made when there is something to keep. Empty: none. By default `kernels` in
  /// userCacheDirectory().
  std::optional<std::string> directory = {};
  int64_t limit_bytes = int64_t{1} << 30; ///< Of `directory`: what was used last longest ago goes first.
  /// Folders that are only read: bundles, or folders that were once the `directory` of a cache.
  std::vector<std::string> read_only = {};
  std::shared_ptr<ArtifactStore> store = {};
};

/// What a cache has done so far.
struct CacheCounters {
  int64_t hits = 0;           ///< In `directory`.
  int64_t read_only_hits = 0; ///< In `read_only`.
  int64_t store_hits = 0;     ///< In `store`.
  int64_t misses = 0;
  int64_t compilations = 0;
  int64_t saved = 0;
  int64_t evicted = 0;
  int64_t faults = 0; ///< Entries that were damaged or foreign, files and folders that failed. Each was a miss.
};

/// Artifacts in files, for all processes of a user. Thread-safe. Nothing that happens to its files is an error: what
/// cannot be read, or is not exactly what was written for the same key, is not there. A file appears whole or not at
/// all. Folders and files must belong to this user (for `read_only`, or to root) and be writable by nobody else.
class ArtifactCache {
public:
  explicit ArtifactCache(const ArtifactCacheOptions &options = {});
  ~ArtifactCache();
  ArtifactCache(const ArtifactCache &) = delete;
  ArtifactCache &operator=(const ArtifactCache &) = delete;

  std::optional<Artifact> find(const ArtifactKey &key) noexcept;
  void save(const ArtifactKey &key, const Artifact &artifact) noexcept;

  /// Finds, or compiles and saves. Of the processes that want the same artifact at the same time, one compiles it.
  /// `driver`: the build of what will load the artifact. Returns needs_compile, with the key, if `policy` is not
  /// compile and nothing is found; otherwise the errors of Compiler::compile. All name the kernel, its target and its
  /// schedule.
  Expected<Artifact> get(Compiler &compiler, const CompileRequest &request, std::string_view driver = {},
                         CompilePolicy policy = CompilePolicy::compile) noexcept;

  CacheCounters counters() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns `status` with lines that name the kernel that it is about, as errors of ArtifactCache::get have them.
Status ofKernel(const Status &status, std::string_view name, const Target &target, const Schedule &schedule);

//===-- Looking after a folder ---------------------------------------------------------------------------------===//

/// A file of a cache's folder.
struct CacheEntry {
  std::string key; ///< ArtifactKey::digest
  int64_t bytes = 0;
  std::chrono::system_clock::time_point used = {};
  Status status = {}; ///< What is wrong with it; what follows is then empty.
  Artifact artifact = {};
  std::string request, environment; ///< As in the key.
};

/// All files, those used last first. Returns invalid_argument if `directory` cannot be used.
Expected<std::vector<CacheEntry>> listCache(const std::string &directory) noexcept;

/// What removing files has freed.
struct CacheRemoval {
  int64_t files = 0;
  int64_t bytes = 0;
};

/// Removes what was used last longest ago until at most `limit_bytes` are left, and what writers left unfinished an
/// hour ago; 0 clears the folder. Returns invalid_argument if it cannot be used.
Expected<CacheRemoval> pruneCache(const std::string &directory, int64_t limit_bytes) noexcept;
/// Removes the files that are damaged.
Expected<CacheRemoval> removeDamaged(const std::string &directory) noexcept;

} // namespace tegula
