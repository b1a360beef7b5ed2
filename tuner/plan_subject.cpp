// SPDX-License-Identifier: MIT
#include "plan_subject.h"

#include "tegula/device.h"
#include "tegula/guard.h"
#include "tegula/kernel_cache.h"
#include "tegula/output_check.h"
#include "tegula/plan_tools.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <new>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace tegula::tuning {
namespace {

/// Sizes above the first number are the second one in checks, which no usual block divides.
constexpr int64_t kLong = 512, kChecked = 397;

/// Returns the index of the kernel that is tuned.
Expected<size_t> indexOf(const PlanTask &task) {
  const std::vector<KernelSpec> &kernels = task.plan.kernels();
  if (task.kernel.empty() && kernels.size() == 1)
    return size_t(0);
  const auto found = std::ranges::find(kernels, task.kernel, &KernelSpec::name);
  if (found != kernels.end())
    return size_t(found - kernels.begin());
  std::string names;
  for (const KernelSpec &kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.name();
  return Status(ErrorCode::invalid_argument,
                fmt::format("plan '{}' has no kernel '{}' to tune; it has {}", task.plan.name(), task.kernel, names));
}

/// Returns what tells the programs of a kernel apart; nothing if it has only one.
std::vector<ProgramIdentity> programsOf(const KernelSpec &kernel) {
  std::vector<ProgramIdentity> programs;
  if (kernel.programs().size() > 1)
    std::ranges::transform(kernel.programs(), std::back_inserter(programs), identityOf);
  return programs;
}

Expected<std::vector<Configuration>> configurationsOf(const PlanTask &task) {
  std::vector<Configuration> configurations;
  for (const KernelSpec &kernel : task.plan.kernels()) {
    const auto given = std::ranges::find(task.others, kernel.name(), &GivenConfiguration::kernel);
    Expected<Configuration> resolved =
        given == task.others.end() ? kernel.resolved() : kernel.resolved(given->configuration);
    if (!resolved)
      return resolved.status();
    configurations.push_back(std::move(*resolved));
  }
  return configurations;
}

Sizes checkedSizes(const PlanTask &task) {
  if (!task.checked.empty())
    return task.checked;
  Sizes sizes = task.inputs.sizes;
  for (NamedSize &size : sizes)
    if (size.value > kLong)
      size.value = kChecked;
  return sizes;
}

/// Returns the plan without the schedules of its description, which may be another target's.
PlanSpec withoutSchedules(const PlanSpec &plan) {
  std::vector<KernelSpec> kernels;
  for (const KernelSpec &kernel : plan.kernels())
    kernels.push_back(KernelSpec(kernel).defaults({}));
  PlanSpec result(plan.name(), std::move(kernels));
  for (const Choice &choice : plan.choices())
    std::move(result).choice(choice.name, choice.otherwise, choice.kernel);
  for (const Requirement &requirement : plan.requirements())
    std::move(result).require(requirement.condition, requirement.why);
  return result;
}

/// Computes the outputs with the plan itself, on the cores of this machine.
Expected<std::vector<HostTensor>> computedHere(const PlanTask &task, const PlanInputs &inputs, Compiler &compiler) {
  Expected<std::shared_ptr<Device>> cpu = cpuDevice();
  if (!cpu)
    return cpu.status();
  KernelCache cache(compiler, *cpu);
  Expected<Plan> plan = Plan::make(withoutSchedules(task.plan), cache);
  if (!plan)
    return plan.status();
  Expected<tools::PlanData> data = tools::PlanData::make(task.plan, inputs, *cpu);
  if (!data)
    return data.status();
  TEGULA_RETURN_IF_ERROR(data->makeRoomFor(*plan));
  TEGULA_RETURN_IF_ERROR(data->launch(*plan));
  return data->outputs();
}

/// Calls the user's reference. An exception from it is the user's error, unless memory has run out.
Status runReference(const Reference &reference, HostCall &call) {
  try {
    reference(call);
    return {};
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &error) {
    return {ErrorCode::invalid_argument, fmt::format("the reference threw an exception: {}", error.what())};
  }
}

/// Computes the outputs with the user's reference.
Expected<std::vector<HostTensor>> computedByUser(const PlanTask &task, const PlanInputs &inputs) {
  Expected<std::vector<tools::CallerTensor>> tensors = tools::callerTensors(task.plan, inputs.sizes);
  if (!tensors)
    return tensors.status();
  HostCall call{.tensors = {}, .sizes = inputs.sizes, .scalars = inputs.scalars};
  for (const tools::CallerTensor &tensor : *tensors)
    call.tensors.push_back(tools::firstValues(tensor, inputs).tensor);
  TEGULA_RETURN_IF_ERROR(runReference(task.reference, call));
  std::vector<HostTensor> outputs;
  for (size_t n = 0; n < tensors->size(); ++n)
    if ((*tensors)[n].written)
      outputs.push_back(std::move(call.tensors[n]));
  return outputs;
}

Expected<std::vector<HostTensor>> outputsOf(const PlanTask &task, const PlanInputs &inputs, Compiler &compiler) {
  return task.reference ? computedByUser(task, inputs) : computedHere(task, inputs, compiler);
}

Status unlessStopped(const TuningOptions &options) {
  return options.stopped && options.stopped() ? Status(ErrorCode::cancelled, "the search was stopped") : Status();
}

Status checkFinite(const PlanTask &task) {
  const auto check = [](const std::string &what, double value) {
    return std::isfinite(value) ? Status()
                                : Status(ErrorCode::invalid_argument,
                                         fmt::format("{} is {}; a search takes finite numbers", what, value));
  };
  for (const ScalarValue &scalar : task.inputs.scalars)
    TEGULA_RETURN_IF_ERROR(check(fmt::format("the scalar '{}'", scalar.name), scalar.value));
  return check("the tolerance", task.tolerance);
}

/// Returns true if a product rounds its operands to tf32.
bool roundsToTf32(const PlanSpec &plan) {
  return std::ranges::any_of(plan.kernels(), [](const KernelSpec &kernel) {
    const Expected<Configuration> configuration = kernel.resolved();
    const Expected<Program> program = configuration ? kernel.record(*configuration) : configuration.status();
    return program && program->text.find("allow_tf32") != std::string::npos;
  });
}

Expected<std::shared_ptr<Kernel>> compiled(const KernelSpec &kernel, const Configuration &configuration,
                                           KernelCache &cache) {
  const Expected<Program> program = kernel.record(configuration);
  return program ? cache.get(program->text, configuration.schedule) : program.status();
}

} // namespace

Expected<PlanSubject> PlanSubject::make(const PlanTask &task, const TuningDevice &machine) {
  TEGULA_RETURN_IF_ERROR(task.plan.check());
  TEGULA_RETURN_IF_ERROR(checkFinite(task));
  if (!task.inputs.row_gaps.empty())
    return Status(ErrorCode::invalid_argument, "row_gaps: a search times tensors without gaps; leave them out");
  const Expected<size_t> index = indexOf(task);
  if (!index)
    return index.status();
  const KernelSpec &kernel = task.plan.kernels()[*index];
  Expected<std::string> kernel_class = tuningClass(kernel);
  if (!kernel_class)
    return kernel_class.status();
  Expected<std::vector<Configuration>> configurations = configurationsOf(task);
  if (!configurations)
    return configurations.status();
  TEGULA_RETURN_IF_ERROR(tools::callerTensors(task.plan, task.inputs.sizes).status());
  PlanSubject subject({.kernel = kernel.name(),
                       .kernel_class = std::move(*kernel_class),
                       .sizes = task.inputs.sizes,
                       .machine = machine,
                       .programs = programsOf(kernel)},
                      task, *index);
  subject.configurations_ = std::move(*configurations);
  subject.checked_.inputs = subject.timed_.inputs = task.inputs;
  subject.checked_.inputs.sizes = checkedSizes(task);
  return subject;
}

Status PlanSubject::prepare(KernelCache &cache, Compiler &compiler, const TuningOptions &options) {
  TEGULA_RETURN_IF_ERROR(fill(timed_, options));
  TEGULA_RETURN_IF_ERROR(fill(checked_, options));
  TEGULA_RETURN_IF_ERROR(unlessStopped(options));
  Expected<std::vector<HostTensor>> expected = outputsOf(*task_, checked_.inputs, compiler);
  if (!expected)
    return expected.status();
  expected_ = std::move(*expected);
  for (size_t n = 0; n < configurations_.size(); ++n)
    if (n != kernel_)
      TEGULA_RETURN_IF_ERROR(compiled(task_->plan.kernels()[n], configurations_[n], cache).status());
  return {};
}

Status PlanSubject::fill(Run &run, const TuningOptions &options) const {
  Expected<std::vector<tools::CallerTensor>> tensors = tools::callerTensors(task_->plan, run.inputs.sizes);
  if (!tensors || !run.inputs.fill)
    return tensors.status();
  for (const tools::CallerTensor &tensor : *tensors) {
    TEGULA_RETURN_IF_ERROR(unlessStopped(options));
    if (const tools::FirstValues first = tools::firstValues(tensor, run.inputs); first.by_user)
      run.filled[tensor.name] = tools::encoded(first.tensor);
  }
  return {};
}

Expected<std::vector<Candidate>> PlanSubject::candidates(int most) const {
  std::vector<Candidate> all;
  for (const Configuration &configuration : tegula::configurationsOf(kernel(), target()))
    all.push_back({.schedule = configuration.schedule, .tunables = configuration.tunables});
  // Nothing is known about the others, so that any of them may be left out.
  std::mt19937 random{unsigned(task_->inputs.seed)};
  std::shuffle(all.begin() + 1, all.end(), random);
  for (size_t n = size_t(std::max(most, 1)); n < all.size(); ++n)
    all[n].state = CandidateState::unlikely;
  return all;
}

Expected<Candidate> PlanSubject::candidateOf(const Configuration &given) const {
  Expected<Configuration> resolved = kernel().resolved(given);
  if (!resolved)
    return resolved.status();
  return Candidate{.schedule = resolved->schedule, .tunables = resolved->tunables};
}

Expected<std::shared_ptr<Kernel>> PlanSubject::kernelOf(const Candidate &candidate, KernelCache &cache) const {
  return compiled(kernel(), candidate.configuration(), cache);
}

Expected<Plan> PlanSubject::planOf(const Candidate &candidate, KernelCache &cache) const {
  PlanOptions options;
  for (size_t n = 0; n < configurations_.size(); ++n)
    options.configurations.push_back(
        {task_->plan.kernels()[n].name(), n == kernel_ ? candidate.configuration() : configurations_[n]});
  return Plan::make(task_->plan, cache, options);
}

Expected<tools::PlanData> PlanSubject::makeData(Purpose purpose, const Plan &, const std::shared_ptr<Device> &device) {
  const Run &run = purpose == Purpose::check ? checked_ : timed_;
  PlanInputs inputs = run.inputs;
  inputs.fill = {};
  Expected<tools::PlanData> data = tools::PlanData::make(task_->plan, inputs, device);
  if (data)
    for (const auto &[name, bytes] : run.filled)
      TEGULA_RETURN_IF_ERROR(data->setInput(name, bytes));
  return data;
}

Expected<Verdict> PlanSubject::check(const Plan &plan, const tools::PlanData &data) const {
  TEGULA_RETURN_IF_ERROR(data.reset());
  TEGULA_RETURN_IF_ERROR(data.launch(plan));
  Expected<std::vector<HostTensor>> outputs = data.outputs();
  if (!outputs)
    return outputs.status();
  const double tolerance = task_->tolerance > 0 ? task_->tolerance : usualTolerance(task_->plan);
  const std::vector<OutputError> errors = compareOutputs(*outputs, expected_);
  return Verdict{largestError(errors) / tolerance, verdict(errors, tolerance)};
}

Expected<std::vector<Tuning>> PlanSubject::implied(const Tuning &tuning) const {
  const ProgramIdentity *program = tuning.programOf(*tuning.winner());
  if (program == nullptr)
    return std::vector<Tuning>();
  const KernelSpec alone = kernel().only(program->value);
  Expected<std::string> kernel_class = tuningClass(alone);
  if (!kernel_class)
    return kernel_class.status();
  Tuning result{.kernel = alone.name(),
                .kernel_class = std::move(*kernel_class),
                .sizes = tuning.sizes,
                .machine = tuning.machine,
                .complete = tuning.complete,
                .seconds = tuning.seconds};
  for (const Candidate &candidate : tuning.candidates) {
    if (tuning.programOf(candidate) != program)
      continue;
    if (&candidate == tuning.winner())
      result.best = result.candidates.size();
    result.candidates.push_back(candidate);
    result.candidates.back().tunables.clear();
  }
  return std::vector{std::move(result)};
}

} // namespace tegula::tuning

namespace tegula {

double usualTolerance(const PlanSpec &plan) {
  const auto has = [&](DType dtype) {
    return std::ranges::any_of(plan.arguments(), [&](const ArgumentSpec &argument) {
      const auto *tensor = std::get_if<TensorSpec>(&argument);
      return tensor != nullptr && tensor->dtype == dtype;
    });
  };
  constexpr std::pair<DType, double> kTolerances[] = {{e4m3, 0x1p-3}, {bf16, 0x1p-7}, {f16, 0x1p-10}};
  for (const auto &[dtype, tolerance] : kTolerances)
    if (has(dtype))
      return tolerance;
  return tuning::roundsToTf32(plan) ? 0x1p-10 : 0x1p-16;
}

Expected<std::vector<HostTensor>> rightOutputs(const PlanTask &task, Compiler &compiler) {
  return guarded([&]() -> Expected<std::vector<HostTensor>> {
    TEGULA_RETURN_IF_ERROR(task.plan.check());
    PlanInputs inputs = task.inputs;
    inputs.sizes = tuning::checkedSizes(task);
    return tuning::outputsOf(task, inputs, compiler);
  });
}

} // namespace tegula
