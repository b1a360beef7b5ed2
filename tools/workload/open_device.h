// SPDX-License-Identifier: MIT
// The device that a user means.
#pragma once

#include "tegula/device.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// What openDevice takes: auto, cpu, cuda.
std::vector<std::string> targetWords();

/// "cpu" or "cuda" for auto, without opening anything; any other word as it is.
std::string resolveTarget(std::string_view target);

/// The machine's cores (cpu), its first GPU (cuda), or the best there is (auto).
Expected<std::shared_ptr<Device>> openDevice(std::string_view target);

/// The device in words, such as "AMD EPYC 9554, 16 cores".
std::string describe(const Device &device);

} // namespace tegula::tools
