// SPDX-License-Identifier: MIT
// The random numbers of the language, from their definition in docs/language.md.
#pragma once

#include <array>
#include <cstdint>

namespace tegula::oracle {

/// Returns four words of Philox 4x32 (Salmon et al. 2011, section 3).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key, int rounds = 10);

/// The key of random numbers.
struct RandomKey {
  int64_t seed = 0, offset = 0;
  int32_t stream = 0;
};

/// Returns the number of randomBytes() at one position: 0 to 255.
int randomByte(const RandomKey &key, uint32_t row, uint32_t column, int rounds = 10);
/// Returns the number of random() at one position.
double random(const RandomKey &key, uint32_t row, uint32_t column, int rounds = 10);

} // namespace tegula::oracle
