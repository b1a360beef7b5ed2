// SPDX-License-Identifier: MIT
#include "tegula/schedule.h"

#include <algorithm>
#include <charconv>

namespace tegula {
namespace {

constexpr std::string_view kSpaces = " \t\n";

/// The words of a type's values, in the order of the values.
template <class T> constexpr std::string_view kWords[] = {"false", "true"};
template <> constexpr std::string_view kWords<Roles>[] = {"none", "load"};
template <> constexpr std::string_view kWords<Overlap>[] = {"none", "pingpong"};
template <>
constexpr std::string_view kWords<TileScheduler>[] = {"single_tile", "static_persistent", "dynamic_persistent"};

std::string textOf(int value) { return value == 0 ? "" : std::to_string(value); }
template <class T> std::string textOf(std::optional<T> value) {
  return value ? std::string(kWords<T>[static_cast<size_t>(*value)]) : "";
}

std::string textOf(const std::string &value) { return value.empty() ? "" : '"' + value + '"'; }

bool parseInto(int &value, std::string_view text) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}
template <class T> bool parseInto(std::optional<T> &value, std::string_view text) {
  const auto word = std::find(std::begin(kWords<T>), std::end(kWords<T>), text);
  if (word == std::end(kWords<T>))
    return false;
  value = static_cast<T>(word - std::begin(kWords<T>));
  return true;
}

/// Takes the words between quotation marks, with one space between two of them.
bool parseInto(std::string &value, std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"')
    return false;
  value.clear();
  for (const char c : text.substr(1, text.size() - 2)) {
    const bool isSpace = kSpaces.find(c) != std::string_view::npos;
    if (c == '"')
      return false;
    if (!isSpace || (!value.empty() && value.back() != ' '))
      value += isSpace ? ' ' : c;
  }
  if (value.ends_with(' '))
    value.pop_back();
  return !value.empty();
}

std::string legalValues(int) { return "a whole number from 0 on"; }
std::string legalValues(const std::string &) { return "a step list in quotation marks, such as \"s o@1\","; }
template <class T> std::string legalValues(std::optional<T>) {
  std::string words;
  for (std::string_view word : kWords<T>)
    words.append(words.empty() ? "" : word == std::end(kWords<T>)[-1] ? " or " : ", ").append(word);
  return words;
}

template <auto kMember> constexpr ScheduleField field(std::string_view name) {
  return {name, [](const Schedule &schedule) { return textOf(schedule.*kMember); },
          [](Schedule &schedule, std::string_view text) { return parseInto(schedule.*kMember, text); },
          [] { return legalValues(Schedule().*kMember); }};
}

constexpr ScheduleField kFields[] = {
    field<&Schedule::block_m>("block_m"),
    field<&Schedule::block_n>("block_n"),
    field<&Schedule::num_warps>("num_warps"),
    field<&Schedule::num_stages>("num_stages"),
    field<&Schedule::roles>("roles"),
    field<&Schedule::overlap>("overlap"),
    field<&Schedule::optimistic_softmax>("optimistic_softmax"),
    field<&Schedule::lhs_in_registers>("lhs_in_registers"),
    field<&Schedule::add_by_tma>("add_by_tma"),
    field<&Schedule::steps>("steps"),
    field<&Schedule::instances_per_sm>("instances_per_sm"),
    field<&Schedule::heads_in_l2>("heads_in_l2"),
    field<&Schedule::tile_scheduler>("tile_scheduler"),
};

/// A name that a field had, and what to write instead.
struct FormerName {
  std::string_view name, instead;
};

constexpr FormerName kFormerNames[] = {
    {"num_roles", "roles=none for 1 and roles=load for 2"},
    {"num_products", "overlap=none for 1 and overlap=pingpong for 2"},
    {"num_attempts", "optimistic_softmax=false for 1 and optimistic_softmax=true for 2"},
    {"held_operands", "lhs_in_registers=false for 1 and lhs_in_registers=true for 2"},
    {"heads_per_group", "heads_in_l2"},
    {"persistent", "tile_scheduler=single_tile for 0, static_persistent for 1 and dynamic_persistent for 2"},
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
  return {ErrorCode::invalid_argument, "schedule: '" + std::string(word) + "' " + why};
}

/// Returns the first word of a text that begins with one. It goes on to the next space outside quotation marks.
std::string_view firstWord(std::string_view text) {
  bool isQuoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    isQuoted ^= text[i] == '"';
    if (!isQuoted && kSpaces.find(text[i]) != std::string_view::npos)
      return text.substr(0, i);
  }
  return text;
}

/// Sets the field that `word`, which is `name=value`, names.
Status parseWord(std::string_view word, Schedule &schedule) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  for (const FormerName &former : kFormerNames)
    if (former.name == name)
      return invalid(word, "has another name: write " + std::string(former.instead));
  const ScheduleField *field = findField(name);
  if (!field || equals == std::string_view::npos)
    return invalid(word, "is not name=value with a name of " + legalNames());
  if (!field->text(schedule).empty())
    return invalid(word, "is given twice");
  if (!field->parse(schedule, word.substr(equals + 1)))
    return invalid(word, "needs " + field->legal() + " after '='");
  return {};
}

} // namespace

std::string_view toString(Roles roles) { return kWords<Roles>[static_cast<size_t>(roles)]; }
std::string_view toString(Overlap overlap) { return kWords<Overlap>[static_cast<size_t>(overlap)]; }
std::string_view toString(TileScheduler scheduler) { return kWords<TileScheduler>[static_cast<size_t>(scheduler)]; }

std::span<const ScheduleField> scheduleFields() { return kFields; }

Schedule filled(Schedule given, const Schedule &choice) {
  for (const ScheduleField &field : scheduleFields())
    if (const std::string value = field.text(choice); !value.empty() && field.text(given).empty())
      field.parse(given, value);
  return given;
}

std::string toString(const Schedule &schedule) {
  std::string text;
  for (const ScheduleField &field : kFields)
    if (const std::string value = field.text(schedule); !value.empty())
      text.append(text.empty() ? "" : " ").append(field.name).append("=").append(value);
  return text;
}

Expected<Schedule> parseSchedule(std::string_view text) {
  Schedule schedule;
  while (true) {
    size_t begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos)
      return schedule;
    text.remove_prefix(begin);
    const std::string_view word = firstWord(text);
    TEGULA_RETURN_IF_ERROR(parseWord(word, schedule));
    text.remove_prefix(word.size());
  }
}

} // namespace tegula
