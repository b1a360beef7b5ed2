// SPDX-License-Identifier: MIT
// Which device the tests of a process run on.
#pragma once

#include "tegula/device.h"

#include <cstdlib>
#include <memory>
#include <utility>

namespace tegula::testing {

/// What the environment variable TEGULA_TEST_TARGET names: cpu (also if it is not set), cuda, simt, or auto. Made on
/// first use; ends the process with a message if there is no such device.
const std::shared_ptr<Device> &testDevice();

/// Whether it is a GPU.
bool onGpu();

/// Whether it runs what the compiler makes for a GPU: also true of simt.
bool hasGpuCode();

/// Ends the process with a message unless `status` is ok.
void require(const Status &status);

/// The value; ends the process with a message if there is none.
template <class T> T valueOf(Expected<T> value) {
  require(value.status());
  return std::move(*value);
}

} // namespace tegula::testing
