// SPDX-License-Identifier: MIT
// The words for the values of attention's enumerations.
#pragma once

#include "tegula/attention_programs.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

std::string_view toString(Algorithm algorithm);
std::optional<Algorithm> parseAlgorithm(std::string_view word);
std::vector<std::string> algorithmWords();

std::string_view toString(Causal causal);
std::optional<Causal> parseCausal(std::string_view word);
std::vector<std::string> causalWords();

std::string_view toString(BlockMask::Source source);
std::optional<BlockMask::Source> parseBlockMask(std::string_view word);
std::vector<std::string> blockMaskWords();

std::string_view toString(ScoresOutput output);

std::string_view toString(Alignment alignment);
std::string_view toString(Axis axis);

} // namespace tegula
