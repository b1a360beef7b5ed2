// SPDX-License-Identifier: MIT
// The sizes of warps, warpgroups, their MMAs and tensor memory (PTX ISA, wgmma, tcgen05 and setmaxnreg).
#pragma once

#include <cstdint>

namespace tegula::sm {

constexpr int64_t kWarpSize = 32;
constexpr int64_t kWarpsPerWarpgroup = 4;
constexpr int64_t kRowsPerWarp = 16; ///< Rows of an accumulator that a warp holds.
constexpr int64_t kRowsPerWarpgroup = kWarpsPerWarpgroup * kRowsPerWarp;
constexpr int64_t kMaxMmaColumns = 256; ///< Columns of an accumulator of wgmma.
constexpr int64_t kTensorLanes = 128;   ///< Lanes of tensor memory: rows of an accumulator of tcgen05.
constexpr int64_t kTensorColumns = 512; ///< Columns of tensor memory of a multiprocessor.
constexpr int64_t kMinRegisters = 24;   ///< The fewest registers per thread that setmaxnreg accepts.
constexpr int64_t kMaxRegisters = 256;  ///< The most that setmaxnreg accepts.

/// The warps of a role that transposes tiles. They share a warpgroup with the role that loads.
constexpr int64_t kTransposeWarps = 2;
/// The most bytes of a tile that such a role transposes: 64 registers of each thread. A larger tile would take
/// registers that the accumulators need.
constexpr int64_t kMostTransposed = 4 * 64 * kWarpSize * kTransposeWarps;

} // namespace tegula::sm
