// SPDX-License-Identifier: MIT
#include "tegula/schedule.h"

#include <charconv>

namespace tegula {
namespace {

constexpr ScheduleField kFields[] = {
    {"block_m", &Schedule::block_m},
    {"block_n", &Schedule::block_n},
    {"num_warps", &Schedule::num_warps},
    {"num_stages", &Schedule::num_stages},
    {"num_roles", &Schedule::num_roles},
    {"num_products", &Schedule::num_products},
    {"num_attempts", &Schedule::num_attempts},
    {"held_operands", &Schedule::held_operands},
    {"instances_per_sm", &Schedule::instances_per_sm},
    {"heads_per_group", &Schedule::heads_per_group},
    {"persistent", &Schedule::persistent},
};

const ScheduleField *findField(std::string_view name) {
  for (const ScheduleField &field : kFields)
    if (field.name == name)
      return &field;
  return nullptr;
}

std::string legalNames() {
  std::string names;
  for (const ScheduleField &field : kFields)
    names.append(names.empty() ? "" : ", ").append(field.name);
  return names;
}

Status invalid(std::string_view word, const std::string &why) {
  return {ErrorCode::InvalidArgument, "schedule: '" + std::string(word) + "' " + why};
}

/// Sets the field that `word`, which is `name=number`, names.
Status parseWord(std::string_view word, Schedule &schedule) {
  size_t equals = word.find('=');
  const ScheduleField *field = findField(word.substr(0, equals));
  if (!field || equals == std::string_view::npos)
    return invalid(word, "is not name=number with a name of " + legalNames());
  if (schedule.*field->member != 0)
    return invalid(word, "is given twice");
  std::string_view digits = word.substr(equals + 1);
  int value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
    return invalid(word, "needs a whole number from 0 on after '='");
  schedule.*field->member = value;
  return {};
}

} // namespace

std::span<const ScheduleField> scheduleFields() { return kFields; }

std::string toString(const Schedule &schedule) {
  std::string text;
  for (const ScheduleField &field : kFields)
    if (int value = schedule.*field.member)
      text.append(text.empty() ? "" : " ").append(field.name).append("=").append(std::to_string(value));
  return text;
}

Expected<Schedule> parseSchedule(std::string_view text) {
  constexpr std::string_view spaces = " \t\n";
  Schedule schedule;
  while (true) {
    size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos)
      return schedule;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(spaces));
    TEGULA_RETURN_IF_ERROR(parseWord(word, schedule));
    text.remove_prefix(word.size());
  }
}

} // namespace tegula
