// SPDX-License-Identifier: MIT
// NumPy's file format, as far as it takes to save f32 arrays.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tegula::tools {

/// Writes `values`, in C order, as an f32 array of `shape`.
Status saveNpy(const std::filesystem::path &file, const std::vector<float> &values, const std::vector<int64_t> &shape);

} // namespace tegula::tools
