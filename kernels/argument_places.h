// SPDX-License-Identifier: MIT
// Kernels take their arguments by name.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// Returns the place of each parameter of a kernel among the names of the arguments that a launch has. Returns
/// internal, with the program and the parameter, if there is no argument of that name, or more than one.
Expected<std::vector<size_t>> argumentPlaces(std::string_view program, std::span<const Parameter> parameters,
                                             std::span<const std::string> names);

} // namespace tegula
