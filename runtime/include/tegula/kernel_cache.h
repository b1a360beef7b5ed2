// SPDX-License-Identifier: MIT
// A cache of the loaded kernels of a device, which compiles each program only once.
#pragma once

#include "tegula/artifact.h"
#include "tegula/artifact_cache.h"
#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/schedule.h"
#include "tegula/status.h"

#include <functional>
#include <memory>
#include <string_view>

namespace tegula {

/// Receives what a kernel prints: whole lines, each with its end. Called in the thread that launches the kernel.
using PrintHandler = std::function<void(std::string_view text)>;

struct KernelCacheOptions {
  std::shared_ptr<ArtifactCache> artifacts = {}; ///< Where compiled kernels are loaded from and saved; none by default.
  CompilePolicy policy = CompilePolicy::compile;
  /// With another value than none, a launch returns launch_failed for the first element that is not finite. The message
  /// has the line of the program, the operation, the element and the program instance. Tensors then hold what the
  /// kernel wrote.
  FiniteCheck check_finite = FiniteCheck::none;
  /// A launch returns launch_failed for the first deviceAssert() of the language whose condition is false. Without it
  /// they have no effect.
  bool device_asserts = false;
  /// Receives what print() of the language gives. Without it, print() has no effect.
  PrintHandler print = {};
};

/// The kernels of one device, in memory. Thread-safe. Kernels stay loaded until the cache is destroyed and the host has
/// let go of them. A kernel that reports (check_finite, device_asserts, print) is slow, keeps its device alive, and
/// each launch waits for it. It is compiled in each process, because its text names lines that the key of a saved
/// kernel leaves out.
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
