// SPDX-License-Identifier: MIT
// The part of the CUDA driver's documented binary interface that the runtime uses. Building needs no CUDA headers.
#pragma once

#include <cstddef>

namespace tegula::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_CAPTURED_EVENT = 907,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/// The description of a tensor for TMA. Only the driver knows its contents.
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};

enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
};
enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion : int {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
};
enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

/// Keys of cuLaunchKernel's `extra`.
inline void *const CU_LAUNCH_PARAM_END = nullptr;
inline void *const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void *>(1);
inline void *const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void *>(2);

/// Expands FUNCTION(name, parameters) for each entry point. All entry points return a CUresult. The oldest driver that
/// has them all is that of CUDA 11.0.
#define TEGULA_CUDA_FUNCTIONS(FUNCTION)                                                                                \
  FUNCTION(cuInit, (unsigned flags))                                                                                   \
  FUNCTION(cuDriverGetVersion, (int *version))                                                                         \
  FUNCTION(cuGetErrorName, (CUresult result, const char **name))                                                       \
  FUNCTION(cuGetErrorString, (CUresult result, const char **text))                                                     \
  FUNCTION(cuDeviceGetCount, (int *count))                                                                             \
  FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))                                                              \
  FUNCTION(cuDeviceGetName, (char *name, int bytes, CUdevice device))                                                  \
  FUNCTION(cuDeviceGetPCIBusId, (char *id, int bytes, CUdevice device))                                                \
  FUNCTION(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                                                      \
  FUNCTION(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))                          \
  FUNCTION(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                           \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                            \
  FUNCTION(cuCtxGetCurrent, (CUcontext * context))                                                                     \
  FUNCTION(cuCtxPushCurrent_v2, (CUcontext context))                                                                   \
  FUNCTION(cuCtxPopCurrent_v2, (CUcontext * context))                                                                  \
  FUNCTION(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                                       \
  FUNCTION(cuMemFree_v2, (CUdeviceptr address))                                                                        \
  FUNCTION(cuMemGetInfo_v2, (size_t *available, size_t *total))                                                        \
  FUNCTION(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                    \
  FUNCTION(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                          \
  FUNCTION(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                      \
  FUNCTION(cuStreamSynchronize, (CUstream stream))                                                                     \
  FUNCTION(cuEventCreate, (CUevent * event, unsigned flags))                                                           \
  FUNCTION(cuEventDestroy_v2, (CUevent event))                                                                         \
  FUNCTION(cuEventRecord, (CUevent event, CUstream stream))                                                            \
  FUNCTION(cuEventSynchronize, (CUevent event))                                                                        \
  FUNCTION(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent stop))                                     \
  FUNCTION(cuModuleLoadDataEx,                                                                                         \
           (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values))               \
  FUNCTION(cuModuleUnload, (CUmodule module))                                                                          \
  FUNCTION(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                            \
  FUNCTION(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function))                      \
  FUNCTION(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))                       \
  FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                \
           (int *blocks, CUfunction function, int threads, size_t shared_bytes))                                       \
  FUNCTION(cuLaunchKernel,                                                                                             \
           (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,     \
            unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters, void **extra))

/// Expands FUNCTION in the same way for entry points that only drivers of CUDA 12.0 or newer have.
#define TEGULA_CUDA_NEW_FUNCTIONS(FUNCTION)                                                                            \
  FUNCTION(cuTensorMapEncodeTiled,                                                                                     \
           (CUtensorMap * map, CUtensorMapDataType type, unsigned rank, void *address,                                 \
            const unsigned long long *sizes, const unsigned long long *strides, const unsigned *box,                   \
            const unsigned *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,              \
            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))

} // namespace tegula::cuda
