// SPDX-License-Identifier: MIT
// The device that a user means.
#pragma once

#include "tegula/device.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// Returns the words that openDevice takes.
std::vector<std::string> targetWords();

/// "cpu" or "cuda" for auto, without opening anything; any other word as it is.
std::string resolveTarget(std::string_view target);

/// The machine's cores (cpu), its first GPU (cuda), the best of these that there is (auto), or lanes on
/// the cores that imitate a GPU of some architecture (simt, simt:sm_90a).
Expected<std::shared_ptr<Device>> openDevice(std::string_view target);

/// The device in words, such as "AMD EPYC 9554, 16 cores".
std::string describe(const Device &device);

} // namespace tegula::tools
