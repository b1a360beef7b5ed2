// SPDX-License-Identifier: MIT
#include "tegula/plan_tools.h"

#include "tegula/guard.h"
#include "workload/plan_data.h"

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
    if (!plan)
      return plan.status();
    Expected<tools::PlanData> data = tools::PlanData::make(task.plan, task.inputs, device);
    if (!data)
      return data.status();
    TEGULA_RETURN_IF_ERROR(data->makeRoomFor(*plan));
    return std::unique_ptr<PlanRun>(new PlanRun(std::move(*plan), std::move(*data)));
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

  /// Runs once, and returns the outputs.
  Expected<std::vector<HostTensor>> outputs() {
    TEGULA_RETURN_IF_ERROR(data_.reset());
    TEGULA_RETURN_IF_ERROR(data_.launch(plan_));
    return data_.outputs();
  }

  /// Returns the first results.
  const std::vector<HostTensor> &first() const { return first_; }

private:
  PlanRun(Plan plan, tools::PlanData data) : plan_(std::move(plan)), data_(std::move(data)) {}

  Plan plan_;
  tools::PlanData data_;
  std::vector<HostTensor> first_;
};

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
    Expected<Exploration> exploration = explore(**run, {}, *device, how, task.inputs.seed + 1);
    if (!exploration)
      return exploration.status();
    PlanTask same = task;
    same.checked = task.inputs.sizes;
    Expected<std::vector<HostTensor>> right = rightOutputs(same, compiler);
    if (!right)
      return right.status();
    return PlanExploration{std::move(*exploration), compareOutputs((*run)->first(), *right)};
  });
}

} // namespace tegula
