// SPDX-License-Identifier: MIT
// Kernels with one change to an instruction that orders others, for the simt device.
#pragma once

#include "tegula/simt_device.h"

#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

struct Mutant {
  std::string name; ///< Such as "flash2_forward:7:weaken (bar.sync at flash2_forward.cpp:24)".
  SimtMutation mutation;
};

/// Returns the mutants of an instruction; none if it orders no others.
std::vector<Mutant> mutantsOf(const SimtSite &site);

/// Returns true for an arrival or a wait at an mbarrier that orders no memory. It is no error: ptxas makes the same
/// instructions of it, with those for shared memory in the same order (tests/kernels/assembled_test.cpp).
bool ordersNoMemory(std::string_view mutant);

} // namespace tegula::tools
