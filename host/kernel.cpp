// SPDX-License-Identifier: MIT
#include "kernel.h"

struct tegula_kernel {
  std::shared_ptr<tegula::HostContext> host;
  std::shared_ptr<tegula::Kernel> kernel;
};

namespace tegula {
namespace {

static_assert(TEGULA_SCALAR_F32 == 1 + TEGULA_F32, "a scalar's kind is found by its dtype");
static_assert(sizeof(tegula_argument) == 16 && sizeof(tegula_tensor) == 96, "structures in arrays never change");

std::string nameOf(size_t index) { return "arguments[" + std::to_string(index) + "]"; }

Expected<Argument> readArgument(const tegula_argument &from, size_t index) {
  switch (from.kind) {
  case TEGULA_TENSOR: {
    if (from.value.tensor == nullptr)
      return nullArgument(nameOf(index).c_str());
    const Expected<TensorRef> tensor = readTensor(nameOf(index).c_str(), *from.value.tensor);
    return tensor ? Expected<Argument>(Argument(*tensor)) : tensor.status();
  }
  case TEGULA_SCALAR_F32:
    return Argument(from.value.f32);
  case TEGULA_SCALAR_I32:
    return Argument(from.value.i32);
  case TEGULA_SCALAR_I64:
    return Argument(from.value.i64);
  default:
    return Status(ErrorCode::invalid_argument,
                  "argument '" + nameOf(index) + "': its kind is " + std::to_string(from.kind) +
                      "; legal are TEGULA_TENSOR (0), TEGULA_SCALAR_F32 (1), _I32 (2) and _I64 (3)");
  }
}

int32_t kindOf(const Parameter &parameter) {
  if (parameter.kind == Parameter::Kind::tensor)
    return TEGULA_TENSOR;
  return parameter.dtype == f32 ? TEGULA_SCALAR_F32 : parameter.dtype == i32 ? TEGULA_SCALAR_I32 : TEGULA_SCALAR_I64;
}

} // namespace

Status ArgumentList::read(const tegula_argument *arguments, size_t count) {
  if (arguments == nullptr && count > 0)
    return nullArgument("arguments");
  arguments_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const Expected<Argument> argument = readArgument(arguments[i], i);
    if (!argument)
      return argument.status();
    arguments_.push_back(*argument);
  }
  return {};
}

Expected<std::shared_ptr<Kernel>> getKernel(HostContext &host, const char *text, size_t size, const char *schedule) {
  if (text == nullptr)
    return nullArgument("text");
  const Expected<Schedule> parsed = parseSchedule(schedule != nullptr ? schedule : "");
  if (!parsed)
    return parsed.status();
  return host.kernels().get(std::string_view(text, size), *parsed);
}

Status describe(std::span<const Parameter> parameters, size_t index, tegula_parameter *to) {
  TEGULA_RETURN_IF_ERROR(readStruct("parameter", to).status());
  if (index >= parameters.size())
    return {ErrorCode::invalid_argument, "argument 'index': it is " + std::to_string(index) + "; there are " +
                                             std::to_string(parameters.size()) + " parameters"};
  const Parameter &parameter = parameters[index];
  tegula_parameter all{};
  all.struct_size = to->struct_size;
  all.kind = kindOf(parameter);
  all.dtype = static_cast<int32_t>(parameter.dtype);
  all.rank = parameter.rank;
  all.written = parameter.written;
  all.name = parameter.name.c_str();
  std::memcpy(to, &all, std::min<size_t>(to->struct_size, sizeof all));
  return {};
}

} // namespace tegula

using namespace tegula;

extern "C" {

tegula_status tegula_kernel_create(tegula_context *context, const char *text, size_t text_size, const char *schedule,
                                   tegula_kernel **kernel, tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (context == nullptr || kernel == nullptr)
      return nullArgument(context == nullptr ? "context" : "kernel");
    Expected<std::shared_ptr<Kernel>> made = getKernel(*context->host, text, text_size, schedule);
    if (!made)
      return made.status();
    *kernel = new tegula_kernel{context->host, std::move(*made)};
    return {};
  });
}

void tegula_kernel_destroy(tegula_kernel *kernel) { delete kernel; }

size_t tegula_kernel_parameter_count(const tegula_kernel *kernel) {
  return kernel != nullptr ? kernel->kernel->parameters().size() : 0;
}

tegula_status tegula_kernel_parameter(const tegula_kernel *kernel, size_t index, tegula_parameter *parameter,
                                      tegula_error **error) {
  return answer(error, [&]() -> Status {
    return kernel != nullptr ? describe(kernel->kernel->parameters(), index, parameter) : nullArgument("kernel");
  });
}

int64_t tegula_kernel_concurrency(const tegula_kernel *kernel) {
  return kernel != nullptr ? kernel->kernel->concurrency() : 0;
}

tegula_status tegula_kernel_launch(const tegula_kernel *kernel, const int64_t grid[3], const tegula_argument *arguments,
                                   size_t argument_count, void *stream, tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (kernel == nullptr || grid == nullptr)
      return nullArgument(kernel == nullptr ? "kernel" : "grid");
    ArgumentList list;
    TEGULA_RETURN_IF_ERROR(list.read(arguments, argument_count));
    return kernel->kernel->launch({.x = grid[0], .y = grid[1], .z = grid[2]}, list.all(), Stream{stream});
  });
}
}
