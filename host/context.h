// SPDX-License-Identifier: MIT
#pragma once

#include "api.h"
#include "tegula/artifact_cache.h"
#include "tegula/internal/fork.h"
#include "tegula/kernel_cache.h"

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace tegula {

/// The key of a problem: its fields, each always in the same bytes, then its text.
using ProblemKey = std::string;

/// The implementation of a tegula_context. Plans keep it alive.
class HostContext {
public:
  static Expected<std::shared_ptr<HostContext>> make(const tegula_context_options &options);

  /// Finds or makes the plan of a problem.
  Expected<AttentionPlan> plan(const tegula_attention_problem *problem);
  Status supports(const tegula_attention_problem *problem) const;
  void setPolicy(CompilePolicy policy) noexcept { kernels_.setPolicy(policy); }
  tegula_counters counters() const noexcept;

  KernelCache &kernels() noexcept { return kernels_; }
  const tegula_hooks &hooks() const noexcept { return hooks_; }
  Device &device() const noexcept { return *device_; }

private:
  HostContext(const tegula_context_options &options, const tegula_hooks &hooks, std::shared_ptr<Device> device);

  /// Reads what `tegula tune` has found for the device.
  void readTuned(const tegula_context_options &options);
  /// Compiles the kernels of a plan side by side, if the host has an executor; failures show when the plan is made.
  void compileAhead(const AttentionProblem &problem, const Schedule &schedule);

  const ForkGuard fork_;
  const tegula_hooks hooks_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<ArtifactCache> artifacts_;
  std::unique_ptr<Compiler> worker_, compiler_;
  KernelCache kernels_;
  TunedConfigurations tuned_; ///< Constant once the context is made.

  mutable std::shared_mutex mutex_; ///< Guards `plans_`.
  std::unordered_map<ProblemKey, AttentionPlan> plans_;
  std::atomic<int64_t> made_{0};
};

} // namespace tegula

struct tegula_context {
  std::shared_ptr<tegula::HostContext> host;
};
