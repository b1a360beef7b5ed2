// SPDX-License-Identifier: MIT
#include "tegula/plan_run.h"

#include <algorithm>
#include <stdexcept>

namespace tegula {
namespace {

/// Returns the entry of a name. Throws std::out_of_range if there is none.
template <class Entries> auto &entry(Entries &entries, std::string_view name) {
  const auto found = std::ranges::find_if(entries, [&](const auto &each) { return each.name == name; });
  if (found == entries.end())
    throw std::out_of_range(std::string(name));
  return *found;
}

} // namespace

std::vector<double> &HostCall::operator[](std::string_view tensor) { return entry(tensors, tensor).values; }
double HostCall::scalar(std::string_view name) const { return entry(scalars, name).value; }
int64_t HostCall::size(std::string_view name) const { return entry(sizes, name).value; }

} // namespace tegula
