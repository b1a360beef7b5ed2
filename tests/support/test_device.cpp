// SPDX-License-Identifier: MIT
#include "support/test_device.h"

#include "workload/open_device.h"

#include <cstdio>
#include <cstdlib>

namespace tegula::testing {

static std::shared_ptr<Device> makeTestDevice() {
  const char *target = std::getenv("TEGULA_TEST_TARGET");
  return valueOf(tools::openDevice(target ? target : "cpu"));
}

const std::shared_ptr<Device> &testDevice() {
  static std::shared_ptr<Device> device = makeTestDevice();
  return device;
}

bool onGpu() { return testDevice()->target().name == "cuda"; }

bool hasGpuCode() { return testDevice()->target().name != "cpu"; }

void require(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(2);
}

} // namespace tegula::testing
