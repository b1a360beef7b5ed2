// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention_programs.h"

namespace tegula {

/// Returns the axes on which the conditions of the problem and its given blocks depend. Returns the errors of the
/// variant's functions.
Expected<ListAxes> listAxes(const AttentionConfig &config);

} // namespace tegula
