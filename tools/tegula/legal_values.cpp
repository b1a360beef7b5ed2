// SPDX-License-Identifier: MIT
#include "legal_values.h"
#include "workload/open_device.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tegula::tools {
template <class T> std::optional<T> parseNumber(std::string_view text) {
  T result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return result;
}

namespace {

template <class T> constexpr T kNearestTo0 = std::numeric_limits<T>::denorm_min();

/// Returns true if `text` spells a number that T would make 0.
template <class T> bool vanishes(const std::string &text) {
  const std::optional<double> value = parseNumber<double>(text);
  return value && *value != 0 && std::abs(*value) < kNearestTo0<T>;
}

} // namespace

template <class T> CLI::Validator numberFrom(T low, T high) {
  const auto check = [low, high](const std::string &text) -> std::string {
    const std::optional<T> value = parseNumber<T>(text);
    if (value && *value >= low && *value <= high)
      return "";
    if constexpr (std::is_integral_v<T>)
      return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
    else
      return fmt::format("'{}' is not a number from {} to {}, such as 0.125{}", text, low, high,
                         vanishes<T>(text) ? fmt::format("; {} is the nearest to 0", kNearestTo0<T>) : "");
  };
  return CLI::Validator(check, "");
}

template std::optional<int> parseNumber(std::string_view);
template std::optional<int64_t> parseNumber(std::string_view);
template std::optional<uint64_t> parseNumber(std::string_view);
template std::optional<float> parseNumber(std::string_view);
template std::optional<double> parseNumber(std::string_view);
template CLI::Validator numberFrom(int, int);
template CLI::Validator numberFrom(int64_t, int64_t);
template CLI::Validator numberFrom(uint64_t, uint64_t);
template CLI::Validator numberFrom(float, float);
template CLI::Validator numberFrom(double, double);

void addSeconds(CLI::App &command, const char *name, double &target, const char *help) {
  constexpr double most = 1e6;
  addNumber(command, name, target, 0, most, help);
}

void addSeed(CLI::App &command, uint64_t &seed, const char *help) {
  addNumber(command, "--seed", seed, 0, std::numeric_limits<int64_t>::max(), help);
}

CLI::Validator oneOf(std::vector<std::string> words) {
  auto check = [words = std::move(words)](const std::string &text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end())
      return "";
    return fmt::format("'{}' is not one of {}", text, alternatives(words));
  };
  return CLI::Validator(check, "");
}

void addTarget(CLI::App &command, std::string &target) {
  command
      .add_option("--target", target,
                  "Where to run: cpu, cuda (a GPU), simt (sm_80's code, imitated),\nsimt:sm_90a, or auto for the best "
                  "there is (auto)")
      ->check(oneOf(targetWords()))
      ->type_name("WORD");
}

void addSchedule(CLI::App &command, Schedule &schedule) {
  auto check = [](const std::string &text) { return parseSchedule(text).status().message(); };
  command
      .add_option_function<std::string>(
          "--schedule", [&schedule](const std::string &text) { schedule = *parseSchedule(text); },
          "Such as \"block_m=64 block_n=32\" (chosen for you)")
      ->check(CLI::Validator(check, ""))
      ->type_name("TEXT");
}

CLI::Option *addSchedules(CLI::App &command, std::vector<Schedule> &schedules, const char *help) {
  auto check = [](const std::string &text) { return parseSchedule(text).status().message(); };
  return command
      .add_option_function<std::vector<std::string>>(
          "--schedule",
          [&schedules](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              schedules.push_back(*parseSchedule(text));
          },
          help)
      ->check(CLI::Validator(check, ""))
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void addUntuned(CLI::App &command, bool &untuned) {
  command.add_flag("--untuned", untuned, "Do not use what `tegula tune` has found");
}

void addNoCache(CLI::App &command, bool &no_cache) {
  command.add_flag("--no-cache", no_cache, "Compile every kernel, and keep none (`tegula cache`)");
}

void addCheckFinite(CLI::App &command, FiniteCheck &check) {
  addWord(
      command, "--check-finite", {"none", "nan", "inf"}, check, parseFiniteCheck,
      "Report the first nan, or with inf the first infinity, too, that the\nkernel makes, with the line of its source "
      "(none; slow)");
}

static std::string joined(const std::vector<std::string> &words, const char *last) {
  if (words.size() < 2)
    return fmt::format("{}", fmt::join(words, ""));
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), last, words.back());
}

std::string alternatives(const std::vector<std::string> &words) { return joined(words, "or"); }

std::string enumeration(const std::vector<std::string> &words) { return joined(words, "and"); }

} // namespace tegula::tools
