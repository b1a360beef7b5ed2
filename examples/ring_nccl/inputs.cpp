// SPDX-License-Identifier: MIT
#include "inputs.h"

#include <cstring>
#include <random>

namespace {

/// Returns numbers from which inputs are drawn. Looking one up takes less time than computing one.
const std::vector<uint16_t> &normalNumbers() {
  static const std::vector<uint16_t> numbers = [] {
    std::vector<uint16_t> result(1 << 16);
    std::mt19937 random(/*seed=*/1);
    std::normal_distribution<float> normal;
    for (uint16_t &number : result)
      number = toBf16(normal(random));
    return result;
  }();
  return numbers;
}

/// Returns 64 bits that depend on all bits of x (SplitMix64, Steele, Lea and Flood 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace

uint16_t toBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t number) {
  const uint32_t bits = uint32_t{number} << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

void RandomInputs::row(Input input, int64_t batch, int64_t head, int64_t position, uint16_t *numbers) const {
  const std::vector<uint16_t> &drawn = normalNumbers();
  const uint64_t row = (batch * headsOf(input) + head) * options_.tokens + position;
  const uint64_t begin = mix(4 * row + static_cast<uint64_t>(input));
  for (int64_t d = 0; d < options_.head_dim; d += 4) {
    const uint64_t bits = mix(begin + d);
    for (int64_t i = 0; i < 4; ++i)
      numbers[d + i] = drawn[bits >> 16 * i & 0xffff];
  }
}

std::vector<uint16_t> RandomInputs::part(Input input, const RingPlan &plan) const {
  std::vector<uint16_t> numbers(options_.batch * headsOf(input) * plan.length * options_.head_dim);
  uint16_t *next = numbers.data();
  for (int64_t batch = 0; batch < options_.batch; ++batch)
    for (int64_t head = 0; head < headsOf(input); ++head)
      for (int64_t local = 0; local < plan.length; ++local, next += options_.head_dim)
        row(input, batch, head, plan.wholePosition(local), next);
  return numbers;
}
