// SPDX-License-Identifier: MIT
// A library such as a profiler loads into a process by NVTX_INJECTION64_PATH. It records the events.
#include "nvtx_abi.h"

#include <cstdlib>
#include <mutex>
#include <string>

namespace nvtx = tegula::nvtx;

namespace {

std::mutex mutex;
std::string events; // One event per line.
std::string domainName;

void note(const std::string &event) {
  const std::lock_guard lock(mutex);
  events += event + '\n';
}

nvtx::Domain create(const char *name) {
  domainName = name;
  return reinterpret_cast<nvtx::Domain>(&domainName);
}

int push(nvtx::Domain domain, const nvtx::EventAttributes *attributes) {
  const bool isText = attributes->version == 3 && attributes->size >= 48 && attributes->message_type == 1;
  note(*reinterpret_cast<std::string *>(domain) + ": " + (isText ? attributes->message : "?"));
  return 0;
}

int pop(nvtx::Domain domain) {
  note(*reinterpret_cast<std::string *>(domain) + ": pop");
  return 0;
}

} // namespace

extern "C" const char *standInProfilerEvents() {
  const std::lock_guard lock(mutex);
  return events.c_str();
}

extern "C" int InitializeInjectionNvtx2(nvtx::ExportTable exports) {
  if (std::getenv("STAND_IN_PROFILER_REFUSES") != nullptr)
    return 0;
  const auto *callbacks = static_cast<const nvtx::Callbacks *>(exports(nvtx::kCallbacksTable));
  nvtx::Function **functions = nullptr;
  unsigned count = 0;
  for (int module = 1; module <= 6; ++module)
    if (callbacks->module_functions(module, &functions, &count) == 0 || functions[count] != nullptr)
      return 0;
  if (callbacks->module_functions(nvtx::kDomains, &functions, &count) == 0 || count <= nvtx::kDomainCreate)
    return 0;
  *functions[nvtx::kDomainCreate] = reinterpret_cast<nvtx::Function>(create);
  *functions[nvtx::kDomainRangePush] = reinterpret_cast<nvtx::Function>(push);
  *functions[nvtx::kDomainRangePop] = reinterpret_cast<nvtx::Function>(pop);
  return 1;
}
