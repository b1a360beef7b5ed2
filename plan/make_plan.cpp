// SPDX-License-Identifier: MIT
// From a description to a plan: records, compiles, and resolves names.
#include "plan_state.h"
#include "tegula/guard.h"
#include "tegula/internal/argument_places.h"
#include "tegula/internal/digest.h"
#include "tegula/internal/program_text.h"
#include "tegula/internal/zero_program.h"
#include "tegula/ops.h"
#include "tegula/profile_range.h"
#include "where.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace tegula {
namespace {

void setToZero(View X) { X.store(programId(0) * kZeroRows, fill({kZeroRows, kZeroColumns}, constant(i32, 0))); }

class Maker {
public:
  Maker(const PlanSpec &spec, KernelCache &cache, const PlanOptions &options)
      : spec_(spec), cache_(cache), options_(options), state_(std::make_shared<PlanState>()) {}

  Expected<std::shared_ptr<const PlanState>> make() {
    TEGULA_RETURN_IF_ERROR(spec_.check());
    TEGULA_RETURN_IF_ERROR(checkOptions());
    state_->name = spec_.name();
    TEGULA_RETURN_IF_ERROR(addKernels());
    addArguments();
    TEGULA_RETURN_IF_ERROR(addSizes());
    TEGULA_RETURN_IF_ERROR(addWorkspace());
    for (Recorded &kernel : recorded_)
      TEGULA_RETURN_IF_ERROR(addStep(kernel));
    TEGULA_RETURN_IF_ERROR(addPreparation());
    return std::shared_ptr<const PlanState>(std::move(state_));
  }

private:
  struct Recorded {
    const KernelSpec *spec;
    Configuration configuration;
    std::shared_ptr<Kernel> kernel;
  };

  Status checkOptions() const {
    for (const GivenConfiguration &given : options_.configurations)
      if (std::ranges::find(spec_.kernels(), given.kernel, &KernelSpec::name) == spec_.kernels().end())
        return {ErrorCode::invalid_argument, "plan '" + spec_.name() + "' has no kernel '" + given.kernel + "'"};
    return {};
  }

  Expected<Configuration> configurationOf(const KernelSpec &kernel) const {
    const auto given = std::ranges::find(options_.configurations, kernel.name(), &GivenConfiguration::kernel);
    if (given != options_.configurations.end())
      return kernel.resolved(given->configuration);
    if (options_.tuned == nullptr || options_.tuned->empty() || options_.expected.empty())
      return kernel.resolved();
    Expected<std::string> wanted = tuningClass(kernel);
    if (!wanted)
      return wanted.status();
    const std::optional<std::string> found = options_.tuned->find(kernel.name(), *wanted, options_.expected);
    if (!found)
      return kernel.resolved();
    // A stored result may have become illegal.
    const Expected<Configuration> tuned = parseConfiguration(*found, kernel.tunables());
    Expected<Configuration> legal = tuned ? kernel.resolved(*tuned) : tuned.status();
    return legal ? legal : kernel.resolved();
  }

  Status addKernels() {
    for (const KernelSpec &spec : spec_.kernels()) {
      Expected<Configuration> configuration = configurationOf(spec);
      if (!configuration)
        return configuration.status();
      Expected<Program> program = spec.record(*configuration);
      if (!program)
        return program.status();
      Expected<std::shared_ptr<Kernel>> kernel = cache_.get(program->text, configuration->schedule);
      if (!kernel)
        return kernel.status();
      TEGULA_RETURN_IF_ERROR(checkParameters(spec, (*kernel)->parameters()));
      recorded_.push_back({&spec, std::move(*configuration), std::move(*kernel)});
    }
    return {};
  }

  /// Checks that the program does with its arguments what the description says.
  Status checkParameters(const KernelSpec &spec, const std::vector<Parameter> &parameters) {
    std::vector<std::string> names;
    for (const ArgumentSpec &argument : spec.arguments())
      names.push_back(nameOf(argument));
    TEGULA_RETURN_IF_ERROR(argumentPlaces(spec.name(), parameters, names).status());
    for (const ArgumentSpec &argument : spec.arguments()) {
      const auto found = std::ranges::find(parameters, nameOf(argument), &Parameter::name);
      const std::string name = "kernel '" + spec.name() + "': '" + nameOf(argument) + "' ";
      if (found == parameters.end())
        return errorAt(whereOf(argument), name + "is no parameter of the program");
      const auto *tensor = std::get_if<TensorSpec>(&argument);
      const int rank = tensor != nullptr ? int(tensor->shape.size()) : 0;
      const DType dtype = tensor != nullptr ? tensor->dtype : std::get<ScalarSpec>(argument).dtype;
      if (found->rank != rank || found->dtype != dtype)
        return errorAt(whereOf(argument), name + "is " + std::string(toString(found->dtype)) + " of rank " +
                                              std::to_string(found->rank) + " in the program");
      if (tensor != nullptr)
        TEGULA_RETURN_IF_ERROR(checkAccess(*tensor, *found, name));
    }
    return {};
  }

  Status checkAccess(const TensorSpec &tensor, const Parameter &parameter, const std::string &name) {
    const bool written = parameter.written || parameter.counter;
    if (tensor.access == Access::input && written)
      return errorAt(tensor.where, name + "is an input, but the kernel writes it; declare it output or inout");
    if (tensor.access == Access::output && !written)
      return errorAt(tensor.where, name + "is an output, but the kernel does not write it; declare it input");
    if (tensor.access != Access::workspace)
      return {};
    const bool isPreparation = recorded_.size() < spec_.preparationKernels();
    if (written && !isPreparation && isPrepared(tensor.name))
      return errorAt(tensor.where, name + "belongs to the preparation, but a later kernel writes it");
    const bool hasValue = tensor.zeroed || std::ranges::find(filled_, tensor.name) != filled_.end();
    if (!written && !hasValue)
      return errorAt(tensor.where, name + "is a workspace that no kernel has written before; it may be zeroed(...)");
    filled_.push_back(tensor.name);
    return {};
  }

  std::vector<ArgumentSpec> preparationArguments() const {
    const auto first = spec_.kernels().begin();
    return PlanSpec(spec_.name(), {first, first + std::ptrdiff_t(spec_.preparationKernels())}).arguments();
  }

  bool isPrepared(const std::string &tensor) const {
    const std::vector<ArgumentSpec> arguments = preparationArguments();
    return std::ranges::find(arguments, tensor, &nameOf) != arguments.end();
  }

  void addArguments() {
    for (const ArgumentSpec &argument : spec_.arguments()) {
      const auto *tensor = std::get_if<TensorSpec>(&argument);
      if (tensor != nullptr && tensor->access == Access::workspace)
        continue;
      Parameter parameter{.name = nameOf(argument)};
      if (tensor != nullptr) {
        parameter.dtype = tensor->dtype;
        parameter.rank = int(tensor->shape.size());
        parameter.written = isWritten(tensor->name);
      } else {
        parameter.kind = Parameter::Kind::scalar;
        parameter.dtype = std::get<ScalarSpec>(argument).dtype;
      }
      state_->arguments.push_back(std::move(parameter));
    }
  }

  bool isWritten(const std::string &name) const {
    return std::ranges::any_of(recorded_, [&](const Recorded &kernel) {
      const auto &parameters = kernel.kernel->parameters();
      const auto found = std::ranges::find(parameters, name, &Parameter::name);
      return found != parameters.end() && found->written;
    });
  }

  /// Calls visit(tensor, kernel) for each tensor, with the first kernel that has it.
  template <class Visit> Status forEachTensor(Visit visit) const {
    std::vector<std::string> seen;
    for (const Recorded &kernel : recorded_)
      for (const ArgumentSpec &argument : kernel.spec->arguments())
        if (const auto *tensor = std::get_if<TensorSpec>(&argument);
            tensor && std::ranges::find(seen, tensor->name) == seen.end()) {
          seen.push_back(tensor->name);
          TEGULA_RETURN_IF_ERROR(visit(*tensor, kernel));
        }
    return {};
  }

  /// Returns the expression with the numbers of the kernel's tunables.
  Expected<SizeProgram> compiled(const Size &size, const Sizes &tunables = {}) const {
    return SizeProgram::make(substituted(size, tunables), [&](std::string_view name) -> std::optional<size_t> {
      if (name == "concurrency")
        return state_->concurrencyPlace();
      const auto found = std::ranges::find(state_->sizes, name);
      return found == state_->sizes.end() ? std::nullopt : std::optional(size_t(found - state_->sizes.begin()));
    });
  }

  bool isChoice(const std::string &name) const {
    return std::ranges::find(spec_.choices(), name, &Choice::name) != spec_.choices().end();
  }

  void bind(const TensorSpec &tensor, const Sizes &tunables) {
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const Size size = substituted(tensor.shape[axis], tunables);
      if (!size.isName() || isChoice(size.terms().front().name))
        continue;
      const std::string &name = size.terms().front().name;
      if (std::ranges::find(state_->sizes, name) != state_->sizes.end())
        continue;
      state_->sizes.push_back(name);
      state_->bound.push_back({{argumentPlace(tensor.name), int(axis)}, name});
    }
  }

  size_t argumentPlace(const std::string &name) const {
    return size_t(std::ranges::find(state_->arguments, name, &Parameter::name) - state_->arguments.begin());
  }

  bool isBinding(const Dimension &dimension) const {
    return std::ranges::any_of(state_->bound, [&](const BoundSize &bound) {
      return bound.from.argument == dimension.argument && bound.from.axis == dimension.axis;
    });
  }

  Status addChecks(const TensorSpec &tensor, const Sizes &tunables) {
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      TEGULA_RETURN_IF_ERROR(checkSameSize(tensor, tensor.shape[axis], tunables));
      const Dimension dimension{argumentPlace(tensor.name), int(axis)};
      if (isBinding(dimension))
        continue;
      Expected<SizeProgram> value = compiled(tensor.shape[axis], tunables);
      if (!value)
        return value.status();
      state_->checked.push_back({dimension, std::move(*value), toString(substituted(tensor.shape[axis], tunables))});
    }
    return {};
  }

  Status addSizes() {
    const auto isCallers = [](const TensorSpec &tensor) { return tensor.access != Access::workspace; };
    TEGULA_RETURN_IF_ERROR(forEachTensor([&](const TensorSpec &tensor, const Recorded &kernel) {
      if (isCallers(tensor))
        bind(tensor, kernel.configuration.tunables);
      return Status();
    }));
    for (const Choice &choice : spec_.choices())
      state_->sizes.push_back(choice.name);
    for (const Choice &choice : spec_.choices()) {
      Expected<SizeProgram> value = compiled(choice.otherwise);
      if (!value)
        return value.status();
      const auto kernel = std::ranges::find(spec_.kernels(), choice.kernel, &KernelSpec::name);
      const size_t step = choice.kernel.empty() ? 0 : size_t(kernel - spec_.kernels().begin());
      state_->choices.push_back({std::move(*value), step});
    }
    for (const Requirement &requirement : spec_.requirements()) {
      Expected<SizeProgram> condition = compiled(requirement.condition);
      if (!condition)
        return condition.status();
      state_->requirements.emplace_back(std::move(*condition), requirement.why);
    }
    return forEachTensor([&](const TensorSpec &tensor, const Recorded &kernel) {
      return isCallers(tensor) ? addChecks(tensor, kernel.configuration.tunables) : Status();
    });
  }

  Status addWorkspace() {
    return forEachTensor([&](const TensorSpec &tensor, const Recorded &kernel) -> Status {
      if (tensor.access != Access::workspace)
        return {};
      WorkspaceTensor entry{.name = tensor.name, .dtype = tensor.dtype, .shape = {}, .zeroed = tensor.zeroed};
      for (const Size &size : tensor.shape) {
        TEGULA_RETURN_IF_ERROR(checkSameSize(tensor, size, kernel.configuration.tunables));
        Expected<SizeProgram> value = compiled(size, kernel.configuration.tunables);
        if (!value)
          return value.status();
        entry.shape.push_back(std::move(*value));
      }
      state_->workspace.push_back(std::move(entry));
      return tensor.zeroed ? addZero() : Status();
    });
  }

  /// Checks that all kernels with the tensor have the same tunables in its shape.
  Status checkSameSize(const TensorSpec &tensor, const Size &size, const Sizes &tunables) const {
    const std::string text = toString(substituted(size, tunables));
    for (const Recorded &other : recorded_) {
      const bool hasIt =
          std::ranges::find(other.spec->arguments(), tensor.name, &nameOf) != other.spec->arguments().end();
      const std::string there = toString(substituted(size, other.configuration.tunables));
      if (hasIt && text != there)
        return {ErrorCode::invalid_argument, "plan '" + spec_.name() + "': a size of '" + tensor.name + "' is " + text +
                                                 " for one kernel and " + there + " for '" + other.spec->name() +
                                                 "'; give both the same tunables"};
    }
    return {};
  }

  Status addZero() {
    if (state_->zero)
      return {};
    Expected<Program> program = recordZeroProgram();
    if (!program)
      return program.status();
    Expected<std::shared_ptr<Kernel>> kernel = cache_.get(program->text);
    if (!kernel)
      return kernel.status();
    state_->zero = std::move(*kernel);
    return {};
  }

  Status addStep(Recorded &kernel) {
    std::vector<std::string> names;
    for (const Parameter &argument : state_->arguments)
      names.push_back(argument.name);
    for (const WorkspaceTensor &tensor : state_->workspace)
      names.push_back(tensor.name);
    const KernelSpec &spec = *kernel.spec;
    Expected<std::vector<size_t>> places = argumentPlaces(spec.name(), kernel.kernel->parameters(), names);
    if (!places)
      return places.status();
    const Sizes &tunables = kernel.configuration.tunables;
    Expected<SizeProgram> condition = compiled(spec.condition(), tunables);
    if (!condition)
      return condition.status();
    std::vector<size_t> callersOrder(places->size());
    std::iota(callersOrder.begin(), callersOrder.end(), size_t(0));
    const bool takesCallersOrder = *places == callersOrder && places->size() <= state_->arguments.size();
    PlanStep step{.name = spec.name(),
                  .configuration = kernel.configuration,
                  .kernel = std::move(kernel.kernel),
                  .places = std::move(*places),
                  .takesCallersOrder = takesCallersOrder,
                  .grid = {},
                  .condition = std::move(*condition)};
    for (size_t axis = 0; axis < step.grid.size(); ++axis) {
      Expected<SizeProgram> count = compiled(spec.gridSizes()[axis], tunables);
      if (!count)
        return count.status();
      step.grid[axis] = std::move(*count);
    }
    state_->steps.push_back(std::move(step));
    return {};
  }

  /// Counts what belongs to the preparation, and checks that it needs no size that others give.
  Status addPreparation() {
    Preparation &preparation = state_->preparation;
    preparation.steps = spec_.preparationKernels();
    if (preparation.steps == 0)
      return {};
    for (const ArgumentSpec &argument : preparationArguments()) {
      const auto *tensor = std::get_if<TensorSpec>(&argument);
      ++(tensor && tensor->access == Access::workspace ? preparation.workspace : preparation.arguments);
    }
    for (const BoundSize &bound : state_->bound)
      preparation.bound += bound.from.argument < preparation.arguments;
    for (const PlanChoice &choice : state_->choices)
      TEGULA_RETURN_IF_ERROR(checkPrepared(choice.otherwise));
    for (size_t i = 0; i < preparation.workspace; ++i)
      for (const SizeProgram &size : state_->workspace[i].shape)
        TEGULA_RETURN_IF_ERROR(checkPrepared(size));
    for (size_t i = 0; i < preparation.steps; ++i) {
      TEGULA_RETURN_IF_ERROR(checkPrepared(state_->steps[i].condition));
      for (const SizeProgram &size : state_->steps[i].grid)
        TEGULA_RETURN_IF_ERROR(checkPrepared(size));
    }
    return {};
  }

  Status checkPrepared(const SizeProgram &size) const {
    for (size_t place = state_->preparation.bound; place < state_->bound.size(); ++place)
      if (size.uses(place))
        return errorAt(spec_.kernels().front().declared(),
                       "plan '" + spec_.name() + "': its preparation needs the size '" + state_->sizes[place] +
                           "', which only arguments of other kernels give");
    return {};
  }

  const PlanSpec &spec_;
  KernelCache &cache_;
  const PlanOptions &options_;
  std::shared_ptr<PlanState> state_;
  std::vector<Recorded> recorded_;
  std::vector<std::string> filled_; ///< Tensors of the workspace that have a value.
};

} // namespace

Expected<Program> recordZeroProgram() { return tegula::record("set_to_zero", setToZero, TensorArg{"x", i32, 2}); }

Expected<Plan> Plan::make(const PlanSpec &spec, KernelCache &cache, const PlanOptions &options) noexcept {
  return guarded([&]() -> Expected<Plan> {
    const ProfileRange range("plan", spec.name());
    Expected<std::shared_ptr<const PlanState>> state = Maker(spec, cache, options).make();
    if (!state)
      return state.status();
    Plan plan;
    plan.state_ = std::move(*state);
    return plan;
  });
}

namespace {

std::string classText(const Program &program, const std::array<Size, 3> &grid) {
  std::string text = withoutLocations(program.text);
  for (const Size &size : grid)
    text += "\n" + toString(size);
  return text;
}

/// Returns the text of a kernel of several programs, whatever their order.
std::string classText(const std::vector<NamedProgram> &programs) {
  std::vector<std::string> texts;
  for (const NamedProgram &program : programs)
    texts.push_back(classText(program.program, program.grid));
  std::ranges::sort(texts);
  std::string all;
  for (const std::string &text : texts)
    all += text + "\n";
  return all;
}

} // namespace

Expected<std::string> tuningClass(const KernelSpec &kernel) {
  if (kernel.programs().size() > 1)
    return digest(classText(kernel.programs()));
  Expected<Configuration> configuration = kernel.resolved();
  if (!configuration)
    return configuration.status();
  Expected<Program> program = kernel.record(*configuration);
  if (!program)
    return program.status();
  std::string text = classText(*program, kernel.gridSizes());
  for (const Tunable &tunable : kernel.tunables())
    text += "\n" + tunable.name();
  return digest(text);
}

} // namespace tegula
