// SPDX-License-Identifier: MIT
#include "tuning_setup.h"
#include "compiler.h"
#include "tegula/caching_compiler.h"
#include "tegula/cpu_info.h"
#include "tegula/cuda_device.h"
#include "workload/open_device.h"

#include <cerrno>
#include <csignal>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace tegula::tools {
namespace {

/// The time that work has to end after Ctrl-C. The end of a large process takes some of the second that is promised.
constexpr int kMicrosecondsToObey = 700'000;

volatile std::sig_atomic_t interrupted = 0, has_results = 0, on_terminal = 0;
struct sigaction interrupt_before = {}, alarm_before = {};

/// Writes a line on stderr. May be called in a signal handler.
void say(std::string_view line) {
  const std::string_view erase = "\r\033[K"; // The line of Progress.
  if (on_terminal != 0)
    (void)!::write(STDERR_FILENO, erase.data(), erase.size());
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

/// Raises SIGALRM after a part of a second; 0 is never. It is one system call, so a signal handler may call it.
void setAlarm(int microseconds) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void onInterrupt(int) {
  const int error = errno;
  interrupted = 1;
  say("tegula: stopping; a second Ctrl-C ends at once\n");
  if (has_results == 0)
    setAlarm(kMicrosecondsToObey);
  errno = error;
}

void onAlarm(int) {
  if (has_results != 0)
    return;
  say("tegula: stopped; no schedule was timed\n");
  _exit(1);
}

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
  on_terminal = isatty(STDERR_FILENO);
  struct sigaction action = {};
  action.sa_handler = onAlarm;
  sigaction(SIGALRM, &action, &alarm_before);
  action.sa_handler = onInterrupt;
  action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGINT, &action, &interrupt_before);
}

InterruptFlag::~InterruptFlag() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  setAlarm(0);
  sigaction(SIGALRM, &alarm_before, nullptr);
}

bool InterruptFlag::isSet() { return interrupted != 0; }

void InterruptFlag::keepResults() { has_results = 1; }

Expected<TuningSetup> makeTuningSetup(std::string_view target, bool no_cache) {
  TuningSetup setup;
  setup.worker = makeCompiler(usableCores(), InterruptFlag::isSet);
  Expected<TuningDevice> machine = tuningDevice(resolveTarget(target), *setup.worker);
  if (!machine)
    return machine.status();
  setup.machine = std::move(*machine);
  setup.kernels = openKernels(setup.machine.target, no_cache);
  setup.compiler = makeCachingCompiler(*setup.worker, *setup.kernels, driverOf(setup.machine.target));
  return setup;
}

} // namespace tegula::tools
