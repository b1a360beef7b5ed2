// SPDX-License-Identifier: MIT
#include "random/choices.h"

#include <charconv>

namespace tegula::random_programs {

uint32_t Choices::below(uint32_t count) {
  uint32_t number = 0;
  if (random_)
    number = static_cast<uint32_t>(generator_() % count);
  else if (drawn_.size() < numbers_.size())
    number = numbers_[drawn_.size()] % count;
  drawn_.push_back(number);
  return number;
}

std::string toText(const std::vector<uint32_t> &numbers) {
  std::string text;
  for (uint32_t number : numbers)
    text += (text.empty() ? "" : ".") + std::to_string(number);
  return text;
}

std::vector<uint32_t> parseChoices(std::string_view text) {
  std::vector<uint32_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    uint32_t number = 0;
    at = std::from_chars(at, end, number).ptr + 1;
    numbers.push_back(number);
  }
  return numbers;
}

} // namespace tegula::random_programs
