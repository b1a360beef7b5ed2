// SPDX-License-Identifier: MIT
#include "cuda_context.h"

namespace tegula::cuda {

Expected<std::shared_ptr<Context>> Context::make(const Driver &driver, int ordinal) {
  CUdevice device = 0;
  TEGULA_RETURN_IF_ERROR(driver.status("cuDeviceGet", driver.cuDeviceGet(&device, ordinal), ErrorCode::unsupported));
  const std::shared_ptr<Context> context(new Context(driver, device));
  TEGULA_RETURN_IF_ERROR(driver.status(
      "cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&context->context_, device), ErrorCode::unsupported));
  return context;
}

Context::~Context() {
  if (context_ != nullptr && !fork_.inChild())
    driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

Status Context::failed(const char *entryPoint, CUresult result, ErrorCode otherwise) {
  CUresult none = CUDA_SUCCESS;
  if (isFatal(result))
    fault_.compare_exchange_strong(none, result);
  return driver_.status(entryPoint, result, otherwise);
}

Status Context::refusal() const {
  if (fork_.inChild())
    return forkedAfterUse(Driver::library());
  return {ErrorCode::device_lost,
          "the GPU's context was lost before: " + driver_.describe(fault_) + "; only a new process helps"};
}

} // namespace tegula::cuda
