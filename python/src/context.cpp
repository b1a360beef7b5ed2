// SPDX-License-Identifier: MIT
#include "context.h"

#include <torch/csrc/stable/ops.h>

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>

namespace tegula_torch {
namespace {

using torch::headeronly::DeviceType;

/// Returns a function of libtorch_cuda.so, which only a PyTorch with CUDA has loaded. Our file does not link it, so
/// that it also loads without CUDA.
template <class Function> Function cudaFunction(const char *name) {
  static void *const library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  void *address = library != nullptr ? dlsym(library, name) : nullptr;
  if (address == nullptr)
    throw std::runtime_error(std::string("this PyTorch has no CUDA: there is no ") + name + " in libtorch_cuda.so");
  return reinterpret_cast<Function>(address);
}

/// PyTorch's caching allocator, on the current stream of the current device. An operator makes the device of its
/// tensors the current one.
struct CachingAllocator {
  AOTITorchError (*allocate)(uint64_t, void **);
  AOTITorchError (*release)(void *);
};

/// Hooks must not throw, so makeContext finds the functions. `user` is the allocator.
void *allocate(void *user, int64_t bytes, void *) {
  void *memory = nullptr;
  const auto *allocator = static_cast<const CachingAllocator *>(user);
  return allocator->allocate(uint64_t(bytes), &memory) == AOTI_TORCH_SUCCESS ? memory : nullptr;
}

void release(void *user, void *memory, int64_t, void *) {
  static_cast<const CachingAllocator *>(user)->release(memory);
}

tegula_context *makeContext(bool isCuda, int32_t ordinal) {
  tegula_context_options options{};
  options.struct_size = sizeof options;
  tegula_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  options.device = isCuda ? TEGULA_CUDA : TEGULA_CPU;
  options.ordinal = ordinal;
  if (isCuda) {
    static CachingAllocator allocator = {
        cudaFunction<AOTITorchError (*)(uint64_t, void **)>("aoti_torch_cuda_caching_allocator_raw_alloc"),
        cudaFunction<AOTITorchError (*)(void *)>("aoti_torch_cuda_caching_allocator_raw_delete")};
    hooks.user = &allocator;
    hooks.allocate = allocate;
    hooks.release = release;
    options.hooks = &hooks;
  } else {
    options.threads = int32_t(torch::stable::get_num_threads());
  }
  tegula_context *context = nullptr;
  tegula_error *error = nullptr;
  check(tegula_context_create(&options, &context, &error), error);
  return context;
}

} // namespace

void check(tegula_status status, tegula_error *&error) {
  if (status == TEGULA_OK)
    return;
  const std::string message = tegula_error_message(error);
  tegula_error_free(error);
  throw std::runtime_error(message);
}

tegula_context *contextOf(const Tensor &tensor) {
  static std::mutex mutex;
  static std::map<int32_t, tegula_context *> contexts;
  const auto device = tensor.device();
  const bool isCuda = device.type() == DeviceType::CUDA;
  if (!isCuda && device.type() != DeviceType::CPU)
    throw std::runtime_error("tegula computes on CPUs and CUDA devices");
  const int32_t ordinal = isCuda ? device.index() : -1;
  const std::lock_guard lock(mutex);
  tegula_context *&context = contexts[ordinal];
  if (context == nullptr)
    context = makeContext(isCuda, ordinal);
  return context;
}

std::optional<torch::stable::accelerator::DeviceGuard> guardFor(const Tensor &tensor) {
  if (!tensor.is_cuda())
    return std::nullopt;
  return std::optional<torch::stable::accelerator::DeviceGuard>(std::in_place, tensor.get_device_index());
}

void *streamOf(const Tensor &tensor) {
  if (!tensor.is_cuda())
    return nullptr;
  static const auto currentStream =
      cudaFunction<AOTITorchError (*)(int32_t, void **)>("aoti_torch_get_current_cuda_stream");
  void *stream = nullptr;
  TORCH_ERROR_CODE_CHECK(currentStream(tensor.get_device_index(), &stream));
  return stream;
}

} // namespace tegula_torch
