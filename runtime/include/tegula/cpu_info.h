// SPDX-License-Identifier: MIT
// The cores of the machine.
#pragma once

#include <string>

namespace tegula {

/// Returns the number of cores that this process may use.
int usableCores();
/// Returns the processor's name and usable cores, such as "AMD EPYC 9554, 16 cores".
std::string cpuDescription();

} // namespace tegula
