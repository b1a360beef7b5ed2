// SPDX-License-Identifier: MIT
#pragma once

#include "cuda_driver.h"
#include "device.h"

/// A GPU with a stream for kernels and one for exchanges. It uses the primary context, as Tegula and NCCL do.
class CudaDevice : public Device {
public:
  /// Makes the GPU current in the calling thread.
  explicit CudaDevice(int ordinal);

  void use() override;
  std::shared_ptr<void> allocate(int64_t bytes) override;
  void copyToDevice(void *device, const void *host, int64_t bytes) override;
  void copyToHost(void *host, const void *device, int64_t bytes) override;
  void *stream() override { return kernels_; }
  void startTimer() override;
  void stopTimer() override;
  double milliseconds(const std::function<void()> &poll) override;

  CudaDriver::Stream exchanges() const { return exchanges_; }
  /// Lets exchanges that are enqueued from now on wait for the kernels that have been enqueued. Later kernels wait
  /// until these exchanges may begin: otherwise a long kernel might take the whole GPU first, and the exchange would
  /// come after it.
  void beginExchanges();
  /// Lets kernels that are enqueued from now on wait for the exchanges that have been enqueued.
  void endExchanges() { order(kernels_, exchanges_, exchanged_); }

private:
  void order(CudaDriver::Stream later, CudaDriver::Stream earlier, CudaDriver::Event event);

  const CudaDriver &cuda_ = cudaDriver();
  CudaDriver::Context context_ = nullptr;
  CudaDriver::Stream kernels_ = nullptr, exchanges_ = nullptr;
  CudaDriver::Event computed_ = nullptr, begun_ = nullptr, exchanged_ = nullptr, begin_ = nullptr, end_ = nullptr;
};
