// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace tegula {

/// 128 bits of XXH3 as 32 hex digits. Finds damage and tells texts apart; no protection from somebody who means harm.
std::string digest(std::string_view bytes);

} // namespace tegula
