// SPDX-License-Identifier: MIT
// The values that options accept. A refusal names the value and what is legal instead; CLI11 puts the option's name
// before it.
#pragma once

#include "tegula/artifact.h"
#include "tegula/schedule.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::tools {

/// Returns a validator of decimal numbers from `low` to `high`.
CLI::Validator wholeNumber(int64_t low, int64_t high);
/// Returns a validator of finite numbers.
CLI::Validator number();
/// Returns a validator of `words`.
CLI::Validator oneOf(std::vector<std::string> words);

/// Adds an option whose values are whole numbers from `low` to `high`.
template <class T>
void addNumber(CLI::App &command, const char *name, T &target, int64_t low, int64_t high, const char *help) {
  command.add_option(name, target, help)->check(wholeNumber(low, high))->type_name("NUMBER");
}

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
