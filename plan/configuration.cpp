// SPDX-License-Identifier: MIT
#include "tegula/configuration.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tegula {
namespace {

std::optional<int> numberOf(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string listOf(std::span<const Tunable> tunables) {
  std::string list;
  for (const Tunable &tunable : tunables)
    list += (list.empty() ? "" : ", ") + tunable.name();
  return list.empty() ? "none" : list;
}

/// Appends every schedule that continues `schedule` with one value of each of the other axes.
void appendCombinations(const ScheduleSpace &box, size_t axis, const Schedule &schedule, std::vector<Schedule> &all) {
  if (axis == box.size()) {
    if (std::ranges::find(all, schedule) == all.end())
      all.push_back(schedule);
    return;
  }
  for (const auto &choose : box[axis].choices()) {
    Schedule next = schedule;
    choose(next);
    appendCombinations(box, axis + 1, next, all);
  }
}

} // namespace

std::string toString(const Configuration &configuration) {
  std::string text = toString(configuration.tunables);
  const std::string schedule = toString(configuration.schedule);
  return text + (text.empty() || schedule.empty() ? "" : " ") + schedule;
}

Expected<Configuration> parseConfiguration(std::string_view text, std::span<const Tunable> tunables) {
  Configuration configuration;
  std::string fields; // The words of the schedule.
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::string_view name = word.substr(0, word.find('='));
    if (std::ranges::find(tunables, name, &Tunable::name) == tunables.end()) {
      fields += (fields.empty() || word.empty() ? "" : " ") + std::string(word);
      continue;
    }
    const std::optional<int> value = numberOf(word.substr(std::min(word.size(), name.size() + 1)));
    if (!value)
      return Status(ErrorCode::invalid_argument, "'" + std::string(word) + "' gives the tunable no whole number");
    configuration.tunables.push_back({std::string(name), *value});
  }
  Expected<Schedule> schedule = parseSchedule(fields);
  if (!schedule)
    return Status(schedule.status().code(), schedule.status().message() + "; the tunables are " + listOf(tunables));
  configuration.schedule = *schedule;
  return configuration;
}

std::vector<Schedule> enumerate(const std::vector<ScheduleSpace> &boxes) {
  std::vector<Schedule> all;
  for (const ScheduleSpace &box : boxes)
    appendCombinations(box, 0, {}, all);
  return all;
}

} // namespace tegula
