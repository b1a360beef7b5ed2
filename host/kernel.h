// SPDX-License-Identifier: MIT
// Kernels of any program, and the arguments of their launches.
#pragma once

#include "context.h"

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace tegula {

/// The arguments of one launch in C++. Allocates from its own memory only, unless there are unusually many.
class ArgumentList {
public:
  /// Reads the caller's arguments. Returns invalid_argument with the index of one that is wrong.
  Status read(const tegula_argument *arguments, size_t count);
  std::span<const Argument> all() const { return arguments_; }

private:
  std::array<std::byte, 4 << 10> bytes_; ///< More than kernels usually need.
  std::pmr::monotonic_buffer_resource memory_{bytes_.data(), bytes_.size()};
  std::pmr::vector<Argument> arguments_ = std::pmr::vector<Argument>(&memory_);
};

/// Returns the kernel of a program's text, under the policy of the context. `schedule` may be null.
Expected<std::shared_ptr<Kernel>> getKernel(HostContext &host, const char *text, size_t size, const char *schedule);

/// Writes the description of a parameter into the caller's structure, as far as that goes.
Status describe(std::span<const Parameter> parameters, size_t index, tegula_parameter *to);

} // namespace tegula
