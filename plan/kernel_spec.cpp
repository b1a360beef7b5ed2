// SPDX-License-Identifier: MIT
#include "tegula/kernel_spec.h"

#include "where.h"

#include <algorithm>
#include <utility>

namespace tegula {
namespace {

constexpr std::string_view kConcurrency = "concurrency";

TensorSpec tensor(std::string name, DType dtype, std::vector<Size> shape, Access access, Location where) {
  return {.name = std::move(name), .dtype = dtype, .shape = std::move(shape), .access = access, .where = where};
}

const NamedSize *find(const Sizes &sizes, std::string_view name) {
  const auto found = std::ranges::find(sizes, name, &NamedSize::name);
  return found == sizes.end() ? nullptr : &*found;
}

Status checkNames(const KernelSpec &kernel, const Sizes &given) {
  for (const NamedSize &value : given) {
    const auto isIt = [&](const Tunable &tunable) { return tunable.name() == value.name; };
    if (std::ranges::any_of(kernel.tunables(), isIt))
      continue;
    std::string legal;
    for (const Tunable &tunable : kernel.tunables())
      legal += (legal.empty() ? "" : ", ") + tunable.name();
    return {ErrorCode::invalid_argument, "kernel '" + kernel.name() + "' has no tunable '" + value.name + "'; it has " +
                                             (legal.empty() ? "none" : legal)};
  }
  return {};
}

Status checkLegal(const KernelSpec &kernel, const Sizes &tunables) {
  for (const Requirement &requirement : kernel.legal()) {
    const Expected<int64_t> legal = evaluate(requirement.condition, tunables);
    if (!legal)
      return errorAt(kernel.declared(), "kernel '" + kernel.name() + "': where(" + toString(requirement.condition) +
                                            ", ...) is made of tunables only; " + legal.status().message());
    if (*legal == 0)
      return {ErrorCode::invalid_argument,
              "kernel '" + kernel.name() + "' cannot have " + toString(tunables) + ": " + requirement.why};
  }
  return {};
}

/// Returns every choice of one value for each tunable, the default values first.
std::vector<Sizes> choicesOf(const std::vector<Tunable> &tunables) {
  std::vector<Sizes> all = {{}};
  for (const Tunable &tunable : tunables) {
    std::vector<int> values = {tunable.otherwise()};
    std::ranges::remove_copy(tunable.values(), std::back_inserter(values), tunable.otherwise());
    std::vector<Sizes> longer;
    for (const Sizes &choice : all)
      for (const int value : values) {
        longer.push_back(choice);
        longer.back().push_back({tunable.name(), value});
      }
    all = std::move(longer);
  }
  return all;
}

} // namespace

TensorSpec input(std::string name, DType dtype, std::vector<Size> shape, Location where) {
  return tensor(std::move(name), dtype, std::move(shape), Access::input, where);
}

TensorSpec output(std::string name, DType dtype, std::vector<Size> shape, Location where) {
  return tensor(std::move(name), dtype, std::move(shape), Access::output, where);
}

TensorSpec inout(std::string name, DType dtype, std::vector<Size> shape, Location where) {
  return tensor(std::move(name), dtype, std::move(shape), Access::inout, where);
}

TensorSpec workspace(std::string name, DType dtype, std::vector<Size> shape, Location where) {
  return tensor(std::move(name), dtype, std::move(shape), Access::workspace, where);
}

TensorSpec zeroed(TensorSpec workspace) {
  workspace.zeroed = true;
  return workspace;
}

std::vector<Size> freeShape(std::string_view name, int rank) {
  std::vector<Size> shape;
  for (int axis = 0; axis < rank; ++axis)
    shape.emplace_back(std::string(name) + "." + std::to_string(axis));
  return shape;
}

ScalarSpec scalar(std::string name, DType dtype, Location where) { return {std::move(name), dtype, where}; }

const std::string &nameOf(const ArgumentSpec &argument) {
  return std::visit([](const auto &spec) -> const std::string & { return spec.name; }, argument);
}

Location whereOf(const ArgumentSpec &argument) {
  return std::visit([](const auto &spec) { return spec.where; }, argument);
}

Size concurrency() { return Size(kConcurrency); }

int spec_details::recorded(const Tunable &tunable, const Sizes &values) {
  const NamedSize *value = find(values, tunable.name());
  return value != nullptr ? static_cast<int>(value->value) : tunable.otherwise();
}

KernelSpec KernelSpec::ofPrograms(KernelName name, std::vector<ArgumentSpec> arguments, Record record,
                                  std::vector<Tunable> tunables) {
  KernelSpec kernel;
  kernel.tunables_ = std::move(tunables);
  kernel.name_ = name.text();
  kernel.where_ = name.where();
  kernel.arguments_ = std::move(arguments);
  kernel.record_ = std::move(record);
  return kernel;
}

KernelSpec &&KernelSpec::grid(Size x, Size y, Size z) && {
  grid_ = {std::move(x), std::move(y), std::move(z)};
  return std::move(*this);
}

KernelSpec &&KernelSpec::when(Size condition) && {
  condition_ = std::move(condition);
  return std::move(*this);
}

KernelSpec &&KernelSpec::where(Size legal, std::string why) && {
  legal_.push_back({std::move(legal), std::move(why)});
  return std::move(*this);
}

KernelSpec &&KernelSpec::defaults(Schedule schedule) && {
  schedule_ = schedule;
  return std::move(*this);
}

KernelSpec &&KernelSpec::search(std::vector<ScheduleSpace> boxes) && {
  boxes_ = std::move(boxes);
  return std::move(*this);
}

Expected<Configuration> KernelSpec::resolved(const Configuration &configuration) const {
  TEGULA_RETURN_IF_ERROR(checkNames(*this, configuration.tunables));
  Configuration all{.schedule = configuration.schedule == Schedule() ? schedule_ : configuration.schedule};
  for (const Tunable &tunable : tunables_) {
    const NamedSize *given = find(configuration.tunables, tunable.name());
    if (given != nullptr && !std::in_range<int>(given->value))
      return Status(ErrorCode::invalid_argument, "kernel '" + name_ + "': the tunable '" + tunable.name() + "' is " +
                                                     std::to_string(given->value) + "; legal are 32-bit integers");
    all.tunables.push_back({tunable.name(), given != nullptr ? given->value : tunable.otherwise()});
  }
  TEGULA_RETURN_IF_ERROR(checkLegal(*this, all.tunables));
  return all;
}

std::vector<Configuration> configurationsOf(const KernelSpec &kernel, const Target &target) {
  std::vector<Schedule> schedules = {kernel.schedule()};
  for (const Schedule &schedule : enumerate(kernel.searched() ? *kernel.searched() : usualSchedules(target)))
    if (std::ranges::find(schedules, schedule) == schedules.end())
      schedules.push_back(schedule);
  std::vector<Configuration> all;
  for (const Schedule &schedule : schedules)
    for (const Sizes &tunables : choicesOf(kernel.tunables()))
      if (checkLegal(kernel, tunables).ok())
        all.push_back({.tunables = tunables, .schedule = schedule});
  return all;
}

std::vector<ScheduleSpace> usualSchedules(const Target &target) {
  if (target.name == "cpu")
    return {};
  const ScheduleAxis warps(&Schedule::num_warps, {4, 8}), stages(&Schedule::num_stages, {2, 3, 4});
  std::vector<ScheduleSpace> boxes = {{warps, stages, ScheduleAxis(&Schedule::roles, {Roles::none})}};
  if (target.arch == "sm_90a")
    boxes.push_back({ScheduleAxis(&Schedule::num_warps, {4, 8, 12}), stages,
                     ScheduleAxis(&Schedule::roles, {Roles::load}),
                     ScheduleAxis(&Schedule::overlap, {Overlap::none, Overlap::pingpong}),
                     ScheduleAxis(&Schedule::add_by_tma, {false})});
  return boxes;
}

} // namespace tegula
