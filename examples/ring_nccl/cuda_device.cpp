// SPDX-License-Identifier: MIT
#include "cuda_device.h"

#include "team.h"

#include <chrono>
#include <thread>

namespace {

void *pointer(CudaDriver::Address address) { return reinterpret_cast<void *>(address); }
CudaDriver::Address address(const void *pointer) { return reinterpret_cast<CudaDriver::Address>(pointer); }

} // namespace

CudaDevice::CudaDevice(int ordinal) {
  int count = 0, device = 0, least = 0, greatest = 0;
  require(cuda_.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal >= count)
    fail("there is no GPU " + std::to_string(ordinal) + "; this machine has " + std::to_string(count) + " (--gpus)");
  require(cuda_.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  require(cuda_.cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  use();
  // Blocks of NCCL's kernels go first where both streams have blocks to start. A short exchange then need not wait for
  // a long attention kernel.
  require(cuda_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  for (auto [stream, priority] : {std::pair(&kernels_, least), std::pair(&exchanges_, greatest)})
    require(cuda_.cuStreamCreateWithPriority(stream, CudaDriver::kNonBlocking, priority), "cuStreamCreateWithPriority");
  for (CudaDriver::Event *event : {&computed_, &begun_, &exchanged_})
    require(cuda_.cuEventCreate(event, CudaDriver::kDisableTiming), "cuEventCreate");
  for (CudaDriver::Event *event : {&begin_, &end_})
    require(cuda_.cuEventCreate(event, CudaDriver::kDefaultEvent), "cuEventCreate");
}

void CudaDevice::use() { require(cuda_.cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

std::shared_ptr<void> CudaDevice::allocate(int64_t bytes) {
  CudaDriver::Address memory = 0;
  const size_t size = bytes == 0 ? 64 : bytes;
  require(cuda_.cuMemAlloc(&memory, size), ("cuMemAlloc of " + std::to_string(size) + " bytes").c_str());
  require(cuda_.cuMemsetD8(memory, 0, size), "cuMemsetD8");
  require(cuda_.cuCtxSynchronize(), "cuCtxSynchronize"); // The streams do not wait for the default stream.
  return {pointer(memory), [&cuda = cuda_](void *freed) { require(cuda.cuMemFree(address(freed)), "cuMemFree"); }};
}

void CudaDevice::copyToDevice(void *device, const void *host, int64_t bytes) {
  require(cuda_.cuMemcpyHtoD(address(device), host, bytes), "cuMemcpyHtoD");
  require(cuda_.cuCtxSynchronize(), "cuCtxSynchronize"); // A copy from pageable memory may return before its end.
}

void CudaDevice::copyToHost(void *host, const void *device, int64_t bytes) {
  require(cuda_.cuMemcpyDtoH(host, address(device), bytes), "cuMemcpyDtoH");
}

void CudaDevice::startTimer() { require(cuda_.cuEventRecord(begin_, kernels_), "cuEventRecord"); }
void CudaDevice::stopTimer() { require(cuda_.cuEventRecord(end_, kernels_), "cuEventRecord"); }

double CudaDevice::milliseconds(const std::function<void()> &poll) {
  CudaDriver::Result result;
  while ((result = cuda_.cuEventQuery(end_)) == CudaDriver::kNotReady) {
    poll();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  require(result, "cuEventQuery");
  float elapsed = 0;
  require(cuda_.cuEventElapsedTime(&elapsed, begin_, end_), "cuEventElapsedTime");
  return elapsed;
}

void CudaDevice::beginExchanges() {
  order(exchanges_, kernels_, computed_);
  order(kernels_, exchanges_, begun_);
}

void CudaDevice::order(CudaDriver::Stream later, CudaDriver::Stream earlier, CudaDriver::Event event) {
  require(cuda_.cuEventRecord(event, earlier), "cuEventRecord");
  require(cuda_.cuStreamWaitEvent(later, event, 0),
          "cuStreamWaitEvent"); // Waits for the record above, not for later ones.
}
