// SPDX-License-Identifier: MIT
// From program texts to loaded kernels, compiling each only once.
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
  std::shared_ptr<ArtifactCache> artifacts = {}; ///< Where compiled kernels come from and go to; none by default.
  CompilePolicy policy = CompilePolicy::compile;
};

/// The kernels of one device, in memory. Thread-safe; the kernels stay loaded until the cache is destroyed and the
/// host has let go of them.
class KernelCache {
public:
  /// `compiler` must outlive the cache.
  KernelCache(Compiler &compiler, std::shared_ptr<Device> device, const KernelCacheOptions &options = {});
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// The kernel of (program, schedule, target of the device), compared in full, source locations included. Compiles at
  /// most once for each: calls that arrive meanwhile wait for that result. A refusal by the compiler is kept and given
  /// again; after any other failure (a crash, a timeout, lack of memory) the next call tries anew.
  /// Errors: those of Compiler::compile and Device::load. Returns needs_compile, with the key, if the policy does not
  /// let it go on. They end with lines that name the kernel, its target and its schedule. forked_child in a fork of the
  /// process that made the cache.
  Expected<std::shared_ptr<Kernel>> get(std::string_view program, const Schedule &schedule = {}) noexcept;
  /// The same under another policy than the cache's.
  Expected<std::shared_ptr<Kernel>> get(std::string_view program, const Schedule &schedule,
                                        CompilePolicy policy) noexcept;

  /// For the calls that follow: a host that has warmed up may set load_only or loaded_only.
  void setPolicy(CompilePolicy policy) noexcept;
  CompilePolicy policy() const noexcept;

  /// What the kernels are compiled for.
  const Target &target() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tegula
