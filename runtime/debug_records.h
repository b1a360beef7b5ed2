// SPDX-License-Identifier: MIT
// The records that a kernel has written (DebugLayout), as text.
#pragma once

#include "tegula/artifact.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula {

struct DebugReport {
  std::vector<std::string> prints;  ///< One text for each record of a print, in the order of the records.
  std::optional<std::string> error; ///< The first element that is not finite, or the first assertion that failed.
};

/// Reads records. Each has `layout.record_words` words; incomplete ones at the end are left out.
DebugReport readRecords(const DebugLayout &layout, std::span<const int32_t> words);

} // namespace tegula
