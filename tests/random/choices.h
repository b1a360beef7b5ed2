// SPDX-License-Identifier: MIT
// The stream of numbers from which a random program is made. The same numbers make the same program; smaller and
// fewer numbers make a smaller one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::random_programs {

class Choices {
public:
  /// Draws numbers at random.
  explicit Choices(uint64_t seed) : generator_(seed), random_(true) {}
  /// Repeats numbers; 0 after the last one.
  explicit Choices(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}

  /// Returns a number below `count`. The first choices should make the smallest programs.
  uint32_t below(uint32_t count);
  /// Returns true in `percent` of 100 cases.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  /// Returns one of the values.
  template <class T> T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<uint32_t>(values.size()))];
  }

  /// Returns the numbers that were drawn.
  const std::vector<uint32_t> &drawn() const { return drawn_; }

private:
  std::mt19937_64 generator_;
  bool random_ = false;
  std::vector<uint32_t> numbers_, drawn_;
};

/// Writes numbers as "3.0.17", and reads them.
std::string toText(const std::vector<uint32_t> &numbers);
std::vector<uint32_t> parseChoices(std::string_view text);

} // namespace tegula::random_programs
