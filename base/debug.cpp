// SPDX-License-Identifier: MIT
#include "tegula/artifact.h"

namespace tegula {
namespace {

constexpr std::string_view kWords[] = {"none", "nan", "inf"};

} // namespace

std::string_view toString(FiniteCheck check) { return kWords[static_cast<size_t>(check)]; }

std::optional<FiniteCheck> parseFiniteCheck(std::string_view word) {
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (kWords[i] == word)
      return static_cast<FiniteCheck>(i);
  return std::nullopt;
}

} // namespace tegula
