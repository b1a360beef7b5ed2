// SPDX-License-Identifier: MIT
#include "program_commands.h"
#include "compiler.h"
#include "exploration_table.h"
#include "files.h"
#include "legal_values.h"
#include "tegula/plan_tools.h"
#include "tune_command.h"
#include "tuning_setup.h"
#include "workload/open_device.h"

#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr const char *kSimtExamples =
    R"(Runs the code that the compiler makes for a GPU on the cores of this machine, lane by lane, and compares the results
with those of the cpu target. It is slow: use small sizes. Examples:
  tegula simt copy.mlir --arg x=f32[1000] --arg y=f32[1000] --grid 'ceildiv(x.0,256)' --schedules 10
  tegula simt copy.mlir --arg x=f32[1000] --arg y=f32[1000] --grid 'ceildiv(x.0,256)' --mutate all
Mutants that these sizes do not show are also tried at other sizes, and with rows that are not aligned.
Exit code: 0 if nothing was found, 1 if something was or failed, 2 for bad input, 4 if no launch came to
some mutants, and all others were found out.)";

constexpr const char *kCompareExamples = R"(Example:
  tegula compare matmul.mlir --arg a=bf16[300,104] --arg b=bf16[104,200] --arg c=f32[300,200] \
    --grid 'ceildiv(c.0,64),ceildiv(c.1,64)' --target simt:sm_90a --schedule "num_warps=4" --schedule "num_warps=8"
One schedule is compared with the compiler's choice.
Exit code: 0 if the results agree, 1 if they do not or something failed, 2 for bad input.)";

constexpr const char *kSeedHelp = "Decides the inputs, and the orders of lanes (0)";

double toleranceOf(const PlanTask &task) { return task.tolerance > 0 ? task.tolerance : usualTolerance(task.plan); }

std::string errorTable(const std::vector<OutputError> &errors, double tolerance) {
  std::string text = fmt::format("\n  {:<12} {:>13} {:>13} {:>10}   at most {:.3g}\n", "output", "difference",
                                 "relative", "elements", tolerance);
  for (const OutputError &error : errors)
    text += fmt::format("  {:<12} {:>13.3g} {:>13.3g} {:>10}   {}\n", error.name, error.error, error.relative(),
                        error.different, error.relative() <= tolerance ? "ok" : "TOO LARGE");
  return text;
}

} // namespace

void addSimtOptions(CLI::App &command, SimtCommandOptions &o) {
  addProgramOptions(command, o.program, /*required=*/true);
  addRowGaps(command, o.program);
  command.add_option("--arch", o.arch, "The GPU whose code is run, such as sm_80 (sm_90a)")->type_name("NAME");
  addSchedule(command, o.schedule);
  addExplorationOptions(command, o.exploration);
  addSeed(command, o.program.seed, kSeedHelp);
  command.footer(kSimtExamples);
}

void addCompareOptions(CLI::App &command, CompareOptions &o) {
  addProgramOptions(command, o.program, /*required=*/true);
  addRowGaps(command, o.program);
  addTarget(command, o.target);
  addSchedules(command, o.schedules, "Such as \"num_warps=8\"; once or twice");
  addSeed(command, o.program.seed, kSeedHelp);
  command.footer(kCompareExamples);
}

Outcome benchProgram(const BenchOptions &options) {
  InterruptFlag flag;
  Expected<TuningSetup> setup = makeTuningSetup(options.target, options.no_cache);
  if (!setup)
    return setup.status();
  Expected<PlanTask> task = planTask(options.program, {}, *setup->compiler);
  if (!task)
    return task.status();
  const KernelSpec &kernel = task->plan.kernels().front();
  TuningOptions how{.given = {{.schedule = options.schedule}}, .window_seconds = options.seconds};
  Expected<std::string> kernel_class = tuningClass(kernel);
  if (!kernel_class)
    return kernel_class.status();
  if (!options.untuned && options.schedule == Schedule())
    if (std::optional<std::string> tuned =
            TuningStore().configurations(setup->machine).find(kernel.name(), *kernel_class, task->inputs.sizes))
      if (Expected<Configuration> known = parseConfiguration(*tuned, kernel.tunables()))
        how.given = {*known};
  Progress progress;
  watch(how, progress);
  return report(tune(*task, setup->machine, *setup->compiler, how), options.files);
}

Outcome simtCommand(const SimtCommandOptions &options) {
  SimtOptions simt;
  simt.arch = options.arch;
  Expected<std::shared_ptr<SimtDevice>> device = simtDevice(simt);
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeCompiler();
  Expected<PlanTask> task = planTask(options.program, options.schedule, *compiler);
  if (!task)
    return task.status();
  Progress progress;
  progress.show("running under different orders of lanes");
  Expected<PlanExploration> found = explore(*task, {}, *compiler, *device, options.exploration);
  if (!found)
    return found.status();
  TEGULA_RETURN_IF_ERROR(print(toTable(*found) + errorTable(found->errors, toleranceOf(*task))));
  TEGULA_RETURN_IF_ERROR(verdict(*found));
  Outcome outcome = verdict(found->errors, toleranceOf(*task));
  outcome.untried = reachVerdict(*found);
  return outcome;
}

Status compareCommand(const CompareOptions &options) {
  if (options.schedules.empty() || options.schedules.size() > 2)
    return {ErrorCode::invalid_argument,
            fmt::format("--schedule: there are {}; give one or two", options.schedules.size())};
  Expected<std::shared_ptr<Device>> device = openDevice(options.target);
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeCompiler();
  Expected<PlanTask> task = planTask(options.program, {}, *compiler);
  if (!task)
    return task.status();
  const std::string &kernel = task->plan.kernels().front().name();
  const auto with = [&](const Schedule &schedule) -> PlanOptions {
    return {.configurations = {{kernel, {.schedule = schedule}}}};
  };
  const Schedule second = options.schedules.size() == 2 ? options.schedules[1] : Schedule();
  Expected<std::vector<OutputError>> errors =
      compare(*task, with(options.schedules[0]), with(second), *compiler, *device);
  if (!errors)
    return errors.status();
  TEGULA_RETURN_IF_ERROR(print(errorTable(*errors, toleranceOf(*task))));
  return verdict(*errors, toleranceOf(*task));
}

} // namespace tegula::tools
