// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace tegula::tools {

/// Returns words as HTML and XML write them.
std::string escaped(std::string_view words);

} // namespace tegula::tools
