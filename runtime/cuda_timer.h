// SPDX-License-Identifier: MIT
// Timers of the cuda device.
#pragma once

#include "cuda_context.h"
#include "tegula/timer.h"

#include <memory>

namespace tegula::cuda {

/// Implements Device::makeTimer of the cuda device. May throw std::bad_alloc.
Expected<std::unique_ptr<Timer>> makeTimer(const std::shared_ptr<Context> &context);

} // namespace tegula::cuda
