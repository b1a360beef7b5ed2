// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace tegula::ptx_fuzz {

/// Random numbers that are the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  /// Returns a number from 0 to `count` - 1.
  uint64_t below(uint64_t count) { return engine_() % count; }
  bool percent(uint64_t chance) { return below(100) < chance; }
  template <class List> auto &of(List &&list) { return list[below(std::size(list))]; }

private:
  std::mt19937_64 engine_;
};

} // namespace tegula::ptx_fuzz
