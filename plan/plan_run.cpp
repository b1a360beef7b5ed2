// SPDX-License-Identifier: MIT
#include "tegula/plan_run.h"

#include <algorithm>
#include <stdexcept>

namespace tegula {
namespace {

template <class Entries> std::string namesOf(const Entries &entries) {
  std::string names;
  for (const auto &each : entries)
    names += (names.empty() ? "" : ", ") + each.name;
  return names.empty() ? "none" : names;
}

/// Returns the entry of a name. Throws std::out_of_range if there is none; `kind` is a word for the message.
template <class Entries> auto &entry(Entries &entries, const std::string &kind, std::string_view name) {
  const auto found = std::ranges::find_if(entries, [&](const auto &each) { return each.name == name; });
  if (found == entries.end())
    throw std::out_of_range("the call has no " + kind + " '" + std::string(name) + "'; it has " + namesOf(entries));
  return *found;
}

} // namespace

std::vector<double> &HostCall::operator[](std::string_view tensor) { return entry(tensors, "tensor", tensor).values; }
double HostCall::scalar(std::string_view name) const { return entry(scalars, "scalar", name).value; }
int64_t HostCall::size(std::string_view name) const { return entry(sizes, "size", name).value; }

} // namespace tegula
