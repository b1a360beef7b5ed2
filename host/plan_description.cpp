// SPDX-License-Identifier: MIT
#include "plan_description.h"

#include "kernel.h"

#include <algorithm>
#include <optional>

namespace tegula {
namespace {

constexpr std::string_view kSpace = " \t\n";

Status wrong(const std::string &argument, std::string_view text, const std::string &problem) {
  return {ErrorCode::invalid_argument, "argument '" + argument + "': '" + std::string(text) + "' " + problem};
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Parses sizes that are separated by commas outside parentheses.
Expected<std::vector<Size>> parseSizes(const std::string &argument, std::string_view text) {
  std::vector<Size> sizes;
  int depth = 0;
  size_t first = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    depth += i < text.size() ? (text[i] == '(') - (text[i] == ')') : 0;
    if (i < text.size() && (text[i] != ',' || depth != 0))
      continue;
    const std::string_view word = trimmed(text.substr(first, i - first));
    Expected<Size> size = parseSize(word);
    if (!size)
      return wrong(argument, word, "is no size: " + size.status().message());
    sizes.push_back(std::move(*size));
    first = i + 1;
  }
  return sizes;
}

Expected<Size> parseOneSize(const std::string &argument, std::string_view text) {
  Expected<std::vector<Size>> sizes = parseSizes(argument, text);
  if (!sizes)
    return sizes.status();
  return sizes->size() == 1 ? Expected<Size>(std::move(sizes->front()))
                            : wrong(argument, text, "is more than one size");
}

/// The part of a tensor's description that a program does not have.
struct DescribedTensor {
  std::string argument; ///< For errors.
  std::string_view name;
  std::vector<Size> shape;
  bool isWorkspace = false, isZeroed = false;
  bool isUsed = false;
};

/// Parses "[workspace|zeroed] NAME[SIZES]".
Expected<DescribedTensor> parseTensor(std::string argument, std::string_view text) {
  text = trimmed(text);
  const size_t bracket = text.find('[');
  if (bracket == text.npos || text.back() != ']')
    return wrong(argument, text, "is not of the form \"a[m, 2 * k]\", \"workspace a[m]\" or \"zeroed a[m]\"");
  DescribedTensor tensor{.argument = argument, .name = trimmed(text.substr(0, bracket)), .shape = {}};
  if (const size_t space = tensor.name.find_first_of(kSpace); space != tensor.name.npos) {
    const std::string_view word = tensor.name.substr(0, space);
    tensor.isZeroed = word == "zeroed";
    tensor.isWorkspace = tensor.isZeroed || word == "workspace";
    if (!tensor.isWorkspace)
      return wrong(argument, word, "is no kind of tensor; legal are workspace and zeroed");
    tensor.name = trimmed(tensor.name.substr(space));
  }
  Expected<std::vector<Size>> shape = parseSizes(argument, text.substr(bracket + 1, text.size() - bracket - 2));
  if (!shape)
    return shape.status();
  tensor.shape = std::move(*shape);
  return tensor;
}

class Maker {
public:
  Maker(HostContext &host, const tegula_plan_description &from) : host_(host), from_(from) {}

  Expected<Plan> make() {
    if (from_.steps == nullptr || from_.step_count == 0)
      return from_.steps == nullptr ? nullArgument("steps") : wrong("step_count", "0", "is not 1 or more");
    TEGULA_RETURN_IF_ERROR(readTensors());
    std::vector<KernelSpec> kernels;
    for (size_t i = 0; i < from_.step_count; ++i) {
      Expected<KernelSpec> kernel = readStep(from_.steps[i], "steps[" + std::to_string(i) + "]");
      if (!kernel)
        return kernel.status();
      kernels.push_back(std::move(*kernel));
    }
    for (const DescribedTensor &tensor : tensors_)
      if (!tensor.isUsed)
        return wrong(tensor.argument, tensor.name, "is a parameter of no program; parameters are " + parameterNames_);
    const std::string name = kernels.front().name();
    Expected<PlanSpec> spec = withChoices(PlanSpec(name, std::move(kernels)).preparation(from_.preparation_count));
    return spec ? Plan::make(*spec, host_.kernels()) : spec.status();
  }

private:
  Status readTensors() {
    if (from_.tensors == nullptr && from_.tensor_count > 0)
      return nullArgument("tensors");
    for (size_t i = 0; i < from_.tensor_count; ++i) {
      const std::string argument = "tensors[" + std::to_string(i) + "]";
      if (from_.tensors[i] == nullptr)
        return nullArgument(argument.c_str());
      Expected<DescribedTensor> tensor = parseTensor(argument, from_.tensors[i]);
      if (!tensor)
        return tensor.status();
      if (find(tensor->name) != nullptr)
        return wrong(argument, tensor->name, "is described twice");
      tensors_.push_back(std::move(*tensor));
    }
    return {};
  }

  DescribedTensor *find(std::string_view name) {
    const auto found = std::ranges::find(tensors_, name, &DescribedTensor::name);
    return found != tensors_.end() ? &*found : nullptr;
  }

  Expected<KernelSpec> readStep(const tegula_plan_step &step, const std::string &argument) {
    Expected<std::shared_ptr<Kernel>> kernel = getKernel(host_, step.text, step.text_size, step.schedule);
    if (!kernel)
      return kernel.status();
    std::vector<ArgumentSpec> arguments;
    for (const Parameter &parameter : (*kernel)->parameters()) {
      Expected<ArgumentSpec> read = readParameter(parameter, argument);
      if (!read)
        return read.status();
      arguments.push_back(std::move(*read));
    }
    if (step.grid == nullptr)
      return nullArgument((argument + ".grid").c_str());
    Expected<std::vector<Size>> grid = parseSizes(argument + ".grid", step.grid);
    if (!grid)
      return grid.status();
    if (grid->size() > 3)
      return wrong(argument + ".grid", step.grid, "has more than three axes");
    grid->resize(3, Size(1));
    Expected<Size> when = parseOneSize(argument + ".when", step.when != nullptr ? step.when : "1");
    if (!when)
      return when.status();
    const auto program = [name = (*kernel)->name(), text = std::string(step.text, step.text_size),
                          parameters = (*kernel)->parameters()](const Sizes &) -> Expected<Program> {
      return Program{.name = name, .text = text, .parameters = parameters};
    };
    return KernelSpec::ofPrograms({(*kernel)->name(), Location()}, std::move(arguments), program)
        .grid((*grid)[0], (*grid)[1], (*grid)[2])
        .when(std::move(*when))
        .defaults(*parseSchedule(step.schedule != nullptr ? step.schedule : ""));
  }

  Expected<ArgumentSpec> readParameter(const Parameter &parameter, const std::string &step) {
    parameterNames_ += (parameterNames_.empty() ? "" : ", ") + parameter.name;
    if (parameter.kind == Parameter::Kind::scalar)
      return ArgumentSpec(scalar(parameter.name, parameter.dtype, Location()));
    if (parameter.counter) // Each launch sets it to 0.
      return ArgumentSpec(workspace(parameter.name, parameter.dtype, {1}, Location()));
    DescribedTensor *tensor = find(parameter.name);
    if (tensor == nullptr)
      return wrong("tensors", parameter.name,
                   "is missing: the program of " + step + " has it, of rank " + std::to_string(parameter.rank));
    if (tensor->shape.size() != static_cast<size_t>(parameter.rank))
      return wrong(tensor->argument, tensor->name,
                   "has " + std::to_string(tensor->shape.size()) + " sizes; the program of " + step + " has rank " +
                       std::to_string(parameter.rank));
    tensor->isUsed = true;
    TensorSpec spec{.name = parameter.name, .dtype = parameter.dtype, .shape = tensor->shape};
    // A caller's tensor that one kernel writes and another one reads is the same argument of both.
    spec.access = tensor->isWorkspace ? Access::workspace : parameter.written ? Access::inout : Access::input;
    spec.zeroed = tensor->isZeroed;
    return ArgumentSpec(std::move(spec));
  }

  Expected<PlanSpec> withChoices(PlanSpec spec) const {
    if (from_.choices == nullptr && from_.choice_count > 0)
      return nullArgument("choices");
    for (size_t i = 0; i < from_.choice_count; ++i) {
      const std::string argument = "choices[" + std::to_string(i) + "]";
      if (from_.choices[i] == nullptr)
        return nullArgument(argument.c_str());
      const std::string_view text = from_.choices[i];
      const size_t equals = text.find('=');
      if (equals == text.npos)
        return wrong(argument, text, "is not of the form \"splits = ceildiv(n, 256)\"");
      Expected<Size> otherwise = parseOneSize(argument, text.substr(equals + 1));
      if (!otherwise)
        return otherwise.status();
      std::move(spec).choice(std::string(trimmed(text.substr(0, equals))), std::move(*otherwise));
    }
    return spec;
  }

  HostContext &host_;
  const tegula_plan_description &from_;
  std::vector<DescribedTensor> tensors_;
  std::string parameterNames_; ///< Names in all programs, for an error.
};

} // namespace

Expected<Plan> makePlan(HostContext &host, const tegula_plan_description &description) {
  return Maker(host, description).make();
}

} // namespace tegula
