// SPDX-License-Identifier: MIT
// Kernels of programs that were recorded elsewhere.
#include "tegula/kernel_spec.h"

#include "tegula/internal/digest.h"
#include "tegula/internal/program_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tegula {
namespace {

constexpr std::string_view kProgram = "program";

/// Returns the grid of the program that the tunable selects.
std::array<Size, 3> gridOf(const std::vector<NamedProgram> &programs) {
  std::array<Size, 3> grid = programs.back().grid;
  for (size_t n = programs.size() - 1; n-- > 0;)
    for (size_t axis = 0; axis < grid.size(); ++axis)
      grid[axis] = select(Size(kProgram) == identityOf(programs[n]).value, programs[n].grid[axis], grid[axis]);
  return grid;
}

Size isOneOf(const std::vector<int> &values) {
  Size legal = 0;
  for (const int value : values)
    legal = legal | (Size(kProgram) == value);
  return legal;
}

} // namespace

ProgramIdentity identityOf(const NamedProgram &program) {
  constexpr size_t digits = 8;
  constexpr uint32_t positive = 0x7fffffff;
  std::string hash = digest(withoutLocations(program.program.text));
  uint32_t value = 0;
  std::from_chars(hash.data(), hash.data() + digits, value, 16);
  return {.name = program.name, .digest = std::move(hash), .value = static_cast<int>(value & positive)};
}

KernelSpec KernelSpec::ofPrograms(std::vector<NamedProgram> programs, std::vector<ArgumentSpec> arguments) {
  std::vector<int> values;
  std::vector<std::string> names;
  for (const NamedProgram &program : programs) {
    values.push_back(identityOf(program).value);
    names.push_back(program.program.name);
  }
  const auto record = [programs, values](const Sizes &tunables) -> Expected<Program> {
    const size_t n = tunables.empty() ? 0 : size_t(std::ranges::find(values, tunables.front().value) - values.begin());
    if (n < programs.size())
      return programs[n].program;
    return Status(ErrorCode::invalid_argument, "there is no program " + std::to_string(tunables.front().value));
  };
  const std::string name = *std::ranges::min_element(names);
  if (programs.size() == 1) {
    const std::array<Size, 3> &grid = programs.front().grid;
    KernelSpec kernel = ofPrograms(name, std::move(arguments), record).grid(grid[0], grid[1], grid[2]);
    kernel.programs_ = std::move(programs);
    return kernel;
  }
  const std::array<Size, 3> grid = gridOf(programs);
  KernelSpec kernel = ofPrograms(name, std::move(arguments), record, {Tunable(kProgram, values, values.front())})
                          .grid(grid[0], grid[1], grid[2])
                          .where(isOneOf(values), "the kernel has no such program");
  kernel.programs_ = std::move(programs);
  return kernel;
}

KernelSpec KernelSpec::only(int64_t value) const {
  const auto isIt = [&](const NamedProgram &program) { return identityOf(program).value == value; };
  const auto found = std::ranges::find_if(programs_, isIt);
  KernelSpec kernel = ofPrograms({*found}, arguments_);
  kernel.schedule_ = schedule_;
  kernel.boxes_ = boxes_;
  return kernel;
}

} // namespace tegula
