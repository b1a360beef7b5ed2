// SPDX-License-Identifier: MIT
// What all devices check alike, in the same words.
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

/// Returns invalid_argument for a negative size, and for null where there is something to copy.
Status checkCopy(const void *to, const void *from, int64_t bytes);

/// Returns invalid_argument for a count outside 0 to 2^31 - 1, or more than 2^62 instances.
Status checkGrid(const Grid &grid);

/// "2 x 3 x 4"
std::string toString(const Grid &grid);

inline bool isEmpty(const Grid &grid) { return grid.x == 0 || grid.y == 0 || grid.z == 0; }

/// Whether a device of this target can take the artifact, as far as its fields say.
Status checkArtifact(const Artifact &artifact, std::string_view target);

/// `status` with the kernel's name in front.
Status named(const std::string &kernel, const Status &status);

/// Of a timer without a start and a stop after it.
Status noInterval();

} // namespace tegula
