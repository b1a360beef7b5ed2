// SPDX-License-Identifier: MIT
// Kernels of simt devices.
#pragma once

#include "cpu_pool.h"
#include "simt/block.h"
#include "tegula/artifact.h"
#include "tegula/simt_device.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tegula::simt {

/// Idle Blocks, for reuse by later program instances. There are as many as have run at the same time.
class BlockPool {
public:
  std::unique_ptr<Block> take(uint32_t lanes);
  void giveBack(std::unique_ptr<Block> block);

private:
  std::mutex mutex_;
  std::map<uint32_t, std::vector<std::unique_ptr<Block>>> free_; ///< By number of lanes.
};

/// State that a device shares with its kernels.
struct DeviceState {
  std::shared_ptr<CpuPool> pool;
  BlockPool blocks;
  int64_t concurrency = 1;
  std::mutex mutex; ///< Guards the members below.
  SimtInterleaving schedule;
  std::map<std::string, std::vector<SimtSite>> sites; ///< By kernel; the sites of the last kernel with this name.
  std::vector<SimtFinding> findings;
  int64_t launches = 0, instances = 0, switches = 0;
  bool mutationReached = false;
  std::map<std::string, TrafficSums> traffic; ///< By kernel.
};

/// The code of a kernel and its limits. Callers can fill it with code that is not in an artifact.
struct KernelCode {
  SimtKernel entry = nullptr;
  std::vector<SimtSite> sites; ///< By SimtSite::number.
  uint32_t threads = kWarp;
  uint32_t shared_bytes = 0;
  uint32_t instances_per_sm = 1;
  std::vector<TensorMap> tensor_maps = {};
  uint32_t cluster = 1; ///< Program instances along x that run at the same time and see each other's shared memory.
};

/// Makes a kernel from `code`, which `owner` keeps alive.
std::shared_ptr<Kernel> makeKernel(const std::string &name, const std::vector<Parameter> &parameters, KernelCode code,
                                   std::shared_ptr<void> owner, std::shared_ptr<DeviceState> device);

Expected<std::shared_ptr<Kernel>> loadKernel(const Artifact &artifact, std::shared_ptr<DeviceState> device);

} // namespace tegula::simt
