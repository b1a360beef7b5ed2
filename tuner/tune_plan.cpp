// SPDX-License-Identifier: MIT
#include "plan_subject.h"
#include "run_search.h"
#include "tegula/guard.h"
#include "tegula/plan_tuner.h"

#include <algorithm>
#include <utility>

namespace tegula {

/// Returns true if a product rounds its operands to tf32.
static bool roundsToTf32(const PlanSpec &plan) {
  return std::ranges::any_of(plan.kernels(), [](const KernelSpec &kernel) {
    const Expected<Configuration> configuration = kernel.resolved();
    const Expected<Program> program = configuration ? kernel.record(*configuration) : configuration.status();
    return program && program->text.find("allow_tf32") != std::string::npos;
  });
}

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
  return roundsToTf32(plan) ? 0x1p-10 : 0x1p-16;
}

Expected<PlanTuning> tune(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningOptions &options) {
  return guarded([&]() -> Expected<PlanTuning> {
    Expected<tuning::PlanSubject> subject = tuning::PlanSubject::make(task, machine, compiler, options);
    const KernelSpec *kernel = tuning::tunedKernel(task);
    if (!subject && (kernel == nullptr || subject.status().code() != ErrorCode::cancelled))
      return subject.status();
    Expected<std::string> kernel_class = tuningClass(*kernel);
    if (!kernel_class)
      return kernel_class.status();
    // The caller may have stopped it before there were candidates.
    Expected<SearchResult> result =
        subject ? tuning::runSearch(*subject, machine, compiler, options) : SearchResult{.machine = machine};
    if (!result)
      return result.status();
    result->programs = tuning::programsOf(*kernel);
    return PlanTuning{std::move(*result), kernel->name(), std::move(*kernel_class), task.inputs.sizes};
  });
}

} // namespace tegula
