// SPDX-License-Identifier: MIT
#include "tegula/kernel_cache.h"

#include "fork.h"
#include "tegula/guard.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace tegula {
namespace {

using Result = Expected<std::shared_ptr<Kernel>>;

/// Filled by the thread that put it into the map; the others wait for `ready`.
struct Entry {
  std::atomic<bool> ready{false};
  std::optional<Result> result; ///< Constant once `ready`.
};

/// Everything that an artifact depends on, as one text.
std::string keyOf(const CompileRequest &request) {
  const Target &target = request.target;
  return target.name + '\n' + target.arch + '\n' + target.features + '\n' + toString(request.schedule) + '\n' +
         request.program;
}

/// Whether the same request, compiled again, must be refused again.
bool isLasting(ErrorCode code) {
  return code == ErrorCode::InvalidArgument || code == ErrorCode::InvalidProgram || code == ErrorCode::Unsupported ||
         code == ErrorCode::CompileFailed;
}

} // namespace

struct KernelCache::State {
  Compiler &compiler;
  std::shared_ptr<Device> device;
  ForkGuard fork;
  std::mutex mutex; ///< Guards `entries`, never held while compiling.
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;

  State(Compiler &compiler, std::shared_ptr<Device> device) : compiler(compiler), device(std::move(device)) {}

  Result get(const CompileRequest &request) {
    TEGULA_RETURN_IF_ERROR(fork.check());
    const std::string key = keyOf(request);
    const auto [entry, isNew] = findOrInsert(key);
    if (isNew)
      fill(*entry, key, request);
    else
      entry->ready.wait(false);
    return *entry->result;
  }

  std::pair<std::shared_ptr<Entry>, bool> findOrInsert(const std::string &key) {
    const std::lock_guard lock(mutex);
    std::shared_ptr<Entry> &entry = entries[key];
    const bool isNew = !entry;
    if (isNew)
      entry = std::make_shared<Entry>();
    return {entry, isNew};
  }

  void fill(Entry &entry, const std::string &key, const CompileRequest &request) noexcept {
    bool keep = false;
    entry.result.emplace(guarded([&] {
      Result result = compileAndLoad(request);
      keep = result.ok() || isLasting(result.status().code());
      return result;
    }));
    if (!keep) {
      const std::lock_guard lock(mutex);
      entries.erase(key);
    }
    entry.ready.store(true);
    entry.ready.notify_all();
  }

  Result compileAndLoad(const CompileRequest &request) {
    const Expected<Artifact> artifact = compiler.compile(request);
    if (!artifact)
      return artifact.status();
    return device->load(*artifact);
  }
};

KernelCache::KernelCache(Compiler &compiler, std::shared_ptr<Device> device)
    : state_(std::make_unique<State>(compiler, std::move(device))) {}

KernelCache::~KernelCache() = default;

Expected<std::shared_ptr<Kernel>> KernelCache::get(std::string_view program, const Schedule &schedule) noexcept {
  return guarded([&]() -> Result {
    return state_->get(
        {.program = std::string(program), .schedule = schedule, .target = state_->device->target(), .emit = ""});
  });
}

const Target &KernelCache::target() const noexcept { return state_->device->target(); }

} // namespace tegula
