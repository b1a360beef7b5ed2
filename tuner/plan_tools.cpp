// SPDX-License-Identifier: MIT
#include "tegula/plan_tools.h"

#include "tegula/guard.h"
#include "workload/plan_data.h"
#include "workload/plan_launches.h"

#include <algorithm>
#include <utility>

namespace tegula {
namespace {

/// A plan with its tensors on a device.
class PlanRun final : public Explored {
public:
  static Expected<std::unique_ptr<PlanRun>> make(const PlanTask &task, const PlanOptions &options, Compiler &compiler,
                                                 const std::shared_ptr<Device> &device) {
    KernelCache cache(compiler, device);
    Expected<Plan> plan = Plan::make(task.plan, cache, options);
    return plan ? make(*plan, task.plan, task.inputs, tools::launchName(task.plan, task.inputs), device)
                : plan.status();
  }

  static Expected<std::unique_ptr<PlanRun>> make(const Plan &plan, const PlanSpec &spec, const PlanInputs &inputs,
                                                 std::string name, const std::shared_ptr<Device> &device) {
    Expected<tools::PlanData> data = tools::PlanData::make(spec, inputs, device);
    if (!data)
      return data.status();
    TEGULA_RETURN_IF_ERROR(data->makeRoomFor(plan));
    return std::unique_ptr<PlanRun>(new PlanRun(plan, std::move(*data), std::move(name)));
  }

  Status run(const SimtMutation *) override {
    TEGULA_RETURN_IF_ERROR(data_.reset());
    return unlessFound(data_.launch(plan_));
  }

  Expected<std::vector<char>> results() override {
    Expected<std::vector<HostTensor>> outputs = data_.outputs();
    if (!outputs)
      return outputs.status();
    std::vector<char> bytes;
    for (const HostTensor &output : *outputs) {
      const auto *begin = reinterpret_cast<const char *>(output.values.data());
      bytes.insert(bytes.end(), begin, begin + output.values.size() * sizeof(double));
    }
    if (first_.empty())
      first_ = std::move(*outputs);
    return bytes;
  }

  std::string name() const override { return name_; }
  const Plan &plan() const { return plan_; }

  /// Runs once, and returns the outputs.
  Expected<std::vector<HostTensor>> outputs() {
    TEGULA_RETURN_IF_ERROR(data_.reset());
    TEGULA_RETURN_IF_ERROR(data_.launch(plan_));
    return data_.outputs();
  }

  /// Returns the first results.
  const std::vector<HostTensor> &first() const { return first_; }

private:
  PlanRun(Plan plan, tools::PlanData data, std::string name)
      : plan_(std::move(plan)), data_(std::move(data)), name_(std::move(name)) {}

  Plan plan_;
  tools::PlanData data_;
  const std::string name_;
  std::vector<HostTensor> first_;
};

/// Runs of a plan at other sizes and with other gaps.
struct PlanTrials {
  std::vector<std::unique_ptr<PlanRun>> runs;
  std::vector<std::string> left_out; ///< Launches that the plan refuses, with the reasons.

  std::vector<Explored *> pointers() const {
    std::vector<Explored *> pointers;
    for (const std::unique_ptr<PlanRun> &run : runs)
      pointers.push_back(run.get());
    return pointers;
  }
};

/// Returns true for an error that says that a launch is not legal, or too large.
bool isRefusal(const Status &status) {
  return status.code() == ErrorCode::invalid_argument || status.code() == ErrorCode::unsupported ||
         status.code() == ErrorCode::resource_exhausted;
}

Expected<PlanTrials> planTrials(const PlanTask &task, const Plan &plan, const std::shared_ptr<SimtDevice> &device) {
  PlanTrials trials;
  for (const PlanInputs &inputs : tools::planTrials(task.plan, task.inputs)) {
    const std::string name = tools::launchName(task.plan, inputs, task.inputs);
    Expected<std::unique_ptr<PlanRun>> run = PlanRun::make(plan, task.plan, inputs, name, device);
    const Status status = run ? (*run)->run(nullptr) : run.status();
    if (status.ok())
      trials.runs.push_back(std::move(*run));
    else if (isRefusal(status))
      trials.left_out.push_back(name + ": " + status.message());
    else
      return status;
  }
  device->takeReport(); // explore() runs them again, and has their findings then.
  return trials;
}

} // namespace

Expected<std::vector<HostTensor>> runOnce(const PlanTask &task, const PlanOptions &options, Compiler &compiler,
                                          std::shared_ptr<Device> device) {
  return guarded([&]() -> Expected<std::vector<HostTensor>> {
    Expected<std::unique_ptr<PlanRun>> run = PlanRun::make(task, options, compiler, device);
    return run ? (*run)->outputs() : run.status();
  });
}

Expected<std::vector<OutputError>> compare(const PlanTask &task, const PlanOptions &first, const PlanOptions &second,
                                           Compiler &compiler, std::shared_ptr<Device> device) {
  Expected<std::vector<HostTensor>> a = runOnce(task, first, compiler, device);
  if (!a)
    return a.status();
  Expected<std::vector<HostTensor>> b = runOnce(task, second, compiler, device);
  if (!b)
    return b.status();
  return compareOutputs(*b, *a);
}

Expected<PlanExploration> explore(const PlanTask &task, const PlanOptions &options, Compiler &compiler,
                                  const std::shared_ptr<SimtDevice> &device, const ExplorationOptions &how) {
  return guarded([&]() -> Expected<PlanExploration> {
    Expected<std::unique_ptr<PlanRun>> run = PlanRun::make(task, options, compiler, device);
    if (!run)
      return run.status();
    Expected<PlanTrials> trials = PlanTrials();
    if (!how.mutate.empty())
      trials = planTrials(task, (*run)->plan(), device);
    if (!trials)
      return trials.status();
    Expected<Exploration> exploration = explore(**run, trials->pointers(), *device, how, task.inputs.seed + 1);
    if (!exploration)
      return exploration.status();
    exploration->left_out = std::move(trials->left_out);
    PlanTask same = task;
    same.checked = task.inputs.sizes;
    Expected<std::vector<HostTensor>> right = rightOutputs(same, compiler);
    if (!right)
      return right.status();
    return PlanExploration{std::move(*exploration), compareOutputs((*run)->first(), *right)};
  });
}

} // namespace tegula
