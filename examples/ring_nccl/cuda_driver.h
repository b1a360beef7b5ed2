// SPDX-License-Identifier: MIT
// The part of the CUDA driver API that the ring uses. It is declared here, and the driver is loaded at run time, so
// that building needs no CUDA toolkit. https://docs.nvidia.com/cuda/cuda-driver-api describes each function.
#pragma once

#include <cstddef>

struct CudaDriver {
  using Result = int; // CUresult; 0 is success.
  using Context = struct CUctx_st *;
  using Stream = struct CUstream_st *;
  using Event = struct CUevent_st *;
  using Address = unsigned long long; // CUdeviceptr

  static constexpr Result kNotReady = 600;                         // CUDA_ERROR_NOT_READY
  static constexpr unsigned kNonBlocking = 1;                      // CU_STREAM_NON_BLOCKING
  static constexpr unsigned kDefaultEvent = 0, kDisableTiming = 2; // CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING

  Result (*cuInit)(unsigned flags);
  Result (*cuGetErrorString)(Result error, const char **text);
  Result (*cuDeviceGetCount)(int *count);
  Result (*cuDeviceGet)(int *device, int ordinal);
  Result (*cuDevicePrimaryCtxRetain)(Context *context, int device);
  Result (*cuCtxSetCurrent)(Context context);
  Result (*cuCtxSynchronize)();
  Result (*cuCtxGetStreamPriorityRange)(int *least, int *greatest);
  Result (*cuStreamCreateWithPriority)(Stream *stream, unsigned flags, int priority);
  Result (*cuStreamWaitEvent)(Stream stream, Event event, unsigned flags);
  Result (*cuEventCreate)(Event *event, unsigned flags);
  Result (*cuEventRecord)(Event event, Stream stream);
  Result (*cuEventQuery)(Event event);
  Result (*cuEventElapsedTime)(float *milliseconds, Event begin, Event end);
  Result (*cuMemAlloc)(Address *address, size_t bytes);
  Result (*cuMemFree)(Address address);
  Result (*cuMemsetD8)(Address address, unsigned char value, size_t count);
  Result (*cuMemcpyHtoD)(Address to, const void *from, size_t bytes);
  Result (*cuMemcpyDtoH)(void *to, Address from, size_t bytes);
};

/// Returns the functions of the driver, which is loaded and initialised once. Ends the process if there is no driver.
const CudaDriver &cudaDriver();

/// Ends the process if `result` is an error of `call`.
void require(CudaDriver::Result result, const char *call);
