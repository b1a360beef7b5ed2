// SPDX-License-Identifier: MIT
#include "attention_spec.h"

#include "kernel_config.h"
#include "launch_grid.h"
#include "tegula/attention_words.h"

#include <algorithm>
#include <utility>

namespace tegula {
namespace {

std::vector<Size> shapeOf(const VariantTensor &tensor) {
  std::vector<Size> shape = freeShape(tensor.name, int(tensor.axes.size()));
  constexpr std::string_view names[] = {"batch", "heads", "kv_heads", "seqlen_q", "seqlen_k"};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (tensor.axes[axis] != Axis::any)
      shape[axis] = Size(names[size_t(tensor.axes[axis])]);
  return shape;
}

/// Returns all arguments that programs of a pass may have.
std::vector<ArgumentSpec> argumentsOf(const AttentionProblem &problem, Pass pass) {
  const Size batch("batch"), heads("heads"), kv_heads("kv_heads"), seqlen_q("seqlen_q"), seqlen_k("seqlen_k");
  const DType dtype = problem.dtype;
  const std::vector<Size> statistic = {batch, heads, seqlen_q}, scores = {batch, heads, seqlen_q, seqlen_k};
  const auto rows = [&](const Size &columns) -> std::vector<Size> { return {batch, heads, seqlen_q, columns}; };
  const auto keys = [&](const Size &columns) -> std::vector<Size> { return {batch, kv_heads, seqlen_k, columns}; };
  const int head_dim = problem.head_dim, value_dim = problem.value_dim;
  std::vector<ArgumentSpec> all = {input("q", dtype, rows(head_dim)),  input("k", dtype, keys(head_dim)),
                                   input("v", dtype, keys(value_dim)), input("o", dtype, rows(value_dim)),
                                   input("lse", f32, statistic),       scalar("scale", f32)};
  for (const VariantTensor &tensor : problem.variant.tensors)
    all.push_back(input(tensor.name, tensor.dtype, shapeOf(tensor)));
  if (pass == Pass::forward) {
    all.insert(all.end(), {workspace("s", f32, scores), workspace("p", f32, scores), workspace("m", f32, statistic),
                           workspace("l", f32, statistic), workspace("acc", f32, rows(value_dim)),
                           workspace("counter", i32, {1})});
    return all;
  }
  all.insert(all.end(),
             {input("d_o", dtype, rows(value_dim)), input("d_lse", f32, statistic), input("dq", dtype, rows(head_dim)),
              input("dk", dtype, keys(head_dim)), input("dv", dtype, keys(value_dim)),
              workspace("lse_term", f32, statistic), workspace("dp_init", f32, statistic),
              workspace("dq_acc", f32, rows(head_dim)), workspace("turns", i32, statistic)});
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (tensor.wants_gradient)
      all.push_back(input("d" + tensor.name, f32, shapeOf(tensor)));
  return all;
}

/// Returns the grid of a program. Instances that add one after another alternate between kv heads.
GridRows gridOf(std::string_view name, const AttentionProblem &problem) {
  const GridRows grid = findAttentionProgram(name)->grid;
  return grid == GridRows::keys && problem.deterministic ? GridRows::ordered_keys : grid;
}

/// Returns the arguments that a program has. Tensors that it writes are not only inputs.
Expected<std::vector<ArgumentSpec>> argumentsOf(const Program &program, const std::vector<ArgumentSpec> &all) {
  std::vector<ArgumentSpec> arguments;
  for (const Parameter &parameter : program.parameters) {
    const auto found = std::ranges::find(all, parameter.name, &nameOf);
    if (found == all.end())
      return Status(ErrorCode::internal, "program '" + program.name + "': its parameter '" + parameter.name +
                                             "' is no argument of attention");
    arguments.push_back(*found);
    auto *tensor = std::get_if<TensorSpec>(&arguments.back());
    if (tensor != nullptr && tensor->access == Access::input && parameter.written)
      tensor->access = Access::inout;
  }
  return arguments;
}

} // namespace

Expected<PlanSpec> attentionSpec(const AttentionProblem &problem, Pass pass, const Target &target,
                                 const Schedule &given, const TunedSchedules *tuned) {
  const std::vector<ArgumentSpec> all = argumentsOf(problem, pass);
  std::vector<KernelSpec> kernels;
  for (std::string_view name : pass == Pass::forward ? forwardKernels(problem) : backwardKernels()) {
    if (name == "flash2_forward_contain" && target.name == "cpu") // The cpu has nothing to repair.
      continue;
    Expected<RecordedKernel> recorded = recordKernel(problem, name, target, given, tuned);
    if (!recorded)
      return recorded.status();
    Expected<std::vector<ArgumentSpec>> arguments = argumentsOf(recorded->program, all);
    if (!arguments)
      return withProblem(arguments.status(), problem);
    const auto [x, y, z] = launchGrid(gridOf(name, problem), recorded->schedule);
    const auto record = [program = recorded->program](const Sizes &) -> Expected<Program> { return program; };
    kernels.push_back(
        KernelSpec::ofPrograms(name, std::move(*arguments), record).grid(x, y, z).defaults(recorded->schedule));
  }
  return PlanSpec(std::string(toString(problem.algorithm)), std::move(kernels));
}

} // namespace tegula
