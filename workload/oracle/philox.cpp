// SPDX-License-Identifier: MIT
#include "oracle/philox.h"

namespace tegula::oracle {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key, int rounds) {
  auto [a, b, c, d] = counter;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t x = uint64_t{0xD2511F53} * a, y = uint64_t{0xCD9E8D57} * c;
    a = static_cast<uint32_t>(y >> 32) ^ b ^ key[0];
    b = static_cast<uint32_t>(y);
    c = static_cast<uint32_t>(x >> 32) ^ d ^ key[1];
    d = static_cast<uint32_t>(x);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return {a, b, c, d};
}

namespace {

std::array<uint32_t, 4> call(const RandomKey &key, uint32_t first, uint32_t second, int rounds) {
  const auto seed = static_cast<uint64_t>(key.seed), offset = static_cast<uint64_t>(key.offset);
  const auto high = static_cast<uint32_t>((seed >> 32) + (offset >> 32));
  return philox({first, second, static_cast<uint32_t>(key.stream), static_cast<uint32_t>(offset)},
                {static_cast<uint32_t>(seed), high}, rounds);
}

} // namespace

int randomByte(const RandomKey &key, uint32_t row, uint32_t column, int rounds) {
  const auto words = call(key, row / 16 * 4 + row % 8 / 2, column / 16 * 4 + column % 8 / 2, rounds);
  const uint32_t byte = row / 8 % 2 * 2 + column / 8 % 2;
  return static_cast<int>(words[row % 2 * 2 + column % 2] >> 8 * byte & 255);
}

double random(const RandomKey &key, uint32_t row, uint32_t column, int rounds) {
  const auto words = call(key, 0x80000000 + row / 16 * 8 + row % 8, column / 16 * 8 + column % 8, rounds);
  return (words[row / 8 % 2 * 2 + column / 8 % 2] >> 8) * 0x1p-24;
}

} // namespace tegula::oracle
