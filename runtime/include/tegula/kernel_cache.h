// SPDX-License-Identifier: MIT
// A cache of the loaded kernels of a device, which compiles each program only once.
#pragma once

#include "tegula/artifact.h"
#include "tegula/artifact_cache.h"
#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/schedule.h"
#include "tegula/status.h"

#include <memory>
#include <string_view>

namespace tegula {

struct KernelCacheOptions {
  std::shared_ptr<ArtifactCache> artifacts = {}; ///< Where compiled kernels are loaded from and saved; none by default.
  CompilePolicy policy = CompilePolicy::compile;
};

/// The kernels of one device, in memory. Thread-safe. Kernels stay loaded until the cache is destroyed and the host has
/// let go of them.
class KernelCache {
public:
  /// Makes an empty cache. `compiler` must outlive it.
  KernelCache(Compiler &compiler, std::shared_ptr<Device> device, const KernelCacheOptions &options = {});
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// Returns the kernel of (program, schedule, target of the device). All three are compared in full, source locations
  /// included. Compiles at most once for each: calls that arrive meanwhile wait for that result. A refusal by the
  /// compiler is kept and returned again. After any other failure (a crash, a timeout, lack of memory), the next call
  /// tries again.
  /// The errors are those of Compiler::compile and Device::load, and needs_compile, with the key, if the policy does
  /// not allow the next step. They end with lines that name the kernel, its target and its schedule. Returns
  /// forked_child in a fork of the process that made the cache.
  Expected<std::shared_ptr<Kernel>> get(std::string_view program, const Schedule &schedule = {}) noexcept;
  /// Returns the kernel under another policy than the cache's.
  Expected<std::shared_ptr<Kernel>> get(std::string_view program, const Schedule &schedule,
                                        CompilePolicy policy) noexcept;

  /// Sets the policy of later calls. A host that has warmed up may set load_only or loaded_only.
  void setPolicy(CompilePolicy policy) noexcept;
  CompilePolicy policy() const noexcept;

  /// Returns the target that the kernels are compiled for.
  const Target &target() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tegula
