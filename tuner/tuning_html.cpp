// SPDX-License-Identifier: MIT
#include "tuning_text.h"
#include "workload/heat_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tegula {
namespace {

using tools::HeatAxis;
using tools::HeatCell;
using tools::HeatMap;

/// The value of a field that is left to the compiler.
constexpr const char *kLeftOut = "left out";

/// A part of a configuration: the program, a tunable, or a field of the schedule.
struct Field {
  std::string name, value;
};

/// Returns the parts of a candidate's configuration. All candidates of a search have the same ones.
std::vector<Field> fieldsOf(const Tuning &tuning, const Candidate &candidate) {
  std::vector<Field> fields;
  const ProgramIdentity *program = tuning.programOf(candidate);
  for (const NamedSize &tunable : candidate.tunables)
    fields.push_back({tunable.name,
                      program != nullptr && tunable.name == "program" ? program->name : std::to_string(tunable.value)});
  for (const ScheduleField &field : scheduleFields()) {
    const std::string value = field.text(candidate.schedule);
    fields.push_back({std::string(field.name), value.empty() ? kLeftOut : value});
  }
  return fields;
}

std::optional<int64_t> numberOf(const std::string &text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Draws the candidates over the first two fields that differ between them, in a panel for each choice of the others.
class Landscape {
public:
  explicit Landscape(const Tuning &tuning) : tuning_(tuning) {
    map_.title = tuning::titleOf(tuning);
    for (const Candidate &candidate : tuning.candidates)
      fields_.push_back(fieldsOf(tuning, candidate));
    chooseAxes();
    describe();
    for (size_t n = 0; n < fields_.size(); ++n)
      panelOf(fields_[n]).cells.push_back(cellOf(tuning.candidates[n], fields_[n]));
  }

  const HeatMap &map() const { return map_; }

private:
  /// Returns the values of a field: numbers in their order, after words.
  std::vector<std::string> valuesOf(size_t field) const {
    std::vector<std::string> values;
    for (const std::vector<Field> &fields : fields_)
      if (std::ranges::find(values, fields[field].value) == values.end())
        values.push_back(fields[field].value);
    std::ranges::stable_sort(values, {}, numberOf);
    return values;
  }

  void chooseAxes() {
    std::vector<HeatAxis> axes;
    const size_t count = fields_.empty() ? 0 : fields_.front().size();
    for (size_t field = 0; field < count && axes.size() < axes_.size(); ++field)
      if (std::vector<std::string> values = valuesOf(field); values.size() > 1) {
        axes_[axes.size()] = field;
        axes.push_back({fields_.front()[field].name, std::move(values)});
      }
    axes.resize(axes_.size(), {.name = "", .values = {""}});
    map_.rows = axes[0];
    map_.columns = axes[1];
  }

  void describe() {
    map_.notes = {tuning::machineText(tuning_.machine),
                  "Framed: chosen. In italics, with ~: a rough time of few samples. Grey: not timed, with the reason "
                  "under the mouse."};
    map_.unit = "milliseconds of a launch, median";
    const Candidate *winner = tuning_.winner();
    fastest_ms_ = winner != nullptr ? winner->ms : 0;
    if (winner != nullptr) {
      map_.worst = fmt::format("{:.4g} ms or more", 2 * fastest_ms_);
      map_.best = fmt::format("{:.4g} ms", fastest_ms_);
    }
  }

  std::string axisValue(size_t axis, const std::vector<Field> &fields) const {
    return axes_[axis] ? fields[*axes_[axis]].value : "";
  }

  /// Returns the panel of the candidates that agree with `fields` in all that is no axis.
  tools::HeatPanel &panelOf(const std::vector<Field> &fields) {
    std::string title;
    for (size_t field = 0; field < fields.size(); ++field)
      if (field != axes_[0] && field != axes_[1] && fields[field].value != kLeftOut)
        title += fmt::format("{}{}={}", title.empty() ? "" : " ", fields[field].name, fields[field].value);
    const auto [found, isNew] = panels_.try_emplace(title, map_.panels.size());
    if (isNew)
      map_.panels.push_back({.title = title});
    return map_.panels[found->second];
  }

  HeatCell cellOf(const Candidate &candidate, const std::vector<Field> &fields) const {
    const bool isRough = candidate.timed() && !candidate.timedToTheEnd() && !isExhaustive();
    HeatCell cell{.row = axisValue(0, fields),
                  .column = axisValue(1, fields),
                  .text = candidate.timed()
                              ? (isRough ? fmt::format("~{:.2g}", candidate.ms) : fmt::format("{:.4g}", candidate.ms))
                              : std::string(toString(candidate.state)),
                  .hint = fmt::format("{}: {}{}{}", tuning::textOf(tuning_, candidate), toString(candidate.state),
                                      candidate.timed() ? fmt::format(", {} samples", candidate.samples) : "",
                                      candidate.why.empty() ? "" : ": " + candidate.why),
                  .is_rough = isRough,
                  .chosen = &candidate == tuning_.winner()};
    if (candidate.timed() && fastest_ms_ > 0) // Half of the speed has the worst colour.
      cell.quality = std::clamp(2 * fastest_ms_ / candidate.ms - 1, 0.0, 1.0);
    return cell;
  }

  bool isExhaustive() const { return tuning_.exhaustive && tuning_.exhaustive->best; }

  const Tuning &tuning_;
  HeatMap map_;
  std::vector<std::vector<Field>> fields_;    ///< The fields of each candidate.
  std::array<std::optional<size_t>, 2> axes_; ///< Indices of the fields of rows and columns.
  std::map<std::string, size_t> panels_;      ///< Indices, by title.
  double fastest_ms_ = 0;
};

} // namespace

std::string toHtml(const Tuning &tuning) { return toHtml(Landscape(tuning).map()); }

} // namespace tegula
