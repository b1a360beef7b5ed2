// SPDX-License-Identifier: MIT
// A management library (NVML) that knows one power limit.
#include <cstring>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *busId, void **device) {
  *device = nullptr;
  return std::strcmp(busId, "0000:00:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetEnforcedPowerLimit(void *, unsigned *milliwatts) {
  *milliwatts = 700000;
  return 0;
}
}
