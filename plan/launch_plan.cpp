// SPDX-License-Identifier: MIT
#include "plan_state.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory_resource>

namespace tegula {
namespace {

constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 2;

Status invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// Returns what takes the first `count` arguments of a plan, for errors.
std::string subject(const PlanState &plan, size_t count) {
  return (count < plan.arguments.size() ? "the preparation of plan '" : "plan '") + plan.name + "'";
}

/// The kernels that a call launches.
enum class Part : uint8_t { all, preparation, rest };

/// One launch, or the query of its workspace. Allocates from its own memory only, unless a plan is unusually large.
class Launch {
public:
  explicit Launch(const PlanState &plan, Part part = Part::all)
      : plan_(plan), part_(part), values_(plan.sizes.size() + 1, 0, &memory_), tensors_(&memory_),
        arguments_(&memory_) {
    arguments_.reserve(kUsualArguments);
    tensors_.reserve(plan.workspace.size());
  }

  /// Takes the caller's sizes by name, for the query of the workspace.
  Status take(const Sizes &sizes) {
    const size_t first = plan_.bound.size();
    for (size_t place = 0; place < plan_.sizes.size(); ++place) {
      const auto given = std::ranges::find(sizes, plan_.sizes[place], &NamedSize::name);
      if (given != sizes.end())
        values_[place] = given->value;
      else if (place >= first)
        values_[place] = chosen(place - first);
      else if (isNeeded(place))
        return invalid("the size '" + plan_.sizes[place] + "' is missing; sizes are " + namesOfSizes());
    }
    for (const NamedSize &size : sizes)
      if (std::ranges::find(plan_.sizes, size.name) == plan_.sizes.end())
        return invalid("there is no size '" + size.name + "'; sizes are " + namesOfSizes());
    return {};
  }

  /// Takes the arguments, gives sizes their values, and checks shapes.
  Status take(std::span<const Argument> arguments) {
    const size_t needed = takenArguments().size(), most = needed + plan_.choices.size();
    if (arguments.size() < needed || arguments.size() > most)
      return invalid(subject(plan_, needed) + ": expected " + std::to_string(needed) +
                     (most > needed ? " to " + std::to_string(most) : "") + " arguments, got " +
                     std::to_string(arguments.size()));
    caller_ = arguments.first(needed);
    for (size_t i = 0; i < needed; ++i)
      if (!hasKind(plan_.arguments[i], caller_[i]))
        return wrongKind(plan_.arguments[i], caller_[i]);
    for (size_t place = 0; place < boundSizes(); ++place)
      values_[place] = sizeOf(plan_.bound[place].from);
    for (size_t choice = 0; choice < plan_.choices.size(); ++choice)
      TEGULA_RETURN_IF_ERROR(choose(choice, arguments));
    for (const CheckedDimension &checked : plan_.checked) {
      if (checked.dimension.argument >= needed || !isKnown(checked.value))
        continue;
      if (const int64_t expected = checked.value.value(values_); sizeOf(checked.dimension) != expected)
        return wrongDimension(checked, expected);
    }
    for (const auto &[fits, why] : plan_.requirements)
      if (isKnown(fits) && fits.value(values_) == 0)
        return invalid("plan '" + plan_.name + "': " + why);
    return {};
  }

  /// Lays the whole workspace out, or only what is prepared. Returns the bytes that it needs.
  Expected<int64_t> layout() { return layout(0, lastTensor()); }

  Status place(const Workspace &workspace, const Workspace &prepared) {
    if (part_ == Part::all)
      return placeIn(workspace, "workspace", layout());
    const size_t count = plan_.preparation.workspace;
    const Expected<int64_t> bytes = layout(0, count);
    if (bytes && prepared.bytes != *bytes)
      return invalid("argument 'prepared': it has " + std::to_string(prepared.bytes) +
                     " bytes; that of these sizes has " + std::to_string(*bytes));
    TEGULA_RETURN_IF_ERROR(placeIn(prepared, "prepared", bytes));
    if (part_ == Part::preparation)
      return {};
    if (contains(workspace, prepared.data) || contains(prepared, workspace.data))
      return invalid("argument 'workspace': it shares memory with 'prepared'; it needs memory of its own");
    return placeIn(workspace, "workspace", layout(count, plan_.workspace.size()));
  }

  Status run(Stream stream) {
    const size_t first = part_ == Part::rest ? plan_.preparation.steps : 0;
    const size_t end = part_ == Part::preparation ? plan_.preparation.steps : plan_.steps.size();
    const std::span<const PlanStep> steps = std::span(plan_.steps).subspan(first, end - first);
    if (steps.size() > 1 || plan_.zero)
      for (const PlanStep &step : steps)
        if (isIncluded(step))
          TEGULA_RETURN_IF_ERROR(step.kernel->check(gridOf(step), argumentsOf(step)));
    for (size_t i = part_ == Part::rest ? plan_.preparation.workspace : 0; i < lastTensor(); ++i)
      if (plan_.workspace[i].zeroed)
        TEGULA_RETURN_IF_ERROR(setToZero(tensors_[i], stream));
    for (const PlanStep &step : steps)
      if (isIncluded(step))
        TEGULA_RETURN_IF_ERROR(step.kernel->launch(gridOf(step), argumentsOf(step), stream));
    return {};
  }

private:
  static constexpr size_t kUsualArguments = 32;

  /// A tensor of the workspace.
  struct Placed {
    TensorRef tensor;
    int64_t offset, bytes;
  };

  /// Returns the caller's arguments of the kernels.
  std::span<const Parameter> takenArguments() const {
    return std::span(plan_.arguments)
        .first(part_ == Part::preparation ? plan_.preparation.arguments : plan_.arguments.size());
  }
  /// Returns how many sizes these arguments give.
  size_t boundSizes() const { return part_ == Part::preparation ? plan_.preparation.bound : plan_.bound.size(); }
  bool isKnown(const SizeProgram &size) const {
    for (size_t place = boundSizes(); place < plan_.bound.size(); ++place)
      if (size.uses(place))
        return false;
    return true;
  }
  /// Returns the number after that of the last tensor of the workspace which the kernels have.
  size_t lastTensor() const {
    return part_ == Part::preparation ? plan_.preparation.workspace : plan_.workspace.size();
  }

  /// Lays some tensors out, one after another. Returns the bytes that they need.
  Expected<int64_t> layout(size_t first, size_t end) {
    int64_t bytes = 0;
    for (const WorkspaceTensor &entry : std::span(plan_.workspace).subspan(first, end - first)) {
      std::array<int64_t, kMaxRank> shape{};
      for (size_t axis = 0; axis < entry.shape.size(); ++axis) {
        shape[axis] = entry.shape[axis].value(values_);
        if (shape[axis] < 0)
          return invalid("the workspace '" + entry.name + "': its dimension " + std::to_string(axis) + " would be " +
                         std::to_string(shape[axis]) + "; it must be 0 or more");
      }
      Expected<TensorRef> tensor = contiguous(nullptr, entry.dtype, std::span(shape).first(entry.shape.size()));
      const Expected<int64_t> count = numel(*tensor);
      const auto element = static_cast<int64_t>(tegula::sizeOf(entry.dtype));
      if (!count || *count > (kMaxBytes - bytes) / element)
        return Status(ErrorCode::resource_exhausted,
                      "the workspace for these shapes would exceed " + std::to_string(kMaxBytes) + " bytes");
      tensors_.push_back({*tensor, bytes, padded(*count * element)});
      bytes += padded(*count * element);
    }
    return bytes;
  }

  /// Places the tensors that layout() has laid out last, and that need `bytes`, in memory of the given name.
  Status placeIn(const Workspace &memory, const std::string &name, const Expected<int64_t> &bytes) {
    if (!bytes)
      return bytes.status();
    if (memory.bytes < *bytes)
      return invalid("argument '" + name + "': it has " + std::to_string(memory.bytes) + " bytes; " +
                     std::to_string(*bytes) + " are needed for these shapes");
    if (*bytes > 0 && (!memory.data || reinterpret_cast<uintptr_t>(memory.data) % kWorkspaceAlignment != 0))
      return invalid("argument '" + name + "': its address is null or not a multiple of " +
                     std::to_string(kWorkspaceAlignment));
    for (; placed_ < tensors_.size(); ++placed_)
      tensors_[placed_].tensor.data = static_cast<char *>(memory.data) + tensors_[placed_].offset;
    return *bytes > 0 ? checkOwnMemory(name, contiguous(memory.data, i8, {*bytes})) : Status();
  }

  static bool contains(const Workspace &memory, const void *address) {
    return std::less_equal<>()(memory.data, address) &&
           std::less<>()(address, static_cast<const char *>(memory.data) + memory.bytes);
  }

  static int64_t padded(int64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  }

  /// Checks that memory of the plan shares none with a tensor of the caller. Kernel::check would name a tensor that the
  /// caller does not know.
  Status checkOwnMemory(const std::string &name, const TensorRef &memory) const {
    const Expected<AddressRange> whole = addressRange(memory);
    for (size_t i = 0; whole && i < caller_.size(); ++i) {
      if (caller_[i].kind() != Parameter::Kind::tensor)
        continue;
      const Expected<AddressRange> range = addressRange(caller_[i].tensor());
      if (range && range->meets(*whole) && overlaps(caller_[i].tensor(), memory))
        return invalid("argument '" + name + "': it shares memory with '" + plan_.arguments[i].name +
                       "'; it needs memory of its own");
    }
    return {};
  }

  std::string namesOfSizes() const {
    std::string names;
    for (const std::string &name : plan_.sizes)
      names += (names.empty() ? "" : ", ") + name;
    return names.empty() ? "none" : names;
  }

  /// Returns true if the workspace depends on a size.
  bool isNeeded(size_t place) const {
    const auto uses = [&](const SizeProgram &size) { return size.uses(place); };
    const auto depends = [&](const WorkspaceTensor &tensor) { return std::ranges::any_of(tensor.shape, uses); };
    return std::ranges::any_of(plan_.choices, uses, &PlanChoice::otherwise) ||
           std::ranges::any_of(std::span(plan_.workspace).first(lastTensor()), depends);
  }

  /// Returns true if sizes can be bound. Kernel::check knows the rest.
  static bool hasKind(const Parameter &parameter, const Argument &argument) {
    return argument.kind() == parameter.kind &&
           (parameter.kind == Parameter::Kind::scalar || argument.tensor().rank == parameter.rank);
  }

  static Status wrongKind(const Parameter &parameter, const Argument &argument) {
    const bool isTensor = parameter.kind == Parameter::Kind::tensor;
    if (argument.kind() != parameter.kind)
      return invalid("argument '" + parameter.name + "': expected " + (isTensor ? "a tensor" : "a scalar") + ", got " +
                     (isTensor ? "a scalar" : "a tensor"));
    return invalid("argument '" + parameter.name + "': expected rank " + std::to_string(parameter.rank) +
                   ", got rank " + std::to_string(argument.tensor().rank));
  }

  int64_t sizeOf(const Dimension &dimension) const {
    return caller_[dimension.argument].tensor().shape[dimension.axis];
  }

  int64_t chosen(size_t choice) {
    const auto &[otherwise, step] = plan_.choices[choice];
    values_[plan_.concurrencyPlace()] = plan_.steps[step].kernel->concurrency();
    return otherwise.value(values_);
  }

  Status choose(size_t choice, std::span<const Argument> arguments) {
    const size_t place = plan_.bound.size() + choice, at = caller_.size() + choice;
    if (at >= arguments.size()) {
      values_[place] = chosen(choice);
      return {};
    }
    if (arguments[at].dtype() != i64 || arguments[at].kind() != Parameter::Kind::scalar)
      return invalid("argument '" + plan_.sizes[place] + "': a choice is an int64_t");
    values_[place] = arguments[at].integerValue();
    return {};
  }

  Status wrongDimension(const CheckedDimension &checked, int64_t expected) const {
    std::string message = "argument '" + plan_.arguments[checked.dimension.argument].name + "': its dimension " +
                          std::to_string(checked.dimension.axis) + " is " + std::to_string(sizeOf(checked.dimension)) +
                          "; it must be " + checked.text;
    if (std::to_string(expected) != checked.text)
      message += ", which is " + std::to_string(expected);
    const auto from = std::ranges::find(plan_.bound, checked.text, &BoundSize::name);
    if (from != plan_.bound.end())
      message += " from dimension " + std::to_string(from->from.axis) + " of '" +
                 plan_.arguments[from->from.argument].name + "'";
    return invalid(message);
  }

  bool isIncluded(const PlanStep &step) const { return step.condition.value(values_) != 0; }

  Grid gridOf(const PlanStep &step) {
    values_[plan_.concurrencyPlace()] = step.kernel->concurrency();
    return {step.grid[0].value(values_), step.grid[1].value(values_), step.grid[2].value(values_)};
  }

  std::span<const Argument> argumentsOf(const PlanStep &step) {
    if (step.takesCallersOrder)
      return caller_.first(step.places.size());
    arguments_.clear();
    const size_t count = plan_.arguments.size();
    for (const size_t place : step.places)
      arguments_.push_back(place < count ? caller_[place] : Argument(tensors_[place - count].tensor));
    return arguments_;
  }

  Status setToZero(const Placed &placed, Stream stream) const {
    const int64_t rows = placed.bytes / (kZeroColumns * static_cast<int64_t>(tegula::sizeOf(i32)));
    const TensorRef view = contiguous(placed.tensor.data, i32, {rows, kZeroColumns});
    return plan_.zero->launch({.x = (rows + kZeroRows - 1) / kZeroRows}, {view}, stream);
  }

  const PlanState &plan_;
  const Part part_;
  std::array<std::byte, 16 << 10> bytes_; ///< More than plans usually need.
  std::pmr::monotonic_buffer_resource memory_{bytes_.data(), bytes_.size()};
  std::pmr::vector<int64_t> values_; ///< In the order of PlanState::sizes, then the concurrency.
  std::pmr::vector<Placed> tensors_;
  size_t placed_ = 0; ///< How many of them have an address.
  std::pmr::vector<Argument> arguments_;
  std::span<const Argument> caller_;
};

std::string namesOf(const PlanState &plan, std::span<const Parameter> arguments) {
  std::string names;
  for (const Parameter &argument : arguments)
    names += (names.empty() ? "" : ", ") + argument.name;
  for (size_t place = plan.bound.size(); place < plan.sizes.size(); ++place)
    names += (names.empty() ? "" : ", ") + plan.sizes[place];
  return names;
}

/// Puts named arguments into the order of `taken`, which are those of the plan or the first ones. A choice that is not
/// given takes the value that it has otherwise.
Status inOrder(const PlanState &plan, std::span<const Parameter> taken, std::initializer_list<NamedArgument> named,
               std::vector<Argument> &ordered) {
  ordered.reserve(named.size());
  size_t used = 0;
  const auto find = [&](std::string_view name) {
    const auto *found = std::ranges::find(named, name, &NamedArgument::name);
    used += found != named.end();
    return found;
  };
  for (const Parameter &parameter : taken) {
    const auto *found = find(parameter.name);
    if (found == named.end())
      return invalid("argument '" + parameter.name + "' is missing");
    ordered.push_back(found->value);
  }
  for (size_t place = plan.bound.size(); place < plan.sizes.size(); ++place) {
    const auto *found = find(plan.sizes[place]);
    if (found == named.end())
      break;
    ordered.push_back(found->value);
  }
  if (used == named.size())
    return {};
  for (const NamedArgument &argument : named)
    if (std::ranges::find(taken, argument.name, &Parameter::name) == taken.end() &&
        std::find(plan.sizes.begin() + std::ptrdiff_t(plan.bound.size()), plan.sizes.end(), argument.name) ==
            plan.sizes.end())
      return invalid(subject(plan, taken.size()) + " has no argument '" + std::string(argument.name) + "'; it has " +
                     namesOf(plan, taken));
  return invalid("plan '" + plan.name + "': an argument is given twice, or a choice without the choices before it");
}

Status run(const PlanState &plan, Part part, std::span<const Argument> arguments, const Workspace &workspace,
           const Workspace &prepared, Stream stream) {
  if (part != Part::all && plan.preparation.steps == 0)
    return invalid("plan '" + plan.name + "' has no preparation");
  Launch launch(plan, part);
  TEGULA_RETURN_IF_ERROR(launch.take(arguments));
  TEGULA_RETURN_IF_ERROR(launch.place(workspace, prepared));
  return launch.run(stream);
}

} // namespace

const std::string &Plan::name() const noexcept { return state_->name; }
const std::vector<Parameter> &Plan::arguments() const noexcept { return state_->arguments; }
const std::vector<std::string> &Plan::sizes() const noexcept { return state_->sizes; }

Configuration Plan::configuration(std::string_view kernel) const noexcept {
  const auto found = std::ranges::find(state_->steps, kernel, &PlanStep::name);
  return found == state_->steps.end() ? Configuration() : found->configuration;
}

Expected<int64_t> Plan::workspaceBytes(const Sizes &sizes) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    Launch launch(*state_);
    TEGULA_RETURN_IF_ERROR(launch.take(sizes));
    return launch.layout();
  });
}

Expected<int64_t> Plan::preparedBytes(const Sizes &sizes) const noexcept {
  return guarded([&]() -> Expected<int64_t> {
    Launch launch(*state_, Part::preparation);
    TEGULA_RETURN_IF_ERROR(launch.take(sizes));
    return launch.layout();
  });
}

size_t Plan::preparedArguments() const noexcept { return state_->preparation.arguments; }

Status Plan::launch(std::span<const Argument> arguments, const Workspace &workspace, Stream stream,
                    const Workspace &prepared) const noexcept {
  const bool isPrepared = prepared.data != nullptr || prepared.bytes != 0;
  return guarded(
      [&] { return run(*state_, isPrepared ? Part::rest : Part::all, arguments, workspace, prepared, stream); });
}

Status Plan::launch(std::initializer_list<NamedArgument> arguments, const Workspace &workspace, Stream stream,
                    const Workspace &prepared) const noexcept {
  return guarded([&]() -> Status {
    std::vector<Argument> ordered;
    TEGULA_RETURN_IF_ERROR(inOrder(*state_, state_->arguments, arguments, ordered));
    return launch(ordered, workspace, stream, prepared);
  });
}

Status Plan::prepare(std::span<const Argument> arguments, const Workspace &prepared, Stream stream) const noexcept {
  return guarded([&] { return run(*state_, Part::preparation, arguments, {}, prepared, stream); });
}

Status Plan::prepare(std::initializer_list<NamedArgument> arguments, const Workspace &prepared,
                     Stream stream) const noexcept {
  return guarded([&]() -> Status {
    std::vector<Argument> ordered;
    const auto taken = std::span(state_->arguments).first(state_->preparation.arguments);
    TEGULA_RETURN_IF_ERROR(inOrder(*state_, taken, arguments, ordered));
    return prepare(ordered, prepared, stream);
  });
}

} // namespace tegula
