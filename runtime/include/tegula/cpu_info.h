// SPDX-License-Identifier: MIT
// The cores of the machine.
#pragma once

#include <string>

namespace tegula {

/// Cores that this process may use.
int usableCores();
/// The processor's name and usable cores, such as "AMD EPYC 9554, 16 cores".
std::string cpuDescription();

} // namespace tegula
