// SPDX-License-Identifier: MIT
#include "cuda_driver.h"

namespace tegula::cuda {
namespace {

ErrorCode codeOf(CUresult result, ErrorCode otherwise) {
  if (isFatal(result))
    return ErrorCode::device_lost;
  if (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    return ErrorCode::invalid_argument;
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return ErrorCode::resource_exhausted;
  case CUDA_ERROR_INVALID_CONTEXT: // A stream of another context, or one that was destroyed.
  case CUDA_ERROR_INVALID_HANDLE:
    return ErrorCode::invalid_argument;
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_NOT_SUPPORTED:
    return ErrorCode::unsupported;
  default:
    return otherwise;
  }
}

} // namespace

bool isFatal(CUresult result) noexcept {
  switch (result) {
  case CUDA_ERROR_DEINITIALIZED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return true;
  default:
    return false;
  }
}

SystemLibrary Driver::library() {
  return {.what = "CUDA driver",
          .variable = "TEGULA_LIBCUDA",
          .files = {"libcuda.so.1"},
          .needed = "a driver of CUDA 11.0 or newer"};
}

std::vector<Binding> Driver::bindings() {
  return {
#define TEGULA_FUNCTION(name, parameters) {#name, reinterpret_cast<void **>(&name)},
      TEGULA_CUDA_FUNCTIONS(TEGULA_FUNCTION)
#undef TEGULA_FUNCTION
#define TEGULA_FUNCTION(name, parameters) {#name, reinterpret_cast<void **>(&name), true},
          TEGULA_CUDA_NEW_FUNCTIONS(TEGULA_FUNCTION)
#undef TEGULA_FUNCTION
  };
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || cuGetErrorString(result, &text) != CUDA_SUCCESS)
    return "CUDA error " + std::to_string(result);
  return std::string(name) + " (" + text + ")";
}

Status Driver::status(const char *entryPoint, CUresult result, ErrorCode otherwise) const {
  if (result == CUDA_SUCCESS)
    return {};
  std::string message = std::string(entryPoint) + " failed: " + describe(result);
  if (isFatal(result))
    message += "; the GPU's context is lost, and only a new process helps";
  return {codeOf(result, otherwise), std::move(message)};
}

} // namespace tegula::cuda
