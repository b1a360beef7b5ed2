// SPDX-License-Identifier: MIT
#include "tegula/cpu_info.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <thread>

namespace tegula {

int usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  return int(std::max(1u, std::thread::hardware_concurrency()));
}

static std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

std::string cpuDescription() {
  int cores = usableCores();
  return processorName() + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

} // namespace tegula
