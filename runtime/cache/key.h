// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact_cache.h"

#include <string>
#include <string_view>

namespace tegula {

/// A program's text without the places in source files that its operations came from.
std::string withoutLocations(std::string_view program);

/// The name of a program's function; empty if there is none.
std::string_view functionName(std::string_view program);

} // namespace tegula
