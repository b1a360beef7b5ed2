// SPDX-License-Identifier: MIT
#include "cuda_driver.h"

#include "dynamic_library.h"
#include "team.h"

namespace {

CudaDriver load() {
  const DynamicLibrary library("libcuda.so.1");
  CudaDriver driver{};
  library.find(driver.cuInit, "cuInit");
  library.find(driver.cuGetErrorString, "cuGetErrorString");
  library.find(driver.cuDeviceGetCount, "cuDeviceGetCount");
  library.find(driver.cuDeviceGet, "cuDeviceGet");
  library.find(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  library.find(driver.cuCtxSynchronize, "cuCtxSynchronize");
  library.find(driver.cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  library.find(driver.cuStreamCreateWithPriority, "cuStreamCreateWithPriority");
  library.find(driver.cuStreamWaitEvent, "cuStreamWaitEvent");
  library.find(driver.cuEventCreate, "cuEventCreate");
  library.find(driver.cuEventRecord, "cuEventRecord");
  library.find(driver.cuEventQuery, "cuEventQuery");
  library.find(driver.cuEventElapsedTime, "cuEventElapsedTime");
  library.find(driver.cuMemAlloc, "cuMemAlloc_v2");
  library.find(driver.cuMemFree, "cuMemFree_v2");
  library.find(driver.cuMemsetD8, "cuMemsetD8_v2");
  library.find(driver.cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  library.find(driver.cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  return driver;
}

} // namespace

const CudaDriver &cudaDriver() {
  static const CudaDriver driver = load();
  static const CudaDriver::Result initialised = driver.cuInit(0);
  if (initialised != 0)
    fail("cuInit: error " + std::to_string(initialised) + " of the CUDA driver");
  return driver;
}

void require(CudaDriver::Result result, const char *call) {
  if (result == 0)
    return;
  const char *text = nullptr;
  cudaDriver().cuGetErrorString(result, &text);
  fail(std::string(call) + ": " + (text != nullptr ? text : "error " + std::to_string(result)));
}
