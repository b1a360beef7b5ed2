// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/control.h"

namespace tegula {

class Recorder;

/// Returns the attributes of a loop with these step lists, as they are written. Reports lists that are none.
std::string attributesOf(Recorder &r, const std::vector<Steps> &lists, Location where);

} // namespace tegula
