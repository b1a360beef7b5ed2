// SPDX-License-Identifier: MIT
#include "tegula/kernel_cache.h"

#include "cache/key.h"
#include "debug_kernel.h"
#include "tegula/guard.h"
#include "tegula/internal/fork.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace tegula {
namespace {

using Result = Expected<std::shared_ptr<Kernel>>;

/// The result of one compilation. The thread that put the entry into the map fills it; other threads wait for `ready`.
struct Entry {
  std::atomic<bool> ready{false};
  std::optional<Result> result; ///< Constant once `ready`.
};

/// Returns one text with everything that an artifact depends on.
std::string keyOf(const CompileRequest &request) {
  const Target &target = request.target;
  return target.name + '\n' + target.arch + '\n' + target.features + '\n' + toString(request.schedule) + '\n' +
         request.program;
}

/// Returns true if the same request, compiled again, must fail again.
bool isLasting(ErrorCode code) {
  return code == ErrorCode::invalid_argument || code == ErrorCode::invalid_program || code == ErrorCode::unsupported ||
         code == ErrorCode::compile_failed;
}

} // namespace

struct KernelCache::State {
  Compiler &compiler;
  std::shared_ptr<ArtifactCache> artifacts;
  std::atomic<CompilePolicy> policy;
  std::shared_ptr<Device> device;
  FiniteCheck checkFinite;
  bool deviceAsserts;
  PrintHandler print;
  ForkGuard fork;
  std::mutex mutex; ///< Guards `entries`, never held while compiling.
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;

  State(Compiler &compiler, std::shared_ptr<Device> device, const KernelCacheOptions &options)
      : compiler(compiler), artifacts(options.artifacts), policy(options.policy), device(std::move(device)),
        checkFinite(options.check_finite), deviceAsserts(options.device_asserts), print(options.print) {}

  /// Returns what a kernel of this program reports.
  DebugOptions debugOptions(std::string_view program) const {
    const auto has = [&](std::string_view op) { return program.find(op) != std::string_view::npos; };
    return {.print = print && has("tile.print "),
            .check_finite = checkFinite,
            .device_asserts = deviceAsserts && has("tile.assert ")};
  }

  Result get(const CompileRequest &request, CompilePolicy policy) {
    TEGULA_RETURN_IF_ERROR(fork.check());
    const std::string key = keyOf(request);
    if (policy == CompilePolicy::loaded_only)
      return find(key, request);
    while (true) {
      const auto [entry, isNew] = findOrInsert(key);
      if (isNew)
        fill(*entry, key, request, policy);
      else
        entry->ready.wait(false);
      // The first thread may have had a stricter policy.
      if (isNew || entry->result->status().code() != ErrorCode::needs_compile || policy != CompilePolicy::compile)
        return *entry->result;
    }
  }

  /// Returns a result that is ready. Does not wait for other threads.
  Result find(const std::string &key, const CompileRequest &request) {
    const std::lock_guard lock(mutex);
    const auto found = entries.find(key);
    if (found == entries.end() || !found->second->ready)
      return notLoaded(request, artifactKey(request));
    return *found->second->result;
  }

  std::pair<std::shared_ptr<Entry>, bool> findOrInsert(const std::string &key) {
    const std::lock_guard lock(mutex);
    if (const auto found = entries.find(key); found != entries.end())
      return {found->second, false};
    return {entries.emplace(key, std::make_shared<Entry>()).first->second, true};
  }

  void fill(Entry &entry, const std::string &key, const CompileRequest &request, CompilePolicy policy) noexcept {
    bool keep = false;
    entry.result.emplace(guarded([&]() -> Result {
      const Expected<Artifact> artifact = getArtifact(request, policy);
      keep = isLasting(artifact.status().code());
      if (!artifact)
        return artifact.status();
      const Result result = device->load(*artifact);
      keep |= result.ok();
      if (!result)
        return ofKernel(result.status(), request);
      return artifact->debug.sites.empty() ? result : makeDebugKernel(*artifact, *result, device, print);
    }));
    if (!keep) {
      const std::lock_guard lock(mutex);
      entries.erase(key);
    }
    entry.ready.store(true);
    entry.ready.notify_all();
  }

  Expected<Artifact> getArtifact(const CompileRequest &request, CompilePolicy policy) {
    if (artifacts)
      return artifacts->get(compiler, request, device->driver(), policy);
    if (policy != CompilePolicy::compile)
      return needsCompile(request, artifactKey(request));
    return compileKernel(compiler, request);
  }
};

KernelCache::KernelCache(Compiler &compiler, std::shared_ptr<Device> device, const KernelCacheOptions &options)
    : state_(std::make_unique<State>(compiler, std::move(device), options)) {}

KernelCache::~KernelCache() = default;

Expected<std::shared_ptr<Kernel>> KernelCache::get(std::string_view program, const Schedule &schedule) noexcept {
  return get(program, schedule, policy());
}

Expected<std::shared_ptr<Kernel>> KernelCache::get(std::string_view program, const Schedule &schedule,
                                                   CompilePolicy policy) noexcept {
  return guarded([&]() -> Result {
    return state_->get({.program = std::string(program),
                        .schedule = schedule,
                        .target = state_->device->target(),
                        .emit = "",
                        .debug = state_->debugOptions(program)},
                       policy);
  });
}

void KernelCache::setPolicy(CompilePolicy policy) noexcept { state_->policy = policy; }

CompilePolicy KernelCache::policy() const noexcept { return state_->policy; }

const Target &KernelCache::target() const noexcept { return state_->device->target(); }

} // namespace tegula
