// SPDX-License-Identifier: MIT
#include "tegula/artifact_cache.h"

#include "cache/entry.h"
#include "cache/key.h"
#include "cache/tiers.h"
#include "tegula/cache_directory.h"
#include "tegula/guard.h"

#include <atomic>
#include <deque>

namespace tegula {
namespace {

/// The longest wait for another process that compiles the same kernel. A process that dies frees its lock at once.
constexpr std::chrono::seconds kLockPatience{30};

std::string directoryOf(const ArtifactCacheOptions &options) {
  if (options.directory)
    return *options.directory;
  const std::string user = userCacheDirectory();
  return user.empty() ? "" : user + "/kernels";
}

} // namespace

struct ArtifactCache::State {
  std::optional<UserTier> user;
  std::deque<ReadOnlyTier> readOnly;
  std::shared_ptr<ArtifactStore> store;
  std::atomic<int64_t> hits{0}, readOnlyHits{0}, storeHits{0}, misses{0}, compilations{0}, saved{0}, evicted{0},
      faults{0};

  explicit State(const ArtifactCacheOptions &options) : store(options.store) {
    if (const std::string directory = directoryOf(options); !directory.empty())
      user.emplace(directory, options.limit_bytes);
    for (const std::string &path : options.read_only)
      readOnly.emplace_back(path);
  }

  std::optional<Artifact> take(Lookup lookup, std::atomic<int64_t> &counter) {
    faults += lookup.fault;
    counter += lookup.artifact.has_value();
    return std::move(lookup.artifact);
  }

  Lookup findInStore(const ArtifactKey &key) const {
    const std::optional<std::string> bytes = store->load(key.digest);
    if (!bytes)
      return {};
    Expected<Artifact> artifact = decodeEntryFor(key, *bytes);
    return artifact ? Lookup{.artifact = std::move(*artifact)} : Lookup{.fault = true};
  }

  std::optional<Artifact> find(const ArtifactKey &key) {
    if (store)
      if (std::optional<Artifact> artifact = take(findInStore(key), storeHits))
        return artifact;
    if (user)
      if (std::optional<Artifact> artifact = take(user->find(key), hits))
        return artifact;
    for (ReadOnlyTier &tier : readOnly)
      if (std::optional<Artifact> artifact = take(tier.find(key), readOnlyHits))
        return artifact;
    return {};
  }

  void save(const ArtifactKey &key, const Artifact &artifact) noexcept {
    try {
      trySave(key, artifact);
    } catch (...) {
      ++faults;
    }
  }

  void trySave(const ArtifactKey &key, const Artifact &artifact) {
    if (store)
      store->save(key.digest, encodeEntry(key, artifact));
    if (!user)
      return;
    const UserTier::Saved result = user->save(key, artifact);
    saved += result.ok;
    faults += !result.ok;
    evicted += result.evicted;
  }

  Expected<Artifact> compile(Compiler &compiler, const CompileRequest &request) {
    ++misses;
    ++compilations;
    return compileKernel(compiler, request);
  }

  /// Compiles and saves under the lock of the key, so that no other process compiles the same artifact. Stops waiting
  /// for the lock after kLockPatience.
  Expected<Artifact> compileAndSave(Compiler &compiler, const CompileRequest &request, const ArtifactKey &key) {
    const Folder::Lock lock = user ? user->lock(key, kLockPatience) : Folder::Lock();
    if (user)
      if (std::optional<Artifact> artifact = take(user->find(key), hits))
        return std::move(*artifact);
    Expected<Artifact> artifact = compile(compiler, request);
    if (artifact)
      save(key, *artifact);
    return artifact;
  }
};

ArtifactCache::ArtifactCache(const ArtifactCacheOptions &options) : state_(std::make_unique<State>(options)) {}

ArtifactCache::~ArtifactCache() = default;

std::optional<Artifact> ArtifactCache::find(const ArtifactKey &key) noexcept {
  try {
    std::optional<Artifact> artifact = state_->find(key);
    state_->misses += !artifact;
    return artifact;
  } catch (...) {
    return {};
  }
}

void ArtifactCache::save(const ArtifactKey &key, const Artifact &artifact) noexcept { state_->save(key, artifact); }

Expected<Artifact> ArtifactCache::get(Compiler &compiler, const CompileRequest &request, std::string_view driver,
                                      CompilePolicy policy) noexcept {
  return guarded([&]() -> Expected<Artifact> {
    if (request.debug != DebugOptions()) // Its records name lines, which keys leave out.
      return policy == CompilePolicy::compile ? compileKernel(compiler, request)
                                              : needsCompile(request, artifactKey(request));
    const std::string identity = compiler.identity(request.target);
    // The artifacts of an unknown compiler cannot be told from those of another one.
    const bool known = !identity.empty() && request.emit.empty();
    const ArtifactKey key = artifactKey(request, known ? identity + ", driver " + std::string(driver) : "");
    if (std::optional<Artifact> artifact = state_->find(key))
      return std::move(*artifact);
    if (policy != CompilePolicy::compile) {
      ++state_->misses;
      return needsCompile(request, key);
    }
    if (known)
      return state_->compileAndSave(compiler, request, key);
    return state_->compile(compiler, request);
  });
}

CacheCounters ArtifactCache::counters() const noexcept {
  return {.hits = state_->hits,
          .read_only_hits = state_->readOnlyHits,
          .store_hits = state_->storeHits,
          .misses = state_->misses,
          .compilations = state_->compilations,
          .saved = state_->saved,
          .evicted = state_->evicted,
          .faults = state_->faults};
}

} // namespace tegula
