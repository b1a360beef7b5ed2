// SPDX-License-Identifier: MIT
// Timers of the cpu device.
#pragma once

#include "tegula/timer.h"

#include <memory>

namespace tegula {

/// Implements Device::makeTimer of the cpu device. Work is done when a call returns, so a clock suffices. May throw
/// std::bad_alloc.
std::unique_ptr<Timer> makeCpuTimer();

} // namespace tegula
