// SPDX-License-Identifier: MIT
#ifdef WITHOUT_LAUNCH
#define cuLaunchKernel cuLaunchKernelOfTheFuture
#endif
#include "cuda_abi.h"
#include "stand_in.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <forward_list>
#include <iterator>
#include <map>
#include <mutex>

using namespace tegula::cuda;

namespace tegula::cuda {

struct CUctx_st {
  int gpu = 0;
  int retained = 0;
};

struct CUfunc_st {
  std::string name;
  int registers = 32;
  int maxThreads = 1024;
  int staticSharedBytes = 0;
  int maxDynamicBytes = 48 * 1024;
};

struct CUmod_st {
  std::forward_list<CUfunc_st> functions;
};

struct CUevent_st {
  int64_t time = -1;
};

} // namespace tegula::cuda

namespace {

constexpr int kMaxGpus = 4;

struct Failure {
  int result;
  int nth;
};

// Recording allocates nothing, so that tests can count what the runtime allocates.

struct Record {
  std::array<const char *, 1 << 16> calls;
  size_t count = 0;
};

struct LaunchRecord {
  std::array<char, 64> function;
  int gpu;
  std::array<unsigned, 6> sizes;
  unsigned sharedBytes;
  void *stream;
  std::array<int64_t, 1024> words;
  size_t count;
};

struct State {
  std::mutex mutex;
  int gpus = 1;
  int major = 9, minor = 0;
  CUfunc_st function; ///< The function that cuModuleGetFunction returns, except for its name.
  std::map<std::string, Failure, std::less<>> failures;
  Record record;
  std::array<CUctx_st, kMaxGpus> contexts;
  std::vector<void *> memory;
  std::vector<CUmodule> modules;
  std::vector<CUevent> events;
  int64_t time = 0;
  LaunchRecord launch;
};

State state;
thread_local std::array<CUcontext, 64> stack;
thread_local size_t depth = 0;

CUcontext current() { return depth == 0 ? nullptr : stack[depth - 1]; }

/// Records a call. Returns the failure that a test has set for it. The caller holds the mutex.
CUresult enter(const char *entryPoint) {
  if (state.record.count < state.record.calls.size())
    state.record.calls[state.record.count++] = entryPoint;
  const auto failure = state.failures.find(std::string_view(entryPoint));
  if (failure == state.failures.end() || --failure->second.nth > 0)
    return CUDA_SUCCESS;
  const CUresult result = failure->second.result;
  state.failures.erase(failure);
  return result;
}

/// Begins an entry point that needs no context.
#define ENTER()                                                                                                        \
  const std::lock_guard lock(state.mutex);                                                                             \
  if (const CUresult failure = enter(__func__); failure != CUDA_SUCCESS)                                               \
  return failure

#define ENTER_IN_CONTEXT()                                                                                             \
  ENTER();                                                                                                             \
  if (current() == nullptr || current()->retained == 0)                                                                \
  return CUDA_ERROR_INVALID_CONTEXT

template <class T> bool take(std::vector<T> &from, T value) {
  const auto found = std::find(from.begin(), from.end(), value);
  if (found == from.end())
    return false;
  from.erase(found);
  return true;
}

template <class T, class Free> void clear(std::vector<T> &list, Free free) {
  std::for_each(list.begin(), list.end(), free);
  list.clear();
}

template <class T> T *make(std::vector<T *> &list, T value) {
  list.push_back(new T(std::move(value)));
  return list.back();
}

int attributeOf(CUdevice_attribute attribute) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return 1980000;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return 132;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 2619000;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 5120;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 50 << 20;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return state.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return state.minor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return 228 * 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return 227 * 1024;
  }
  return 0;
}

void recordExtra(void **extra) {
  const size_t bytes = *static_cast<const size_t *>(extra[3]);
  std::memcpy(state.launch.words.data(), extra[1], bytes);
  state.launch.count = bytes / sizeof(int64_t);
}

void recordParameters(void **parameters) {
  for (; *parameters != nullptr; ++parameters)
    std::memcpy(&state.launch.words[state.launch.count++], *parameters, sizeof(int64_t));
}

bool isExtra(void **extra) {
  return extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER && extra[2] == CU_LAUNCH_PARAM_BUFFER_SIZE &&
         extra[4] == CU_LAUNCH_PARAM_END;
}

void *optionValue(unsigned count, const CUjit_option *options, void **values, CUjit_option option) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == option)
      return values[i];
  return nullptr;
}

struct ErrorText {
  CUresult result;
  const char *name;
  const char *text;
};

constexpr ErrorText kErrors[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX version is too new"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while capturing"},
};

CUresult findText(CUresult result, const char *ErrorText::*member, const char **text) {
  for (const ErrorText &error : kErrors)
    if (error.result == result) {
      *text = error.*member;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

} // namespace

namespace stand_in {

void reset() {
  const std::lock_guard lock(state.mutex);
  state.gpus = 1;
  state.major = 9;
  state.minor = 0;
  state.function = {};
  state.failures.clear();
  for (CUctx_st &context : state.contexts)
    context.retained = 0;
  clear(state.memory, [](void *memory) { std::free(memory); });
  clear(state.modules, [](CUmodule module) { delete module; });
  clear(state.events, [](CUevent event) { delete event; });
  state.record.count = 0;
  state.launch = {};
}

void setGpus(int count) { state.gpus = count; }

void setCapability(int major, int minor) {
  state.major = major;
  state.minor = minor;
}

void setFunction(int registers, int maxThreads, int staticSharedBytes) {
  state.function.registers = registers;
  state.function.maxThreads = maxThreads;
  state.function.staticSharedBytes = staticSharedBytes;
}

void fail(const std::string &entryPoint, int result, int nth) { state.failures[entryPoint] = {result, nth}; }

std::vector<std::string> calls() {
  const std::lock_guard lock(state.mutex);
  return {state.record.calls.begin(), state.record.calls.begin() + state.record.count};
}

void forgetCalls() { state.record.count = 0; }

Alive alive() {
  const std::lock_guard lock(state.mutex);
  Alive alive{.allocations = static_cast<int>(state.memory.size()),
              .modules = static_cast<int>(state.modules.size()),
              .events = static_cast<int>(state.events.size())};
  for (const CUctx_st &context : state.contexts)
    alive.contexts += context.retained;
  return alive;
}

std::vector<int> currentGpus() {
  std::vector<int> gpus;
  for (size_t i = 0; i < depth; ++i)
    gpus.push_back(stack[i]->gpu);
  return gpus;
}

void pushContext(int gpu) { stack[depth++] = &state.contexts[gpu]; }
void popContext() { --depth; }

Launch lastLaunch() {
  const std::lock_guard lock(state.mutex);
  const LaunchRecord &launch = state.launch;
  return {.function = launch.function.data(),
          .gpu = launch.gpu,
          .grid = {launch.sizes.begin(), launch.sizes.begin() + 3},
          .block = {launch.sizes.begin() + 3, launch.sizes.end()},
          .sharedBytes = launch.sharedBytes,
          .stream = launch.stream,
          .words = {launch.words.begin(), launch.words.begin() + launch.count}};
}

} // namespace stand_in

extern "C" {

CUresult cuInit(unsigned) {
  ENTER();
  return state.gpus == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  ENTER();
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **name) {
  ENTER();
  return findText(result, &ErrorText::name, name);
}

CUresult cuGetErrorString(CUresult result, const char **text) {
  ENTER();
  return findText(result, &ErrorText::text, text);
}

CUresult cuDeviceGetCount(int *count) {
  ENTER();
  *count = state.gpus;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  ENTER();
  if (ordinal < 0 || ordinal >= state.gpus)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
  ENTER();
  const std::string text = "Stand-in GPU " + std::to_string(device);
  name[text.copy(name, bytes - 1)] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device) {
  ENTER();
  const std::string text = "0000:0" + std::to_string(device) + ":00.0";
  id[text.copy(id, bytes - 1)] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  ENTER();
  *bytes = size_t{80} << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  ENTER();
  *value = attributeOf(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ENTER();
  *context = &state.contexts[device];
  (*context)->gpu = device;
  ++(*context)->retained;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const std::lock_guard lock(state.mutex);
  --state.contexts[device].retained;
  return enter(__func__);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  ENTER();
  *context = current();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER();
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  const std::lock_guard lock(state.mutex);
  if (depth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = stack[--depth];
  return enter(__func__);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  ENTER_IN_CONTEXT();
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  void *memory = bytes > size_t{80} << 30 ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state.memory.push_back(memory);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  const std::lock_guard lock(state.mutex);
  const bool isCurrent = current() != nullptr && current()->retained > 0;
  auto *memory = reinterpret_cast<void *>(address);
  if (!isCurrent || !take(state.memory, memory))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return enter(__func__);
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  ENTER_IN_CONTEXT();
  *available = size_t{79} << 30;
  *total = size_t{80} << 30;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream) {
  ENTER_IN_CONTEXT();
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  ENTER_IN_CONTEXT();
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  ENTER_IN_CONTEXT();
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream) {
  ENTER_IN_CONTEXT();
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  ENTER_IN_CONTEXT();
  *event = make(state.events, CUevent_st{});
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  const std::lock_guard lock(state.mutex);
  if (!take(state.events, event))
    return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return enter(__func__);
}

/// Records the time of a clock that ticks once a millisecond, at each record.
CUresult cuEventRecord(CUevent event, CUstream) {
  ENTER_IN_CONTEXT();
  event->time = state.time++;
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent) {
  ENTER_IN_CONTEXT();
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent stop) {
  ENTER_IN_CONTEXT();
  if (start->time < 0 || stop->time < 0)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = static_cast<float>(stop->time - start->time);
  return CUDA_SUCCESS;
}

/// Refuses PTX that contains the word "wrong".
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  ENTER_IN_CONTEXT();
  const char *text = static_cast<const char *>(image);
  if (std::strstr(text, "wrong") != nullptr) {
    auto *log = static_cast<char *>(optionValue(count, options, values, CU_JIT_ERROR_LOG_BUFFER));
    const auto bytes =
        reinterpret_cast<size_t>(optionValue(count, options, values, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
    std::strncpy(log, "ptxas application ptx input, line 1; fatal : Parsing error near 'wrong'\n", bytes);
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = make(state.modules, CUmod_st{});
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  const std::lock_guard lock(state.mutex);
  if (current() == nullptr || !take(state.modules, module))
    return CUDA_ERROR_INVALID_HANDLE;
  delete module;
  return enter(__func__);
}

/// Finds every name except "absent".
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  ENTER_IN_CONTEXT();
  if (std::strcmp(name, "absent") == 0)
    return CUDA_ERROR_NOT_FOUND;
  module->functions.push_front(state.function);
  *function = &module->functions.front();
  (*function)->name = name;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  ENTER_IN_CONTEXT();
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = function->maxThreads;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = function->staticSharedBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = 16;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = function->registers;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->maxDynamicBytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER_IN_CONTEXT();
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_ERROR_INVALID_VALUE;
  function->maxDynamicBytes = value;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction, int threads, size_t) {
  ENTER_IN_CONTEXT();
  *blocks = 1024 / threads;
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType, unsigned rank, void *address,
                                const unsigned long long *sizes, const unsigned long long *, const unsigned *box,
                                const unsigned *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  ENTER_IN_CONTEXT();
  const uint64_t words[] = {reinterpret_cast<uintptr_t>(address), rank, sizes[0], box[1]};
  std::memcpy(map, words, sizeof words);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                        void **extra) {
  ENTER_IN_CONTEXT();
  const bool fits = gridY <= 65535 && gridZ <= 65535 && static_cast<int>(blockX) <= function->maxThreads &&
                    static_cast<int>(sharedBytes) <= function->maxDynamicBytes;
  if (!fits || (extra != nullptr && !isExtra(extra)) || (extra != nullptr && parameters != nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  state.launch = {.function = {},
                  .gpu = current()->gpu,
                  .sizes = {gridX, gridY, gridZ, blockX, blockY, blockZ},
                  .sharedBytes = sharedBytes,
                  .stream = stream,
                  .words = {},
                  .count = 0};
  function->name.copy(state.launch.function.data(), state.launch.function.size() - 1);
  if (extra != nullptr)
    recordExtra(extra);
  else if (parameters != nullptr)
    recordParameters(parameters);
  return CUDA_SUCCESS;
}
}
