// SPDX-License-Identifier: MIT
// Lets every call of the driver fail once, at every point of a host's life with a GPU.
#include "cuda_fixture.h"
#include "tegula/cuda_function.h"

#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;

namespace {

template <class T> Status statusOf(const Expected<T> &value) { return value.status(); }

/// Uses everything that the device offers. Returns the first failure.
Status liveWithAGpu() {
  TEGULA_RETURN_IF_ERROR(statusOf(cudaDevices()));
  const auto device = cudaDevice();
  TEGULA_RETURN_IF_ERROR(device.status());
  TEGULA_RETURN_IF_ERROR((*device)->memory().status());
  const Expected<Buffer> buffer = (*device)->allocate(64);
  TEGULA_RETURN_IF_ERROR(buffer.status());
  Artifact artifact = cudaArtifact("kernel");
  artifact.shared_bytes = 64 * 1024;
  const auto kernel = (*device)->load(artifact);
  TEGULA_RETURN_IF_ERROR(kernel.status());
  const auto timer = (*device)->makeTimer();
  TEGULA_RETURN_IF_ERROR(timer.status());
  int value = 7;
  TEGULA_RETURN_IF_ERROR((*timer)->start());
  TEGULA_RETURN_IF_ERROR((*device)->copyToDevice(buffer->data(), &value, sizeof value));
  TEGULA_RETURN_IF_ERROR((*kernel)->launch({1}, {}));
  TEGULA_RETURN_IF_ERROR((*device)->copyToHost(&value, buffer->data(), sizeof value));
  TEGULA_RETURN_IF_ERROR((*timer)->stop());
  TEGULA_RETURN_IF_ERROR((*timer)->milliseconds().status());
  return (*device)->synchronize();
}

/// Calls whose failure is not reported: they free something, or return something that is not needed.
const std::set<std::string> kSilent{"cuMemFree_v2",        "cuModuleUnload",
                                    "cuEventDestroy_v2",   "cuDevicePrimaryCtxRelease_v2",
                                    "cuDeviceGetPCIBusId", "cuCtxGetCurrent"};

using CudaFailure = Cuda;

TEST_F(CudaFailure, IsReportedAndLeavesNothingBehind) {
  ASSERT_TRUE(isOk(liveWithAGpu()));
  std::map<std::string, int> counts;
  for (const std::string &call : stand_in::calls())
    ++counts[call];
  ASSERT_EQ(counts.count("cuLaunchKernel"), 1u);
  for (const auto &[entryPoint, count] : counts)
    for (int nth = 1; nth <= count; ++nth) {
      stand_in::reset();
      stand_in::fail(entryPoint, cuda::CUDA_ERROR_INVALID_VALUE, nth);
      const Status status = liveWithAGpu();
      const std::string expected = entryPoint + " failed: CUDA_ERROR_INVALID_VALUE (invalid argument)";
      const bool isReported = status.message().find(expected) != std::string::npos;
      EXPECT_TRUE(isReported || status.ok()) << status.message();
      EXPECT_TRUE(nth > 1 || isReported != kSilent.contains(entryPoint)) << entryPoint;
      // Objects of a context that cannot be made current are freed with the context.
      const bool isLeftBehind = entryPoint == "cuCtxPushCurrent_v2" && !isReported;
      EXPECT_TRUE(isLeftBehind || stand_in::alive() == stand_in::Alive()) << entryPoint << ' ' << nth;
      EXPECT_EQ(stand_in::currentGpus(), std::vector<int>()) << entryPoint << ' ' << nth;
    }
  EXPECT_OK(liveWithAGpu());
}

TEST_F(CudaFailure, AFaultIsFinalForTheDevice) {
  const auto device = makeCuda();
  const auto kernel = load(device, cudaArtifact("kernel"));
  const auto timer = device->makeTimer();
  const Expected<Buffer> buffer = device->allocate(4);
  stand_in::fail("cuStreamSynchronize", cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ERROR(device->synchronize(), ErrorCode::device_lost,
               "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered); "
               "the GPU's context is lost, and only a new process helps");
  int value = 0;
  for (const Status &status :
       {device->synchronize(), device->allocate(4).status(), device->memory().status(),
        device->copyToHost(&value, buffer->data(), 4), device->copyToDevice(buffer->data(), &value, 4),
        device->load(cudaArtifact("kernel")).status(), device->makeTimer().status(), (*timer)->start()})
    EXPECT_ERROR(status, ErrorCode::device_lost,
                 "the GPU's context was lost before: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
                 "encountered); only a new process helps");
  EXPECT_ERROR(
      kernel->launch({1}, {}), ErrorCode::device_lost,
      "kernel 'kernel': the GPU's context was lost before: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access "
      "was encountered); only a new process helps");
}

TEST_F(CudaFailure, ErrorsWithoutWordsKeepTheirNumber) {
  const auto device = makeCuda();
  stand_in::fail("cuMemGetInfo_v2", 12345);
  EXPECT_ERROR(device->memory().status(), ErrorCode::internal, "cuMemGetInfo_v2 failed: CUDA error 12345");
}

TEST_F(CudaFailure, NothingForbiddenWhileCapturingIsTheDevicesFault) {
  const auto device = makeCuda();
  stand_in::fail("cuStreamSynchronize", cuda::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ERROR(device->synchronize(), ErrorCode::invalid_argument,
               "cuStreamSynchronize failed: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (not permitted while capturing)");
  EXPECT_OK(device->synchronize());
}

TEST_F(CudaFailure, AForkedChildMakesNoCalls) {
  auto device = makeCuda();
  auto kernel = load(device, cudaArtifact("kernel"));
  auto timer = device->makeTimer();
  Expected<Buffer> buffer = device->allocate(4);
  const auto isRefused = [](const Status &status) {
    return status.code() == ErrorCode::forked_child &&
           status.message().ends_with(
               "the process was forked after the CUDA driver was first used; start a new process");
  };
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    stand_in::forgetCalls();
    bool all = isRefused(device->synchronize()) && isRefused(kernel->launch({1}, {})) &&
               isRefused(device->allocate(4).status()) && isRefused(device->memory().status()) &&
               isRefused((*timer)->start()) && isRefused(cudaDevice().status()) && isRefused(cudaDevices().status());
    device.reset();
    kernel.reset();
    timer->reset();
    *buffer = Buffer();
    all = all && stand_in::calls().empty();
    _exit(all ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(CudaMissing, DriverIsNamed) {
  const Variable libcuda("TEGULA_LIBCUDA", "/nowhere/libcuda.so");
  const std::string message =
      "no usable CUDA driver: /nowhere/libcuda.so: cannot open shared object file: No such file "
      "or directory; needed is a driver of CUDA 11.0 or newer";
  EXPECT_ERROR(cudaDevice().status(), ErrorCode::unsupported, message);
  EXPECT_ERROR(cudaDevices().status(), ErrorCode::unsupported, message);
}

TEST(CudaMissing, EntryPointIsNamed) {
  for (const auto &[file, symbol] :
       {std::pair(TEGULA_TEST_KERNELS, "cuInit"), std::pair(TEGULA_STAND_IN_OLD_CUDA, "cuLaunchKernel")}) {
    const Variable libcuda("TEGULA_LIBCUDA", file);
    EXPECT_ERROR(cudaDevice().status(), ErrorCode::unsupported,
                 std::string("no usable CUDA driver: ") + file + " has no " + symbol +
                     "; needed is a driver of CUDA 11.0 or newer");
  }
}

} // namespace
