// SPDX-License-Identifier: MIT
#include "attention_spec.h"

#include "call_arguments.h"
#include "kernel_config.h"
#include "launch_grid.h"
#include "strips.h"
#include "tegula/attention_words.h"
#include "variant_tensors.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tegula {
namespace {

std::vector<Size> shapeOf(const VariantTensor &tensor) {
  std::vector<Size> shape = freeShape(tensor.name, tensor.rank());
  for (size_t axis = 0; axis < tensor.axes.size(); ++axis)
    if (hasSize(tensor.axes[axis]))
      shape[axis] = Size(toString(tensor.axes[axis]));
  if (tensor.last_dim != 0)
    shape.back() = Size(tensor.last_dim);
  return shape;
}

ArgumentSpec describe(const CallArgument &argument, const AttentionProblem &problem) {
  std::vector<Size> shape;
  if (argument.isInPages(problem))
    shape = {Size("pages"), Size(toString(Axis::kv_heads)), Size(problem.page_size)};
  else
    for (Axis axis : argument.axes)
      shape.push_back(Size(hasSize(axis) ? toString(axis) : "entries"));
  if (argument.last_dim != nullptr)
    shape.push_back(argument.last_dim(problem));
  return input(std::string(argument.name), argument.dtypeOf(problem), std::move(shape));
}

/// Returns all arguments that programs of a pass may have.
std::vector<ArgumentSpec> argumentsOf(const AttentionProblem &problem, Pass pass) {
  const Size batch("batch"), heads("heads"), seqlen_q("seqlen_q");
  const std::vector<Size> statistic = {batch, heads, seqlen_q}, scores = {batch, heads, seqlen_q, Size("seqlen_k")};
  const auto rows = [&](int columns) -> std::vector<Size> { return {batch, heads, seqlen_q, columns}; };
  std::vector<ArgumentSpec> all = {scalar("scale", f32)};
  for (std::span<const CallArgument> arguments : {usualArguments(), optionalArguments()})
    for (const CallArgument &argument : arguments)
      if (argument.isIn(pass))
        all.push_back(describe(argument, problem));
  for (const char *list : {"visit_tiles", "visit_counts", "visit_ranks", "block_states"})
    all.push_back(input(list, i32, freeShape(list, 4)));
  for (const VariantTensor &tensor : problem.variant.tensors) {
    const bool isOffsets = problem.variant.sequences && (tensor.name == kQueryOffsets || tensor.name == kKeyOffsets);
    const std::vector<Size> shape = isOffsets ? std::vector{Size("offsets")} : shapeOf(tensor);
    all.push_back(input(tensor.name, inMemory(tensor.dtype), shape));
  }
  if (pass == Pass::forward) {
    all.insert(all.end(), {workspace("s", f32, scores), workspace("p", f32, scores), workspace("m", f32, statistic),
                           workspace("l", f32, statistic), workspace("acc", f32, rows(problem.value_dim)),
                           workspace("counter", i32, {1})});
    return all;
  }
  all.insert(all.end(), {workspace("delta", f32, statistic), workspace("dq_acc", f32, rows(problem.head_dim)),
                         workspace("turns", i32, statistic)});
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (tensor.wants_gradient)
      all.push_back(input("d" + tensor.name, f32, shapeOf(tensor)));
  return all;
}

/// Adds the results of flash2_backward_preprocess, which works on blocks of `block_m` queries. TMA copies the row
/// statistics, which therefore fill whole blocks: a head begins at a multiple of 16 bytes, and the last tile has no row
/// outside. What is written after the last query has no effect, because q and dO are 0 there.
void addPreprocessed(int block_m, std::vector<ArgumentSpec> &all) {
  const Size batch("batch"), heads("heads"), blocks = ceilDiv(Size("seqlen_q"), block_m);
  const std::vector<Size> statistic = {batch, heads, blocks * block_m};
  all.insert(all.end(), {workspace("lse_term", f32, statistic), workspace("dp_init", f32, statistic),
                         workspace("sink_parts", f32, {heads, batch, blocks})});
}

/// Returns the grid of a program. Instances that add one after another alternate between kv heads.
std::array<Size, 3> gridOf(std::string_view name, const AttentionProblem &problem, const Schedule &schedule) {
  const GridRows grid = findAttentionProgram(name)->grid;
  if (grid == GridRows::keys && problem.deterministic)
    return launchGrid(GridRows::ordered_keys, schedule);
  const bool isForward = name == visitorOf(Pass::forward);
  if (!hasStrips(problem, name))
    return launchGrid(grid, schedule);
  const Size length(isForward ? "seqlen_q" : "seqlen_k");
  return launchGrid(grid, schedule,
                    mostStrips(length, isForward ? schedule.block_m : schedule.block_n, Size("offsets")));
}

/// Adds the list of the blocks of a pass, whose main program has `schedule`.
void addStrips(Pass pass, const Schedule &schedule, std::vector<ArgumentSpec> &all) {
  if (pass == Pass::forward)
    all.push_back(workspace("query_strips", i32, {2, 1 + mostStrips(Size("seqlen_q"), schedule.block_m)}));
  else
    all.push_back(workspace("key_strips", i32, {2, 1 + mostStrips(Size("seqlen_k"), schedule.block_n)}));
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

/// Describes a program of a pass whose arguments are among `all`.
Expected<KernelSpec> kernelOf(const AttentionProblem &problem, std::string_view name, const Target &target,
                              const Schedule &given, const TunedConfigurations *tuned,
                              const std::vector<ArgumentSpec> &all) {
  Expected<RecordedKernel> recorded = recordKernel(problem, name, target, given, tuned);
  if (!recorded)
    return recorded.status();
  Expected<std::vector<ArgumentSpec>> arguments = argumentsOf(recorded->program, all);
  if (!arguments)
    return withProblem(arguments.status(), problem);
  const auto [x, y, z] = gridOf(name, problem, recorded->schedule);
  const auto record = [program = recorded->program](const Sizes &) -> Expected<Program> { return program; };
  return KernelSpec::ofPrograms(name, std::move(*arguments), record).grid(x, y, z).defaults(recorded->schedule);
}

/// Returns all arguments that programs of lists may have.
std::vector<ArgumentSpec> argumentsOfLists(const AttentionProblem &problem) {
  const Size batch("list_batch"), heads("list_heads"), strips("strips"), tiles("tiles");
  const std::vector<Size> matrix = {batch, heads, strips, tiles};
  std::vector<ArgumentSpec> all = {
      scalar("num_queries", DType::i64),
      scalar("num_keys", DType::i64),
      zeroed(workspace("tile_states", i32, matrix)),
      input("visit_tiles", i32, matrix),
      input("visit_counts", i32, {batch, heads, strips, 3}),
      input("visit_ranks", i32, matrix),
      input("block_states", i32, {Size("block_batch"), Size("block_heads"), Size("block_rows"), Size("block_columns")}),
      input("kv_num_blocks", i32, freeShape("kv_num_blocks", 3)),
      input("kv_indices", i32, freeShape("kv_indices", 4)),
      input("full_kv_num_blocks", i32, freeShape("full_kv_num_blocks", 3)),
      input("full_kv_indices", i32, freeShape("full_kv_indices", 4))};
  for (const VariantTensor &tensor : problem.variant.tensors)
    all.push_back(input(tensor.name, inMemory(tensor.dtype), freeShape(tensor.name, tensor.rank())));
  all.push_back(input("diagonal_offset", i32, freeShape("diagonal_offset", 1)));
  return all;
}

} // namespace

std::set<std::string> argumentNames() {
  std::set<std::string> names;
  std::vector<ArgumentSpec> preprocessed;
  addPreprocessed(/*block_m=*/1, preprocessed);
  for (const std::vector<ArgumentSpec> &arguments :
       {argumentsOf({}, Pass::forward), argumentsOf({}, Pass::backward), preprocessed, argumentsOfLists({})})
    std::ranges::transform(arguments, std::inserter(names, names.end()), &nameOf);
  return names;
}

Expected<PlanSpec> attentionSpec(const AttentionProblem &problem, Pass pass, const Target &target,
                                 const Schedule &given, const TunedConfigurations *tuned) {
  std::vector<ArgumentSpec> all = argumentsOf(problem, pass);
  if (pass == Pass::backward) {
    const Expected<KernelConfig> writer = resolve(problem, "flash2_backward_preprocess", target, given, tuned);
    if (!writer)
      return writer.status();
    addPreprocessed(writer->schedule.block_m, all);
  }
  if (hasStrips(problem, visitorOf(pass))) {
    const Expected<KernelConfig> visitor = resolve(problem, visitorOf(pass), target, given, tuned);
    if (!visitor)
      return visitor.status();
    addStrips(pass, visitor->schedule, all);
  }
  std::vector<KernelSpec> kernels;
  for (std::string_view name : pass == Pass::forward ? forwardKernels(problem) : backwardKernels(problem)) {
    if (name == "flash2_forward_contain" && target.name == "cpu") // The cpu has nothing to repair.
      continue;
    Expected<KernelSpec> kernel = kernelOf(problem, name, target, given, tuned, all);
    if (!kernel)
      return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  return PlanSpec(std::string(toString(problem.algorithm)), std::move(kernels));
}

Expected<PlanSpec> listSpec(const AttentionProblem &problem, Pass pass, const Target &target, const Schedule &given,
                            const TunedConfigurations *tuned) {
  const std::vector<ArgumentSpec> all = argumentsOfLists(problem);
  std::vector<KernelSpec> kernels;
  for (std::string_view name : listKernels(problem, pass)) {
    Expected<KernelSpec> kernel = kernelOf(problem, name, target, given, tuned, all);
    if (!kernel)
      return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  return PlanSpec("block lists", std::move(kernels));
}

} // namespace tegula
