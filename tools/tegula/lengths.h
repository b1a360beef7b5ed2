// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// Returns the lengths of sequences in words, such as "3 sequences of 1 to 300 keys, 378 in all".
std::string inWords(const std::vector<int32_t> &lengths, std::string_view what);

} // namespace tegula::tools
