// SPDX-License-Identifier: MIT
// Checks that all devices make, with the same messages.
#pragma once

#include "tegula/artifact.h"
#include "tegula/kernel.h"
#include "tegula/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula {

inline Status invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// Returns invalid_argument for a negative size.
Status checkBytes(int64_t bytes);

/// Returns invalid_argument for a negative size, and for a null pointer if there is something to copy.
Status checkCopy(const void *to, const void *from, int64_t bytes);

/// Returns invalid_argument for a count outside 0 to 2^31 - 1, or more than 2^62 instances.
Status checkGrid(const Grid &grid);

/// Returns a text such as "2 x 3 x 4".
std::string toString(const Grid &grid);

inline bool isEmpty(const Grid &grid) { return grid.x == 0 || grid.y == 0 || grid.z == 0; }

/// Returns invalid_argument if the artifact's fields show that a device of this target cannot take it.
Status checkArtifact(const Artifact &artifact, std::string_view target);

/// Returns an error with the kernel's name in front, and success as it is.
Status named(const std::string &kernel, Status status);

/// Returns the error of a timer without a start and a stop after it.
Status noInterval();

} // namespace tegula
