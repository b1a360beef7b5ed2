// SPDX-License-Identifier: MIT
#include "tegula/search_space.h"
#include "spaces.h"

#include <algorithm>

namespace tegula {
namespace {

struct Entry {
  std::string_view program;
  const SearchSpace &space;
};

const Entry kSpaces[] = {
    {"flash2_forward", kFlash2ForwardSpace},
    {"flash2_backward", kFlash2BackwardSpace},
};

/// Calls `visit` with `schedule` and each combination of the axes from index `first` on.
template <class Visit> void forEach(const ScheduleSpace &box, size_t first, Schedule schedule, Visit visit) {
  if (first == box.size())
    return visit(schedule);
  for (const auto &choose : box[first].choices()) {
    choose(schedule);
    forEach(box, first + 1, schedule, visit);
  }
}

} // namespace

Expected<SearchSpace> findSearchSpace(std::string_view program) {
  std::string legal;
  for (const Entry &entry : kSpaces) {
    if (entry.program == program)
      return entry.space;
    legal += (legal.empty() ? "" : ", ") + std::string(entry.program);
  }
  return Status(ErrorCode::unsupported, "'" + std::string(program) + "' has no search space; these have: " + legal);
}

std::vector<Schedule> enumerate(const std::vector<ScheduleSpace> &boxes) {
  std::vector<Schedule> all;
  for (const ScheduleSpace &box : boxes)
    forEach(box, 0, {}, [&](const Schedule &schedule) {
      if (std::find(all.begin(), all.end(), schedule) == all.end())
        all.push_back(schedule);
    });
  return all;
}

} // namespace tegula
