// SPDX-License-Identifier: MIT
#include "tuning_setup.h"
#include "compiler.h"
#include "tegula/caching_compiler.h"
#include "tegula/cpu_info.h"
#include "tegula/cuda_device.h"
#include "workload/open_device.h"

#include <csignal>
#include <utility>

namespace tegula::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;
struct sigaction action_before = {};

/// Returns the result of Device::driver for the target. Does not open the device, because `tegula-measure` has the only
/// context on a GPU.
std::string driverOf(const Target &target) {
  if (target.name != "cuda")
    return "";
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  return gpus && !gpus->empty() ? std::to_string(gpus->front().driver_version) : "";
}

} // namespace

InterruptFlag::InterruptFlag() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGINT, &action, &action_before);
}

InterruptFlag::~InterruptFlag() { sigaction(SIGINT, &action_before, nullptr); }

bool InterruptFlag::isSet() { return interrupted != 0; }

Expected<TuningSetup> makeTuningSetup(std::string_view target, bool no_cache) {
  TuningSetup setup;
  setup.worker = makeCompiler(usableCores());
  Expected<TuningDevice> machine = tuningDevice(resolveTarget(target), *setup.worker);
  if (!machine)
    return machine.status();
  setup.machine = std::move(*machine);
  setup.kernels = openKernels(setup.machine.target, no_cache);
  setup.compiler = makeCachingCompiler(*setup.worker, *setup.kernels, driverOf(setup.machine.target));
  return setup;
}

} // namespace tegula::tools
