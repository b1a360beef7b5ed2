// SPDX-License-Identifier: MIT
// The choices with which a described kernel is recorded and compiled.
#pragma once

#include "tegula/schedule.h"
#include "tegula/size.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tegula {

/// A choice of the host that a kernel is recorded with, and the values that are worth trying. The kernel receives the
/// chosen value as an int. In a Size, its name stands for that value.
class Tunable : public Size {
public:
  /// `otherwise` is the value without tuning.
  Tunable(std::string_view name, std::vector<int> values, int otherwise)
      : Size(name), name_(name), values_(std::move(values)), otherwise_(otherwise) {}

  const std::string &name() const { return name_; }
  const std::vector<int> &values() const { return values_; }
  int otherwise() const { return otherwise_; }

private:
  std::string name_;
  std::vector<int> values_;
  int otherwise_;
};

/// Values for the tunables of a kernel, and a schedule. Tunables without a value, and a schedule without fields, are
/// chosen.
struct Configuration {
  Sizes tunables = {};
  Schedule schedule = {};

  bool operator==(const Configuration &) const = default;
};

/// Returns one line, such as "block_m=128 block_n=64 num_warps=8": first the tunables, then the schedule.
std::string toString(const Configuration &configuration);
/// Parses a result of toString. Words that are no names of `tunables` are fields of the schedule. Returns
/// invalid_argument with the unknown word, the tunables and the fields.
Expected<Configuration> parseConfiguration(std::string_view text, std::span<const Tunable> tunables);

/// The values to try for one field of a schedule.
class ScheduleAxis {
public:
  /// Makes an axis of values of the field `member`, as in ScheduleAxis(&Schedule::num_warps, {4, 8}).
  template <class Field> ScheduleAxis(Field Schedule::*member, const std::vector<std::type_identity_t<Field>> &values) {
    for (const Field &value : values)
      choices_.push_back([member, value](Schedule &schedule) { schedule.*member = value; });
  }

  /// Returns functions that each set the field to one of the values.
  const std::vector<std::function<void(Schedule &)>> &choices() const { return choices_; }

private:
  std::vector<std::function<void(Schedule &)>> choices_;
};

/// All combinations of one value of each axis.
using ScheduleSpace = std::vector<ScheduleAxis>;

/// Returns all schedules of the boxes, each once.
std::vector<Schedule> enumerate(const std::vector<ScheduleSpace> &boxes);

} // namespace tegula
