// SPDX-License-Identifier: MIT
// The device that the tests of a process run on.
#pragma once

#include "tegula/device.h"

#include <cstdlib>
#include <memory>
#include <utility>

namespace tegula::testing {

/// Returns the device that the environment variable TEGULA_TEST_TARGET names: cpu (also if it is not set), cuda, simt,
/// or auto. The first call makes the device. Ends the process with a message if there is no such device.
const std::shared_ptr<Device> &testDevice();

/// Returns true if the test device is a GPU.
bool onGpu();

/// Returns true if the test device runs what the compiler makes for a GPU: also for simt.
bool hasGpuCode();

/// Ends the process with a message unless `status` is ok.
void require(const Status &status);

/// Returns the value, or ends the process with a message if there is none.
template <class T> T valueOf(Expected<T> value) {
  require(value.status());
  return std::move(*value);
}

} // namespace tegula::testing
