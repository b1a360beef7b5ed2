// SPDX-License-Identifier: MIT
// The values that options accept. A refusal names the value and what is legal instead; CLI11 puts the option's name
// before it.
#pragma once

#include "tegula/artifact.h"
#include "tegula/schedule.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tegula::tools {

/// Returns a validator of `words`.
CLI::Validator oneOf(std::vector<std::string> words);

// Numbers are read as the type in which they are used: int, int64_t, uint64_t, float or double. So none is narrowed
// later. A float that is too large, or so small that it would become 0, is refused.

/// Returns the number that all of `text` spells; nullopt if it spells none, or one that T cannot hold.
template <class T> std::optional<T> parseNumber(std::string_view text);
/// Returns a validator of numbers from `low` to `high`, which must be finite.
template <class T> CLI::Validator numberFrom(T low, T high);

/// The type of the number that a field of type T or std::optional<T> holds.
template <class Field> struct NumberIn { using type = Field; };
template <class T> struct NumberIn<std::optional<T>> { using type = T; };

/// Adds an option whose value is a number from `low` to `high`.
template <class Field, class T = typename NumberIn<Field>::type>
CLI::Option *addNumber(CLI::App &command, const char *name, Field &target, std::type_identity_t<T> low,
                       std::type_identity_t<T> high, const char *help) {
  return command
      .add_option_function<std::string>(
          name, [&target](const std::string &text) { target = *parseNumber<T>(text); }, help)
      ->check(numberFrom<T>(low, high))
      ->type_name("NUMBER");
}

/// Adds an option whose values are numbers with commas between them.
template <class T>
CLI::Option *addNumbers(CLI::App &command, const char *name, std::vector<T> &target, std::type_identity_t<T> low,
                        std::type_identity_t<T> high, const char *help) {
  const auto take = [&target](const std::vector<std::string> &texts) {
    target.clear();
    for (const std::string &text : texts)
      target.push_back(*parseNumber<T>(text));
  };
  return command.add_option_function<std::vector<std::string>>(name, take, help)
      ->delimiter(',')
      ->check(numberFrom<T>(low, high))
      ->type_name("NUMBERS")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Adds an option whose value is a time in seconds.
void addSeconds(CLI::App &command, const char *name, double &target, const char *help);
/// Adds the option --seed.
void addSeed(CLI::App &command, uint64_t &seed, const char *help);

/// Adds an option whose values are words. `parse` converts a legal word to the stored value.
template <class T, class Parse>
void addWord(CLI::App &command, const char *name, std::vector<std::string> words, T &target, Parse parse,
             const char *help) {
  command
      .add_option_function<std::string>(
          name, [&target, parse](const std::string &word) { target = *parse(word); }, help)
      ->type_name("WORD")
      ->check(oneOf(std::move(words)));
}

/// Adds the option --target of a command that runs something.
void addTarget(CLI::App &command, std::string &target);

/// Adds the option --schedule.
void addSchedule(CLI::App &command, Schedule &schedule);

/// Adds an option --schedule that may be repeated.
CLI::Option *addSchedules(CLI::App &command, std::vector<Schedule> &schedules, const char *help);

/// Adds the flag --untuned.
void addUntuned(CLI::App &command, bool &untuned);

/// Adds the flag --no-cache.
void addNoCache(CLI::App &command, bool &no_cache);

/// Adds the option --check-finite.
void addCheckFinite(CLI::App &command, FiniteCheck &check);

/// Returns the words a, b and c as "a, b or c".
std::string alternatives(const std::vector<std::string> &words);
/// Returns the words a, b and c as "a, b and c".
std::string enumeration(const std::vector<std::string> &words);

} // namespace tegula::tools
