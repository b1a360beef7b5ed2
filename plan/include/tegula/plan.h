// SPDX-License-Identifier: MIT
// Plans: kernels that run one after another, with common arguments and a common workspace.
//
//   PlanSpec spec("backward", {KernelSpec(...).grid(...), KernelSpec(...).grid(...)});
//   Expected<Plan> plan = Plan::make(spec, cache);
//   plan->launch({{"q", q}, {"k", k}, {"scale", 0.125f}}, {memory->data(), memory->bytes()});
//
// Everything here is thread-safe and returns a Status. The functions never throw, abort or print.
#pragma once

#include "tegula/kernel_cache.h"
#include "tegula/kernel_spec.h"
#include "tegula/tuned_configurations.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// Memory on the device that a launch may use and leaves undefined. It must be 64-byte aligned, and no other launch may
/// use it at the same time.
struct Workspace {
  void *data = nullptr;
  int64_t bytes = 0;
};

/// A size that a launch may give by name.
struct Choice {
  std::string name;
  Size otherwise;          ///< The value if the launch does not give one; made of sizes and of choices before it.
  std::string kernel = {}; ///< The kernel whose concurrency() `otherwise` takes; if empty, the first one.
};

/// Kernels in the order in which they run. Arguments of one name are one argument.
class PlanSpec {
public:
  /// A kernel alone is a plan, too.
  PlanSpec(KernelSpec kernel);
  PlanSpec(std::string name, std::vector<KernelSpec> kernels);

  /// Declares a size that a launch may choose, as the number of splits of a sequence. concurrency() in `otherwise` is
  /// that of `kernel`; if it is empty, of the first kernel.
  PlanSpec &&choice(std::string name, Size otherwise, std::string kernel = {}) &&;
  /// Makes launches where `fits` is 0 an error with the words `why`.
  PlanSpec &&require(Size fits, std::string why) &&;
  /// Makes the first `kernels` kernels the preparation, which one call of Plan::prepare runs for many launches. They
  /// write only the workspace, and no other kernel writes their tensors of it. Only their arguments give sizes to their
  /// grids, conditions and tensors, and to choices.
  PlanSpec &&preparation(size_t kernels) &&;

  const std::string &name() const { return name_; }
  const std::vector<KernelSpec> &kernels() const { return kernels_; }
  const std::vector<Choice> &choices() const { return choices_; }
  const std::vector<Requirement> &requirements() const { return requirements_; }
  size_t preparationKernels() const { return preparation_; }

  /// Returns the arguments of all kernels, each once, in the order in which they first appear.
  std::vector<ArgumentSpec> arguments() const;
  /// Returns the first error of the description, as `file:line: error: ...`: two arguments of one name that differ, a
  /// size that no tensor of the caller has, a tensor without a legal rank, a preparation that writes an output.
  Status check() const;

private:
  std::string name_;
  std::vector<KernelSpec> kernels_;
  std::vector<Choice> choices_;
  std::vector<Requirement> requirements_;
  size_t preparation_ = 0;
};

/// The configuration that the caller wants for a kernel of a plan.
struct GivenConfiguration {
  std::string kernel;
  Configuration configuration;
};

struct PlanOptions {
  /// The sizes for which tuned configurations are looked up. Launches of other sizes are as correct.
  Sizes expected = {};
  /// Kernels that are not named have a tuned configuration, or the one of their description.
  std::vector<GivenConfiguration> configurations = {};
  const TunedConfigurations *tuned = nullptr; ///< Only used while the plan is made.
};

/// An argument of a launch by its name: a tensor, a scalar, or a choice (int64_t).
struct NamedArgument {
  std::string_view name;
  Argument value;
};

struct PlanState;

/// The compiled kernels of one description. Immutable; copies share the kernels. A plan that make() has not made, or
/// that was moved from, may only be assigned to and destroyed.
class Plan {
public:
  /// Records and compiles the kernels, unless `cache` has them already. Returns the errors of PlanSpec::check,
  /// KernelSpec::resolved, KernelSpec::record and KernelCache::get. Returns invalid_program for a kernel that writes an
  /// input, does not write an output, only reads a workspace that no kernel before it writes, or writes what the
  /// preparation has written.
  static Expected<Plan> make(const PlanSpec &spec, KernelCache &cache, const PlanOptions &options = {}) noexcept;

  const std::string &name() const noexcept;
  /// Returns the caller's arguments in the order of positional launches. The tensors of the workspace are not among
  /// them.
  const std::vector<Parameter> &arguments() const noexcept;
  /// Returns the names of the sizes that shapes give, then those of the choices.
  const std::vector<std::string> &sizes() const noexcept;
  /// Returns the resolved configuration of a kernel; an empty one if the plan has no such kernel.
  Configuration configuration(std::string_view kernel) const noexcept;

  /// Returns the bytes of workspace that a launch of these sizes needs; often 0. Choices may be left out, and sizes
  /// that neither the workspace nor a choice uses. Returns invalid_argument for a size that is missing or a dimension
  /// below 0, and resource_exhausted if 62 bits cannot hold the number.
  Expected<int64_t> workspaceBytes(const Sizes &sizes) const noexcept;

  /// Gives sizes their values, checks everything, then launches the kernels. Neither compiles, nor allocates on the
  /// device, nor waits. If arguments are refused, nothing has run: invalid_argument names the argument, its value and
  /// what is legal. With `prepared`, which prepare() has written for the same sizes, the preparation does not run, and
  /// the workspace may have preparedBytes() less.
  Status launch(std::initializer_list<NamedArgument> arguments, const Workspace &workspace = {}, Stream stream = {},
                const Workspace &prepared = {}) const noexcept;
  /// Launches with arguments in the order of arguments(). Values of choices follow; those at the end may be left out.
  Status launch(std::span<const Argument> arguments, const Workspace &workspace = {}, Stream stream = {},
                const Workspace &prepared = {}) const noexcept;

  /// Returns the bytes of memory that prepare() writes for launches of these sizes; 0 if the plan has no preparation.
  /// Returns the errors of workspaceBytes().
  Expected<int64_t> preparedBytes(const Sizes &sizes) const noexcept;
  /// Returns how many of arguments() prepare() takes: the first ones.
  size_t preparedArguments() const noexcept;
  /// Launches the preparation, which writes `prepared`. Launches only read it, so that any number of them may share it,
  /// on several streams too, if all arguments that prepare() takes have the same shapes, and hold the same values
  /// wherever the preparation reads them. Choices must be the same. `prepared` has preparedBytes(), and a launch of
  /// sizes that need another number of bytes is an error. Launches of other sizes or values have undefined results.
  Status prepare(std::initializer_list<NamedArgument> arguments, const Workspace &prepared,
                 Stream stream = {}) const noexcept;
  /// Prepares with the first preparedArguments() of arguments(), and then choices, as launch() takes them.
  Status prepare(std::span<const Argument> arguments, const Workspace &prepared, Stream stream = {}) const noexcept;

private:
  std::shared_ptr<const PlanState> state_;
};

/// Returns the part of a kernel's description that decides which configurations are fast, as one line. Kernels of the
/// same line may share a tuned configuration. Returns the errors of recording the configuration without tuning.
Expected<std::string> tuningClass(const KernelSpec &kernel);

} // namespace tegula
