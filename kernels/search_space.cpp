// SPDX-License-Identifier: MIT
#include "tegula/search_space.h"
#include "spaces.h"

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

} // namespace tegula
