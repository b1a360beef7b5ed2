// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace tegula {

/// Returns a program's text without the source locations of its operations.
std::string withoutLocations(std::string_view program);

} // namespace tegula
