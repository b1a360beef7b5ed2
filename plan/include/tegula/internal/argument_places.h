// SPDX-License-Identifier: MIT
// The arguments of kernels, which are found by name.
#pragma once

#include "tegula/artifact.h"
#include "tegula/status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// Returns, for each parameter of a kernel or a plan, the index of its argument among `names`, the arguments of a
/// launch. Returns internal, with the program and the parameter, if there is no argument of that name, or more than
/// one.
Expected<std::vector<size_t>> argumentPlaces(std::string_view program, std::span<const Parameter> parameters,
                                             std::span<const std::string> names);

} // namespace tegula
