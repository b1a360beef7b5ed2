// SPDX-License-Identifier: MIT
#include "tegula/internal/argument_places.h"

#include <algorithm>

namespace tegula {
namespace {

std::string listOf(std::span<const std::string> names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

Status wrongParameter(std::string_view program, const Parameter &parameter, const std::string &problem,
                      std::span<const std::string> names) {
  return {ErrorCode::internal, "program '" + std::string(program) + "': its parameter '" + parameter.name + "' " +
                                   problem + "; the arguments of a launch are " + listOf(names)};
}

} // namespace

Expected<std::vector<size_t>> argumentPlaces(std::string_view program, std::span<const Parameter> parameters,
                                             std::span<const std::string> names) {
  std::vector<size_t> places;
  for (const Parameter &parameter : parameters) {
    const auto found = std::find(names.begin(), names.end(), parameter.name);
    if (found == names.end())
      return wrongParameter(program, parameter, "is no argument", names);
    if (std::find(found + 1, names.end(), parameter.name) != names.end())
      return wrongParameter(program, parameter, "may be any of several arguments", names);
    places.push_back(size_t(found - names.begin()));
  }
  return places;
}

} // namespace tegula
