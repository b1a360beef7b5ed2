// SPDX-License-Identifier: MIT
// Tensor memory, to which tcgen05.mma writes its results: 128 lanes of 512 columns of 32 bits.
#pragma once

#include "simt/clocks.h"
#include "simt/product.h"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace tegula::simt {

inline constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512, kTensorCells = kTensorLanes * kTensorColumns;

/// An address in tensor memory.
struct TensorAddress {
  uint32_t row, column;

  static constexpr TensorAddress from(uint32_t bits) { return {bits >> 16, bits & 0xffff}; }
  constexpr uint32_t bits() const { return row << 16 | column; }
};

/// The instruction descriptor of tcgen05.mma.kind::f16.
struct TensorInstruction {
  uint32_t bits;

  constexpr uint32_t field(unsigned at, unsigned width) const { return bits >> at & ((1U << width) - 1); }
  constexpr bool hasFloatSums() const { return field(4, 2) == 1; }
  /// Returns true if both operands are f16, or both bf16.
  constexpr bool isKnown() const { return field(7, 3) == field(10, 3) && field(7, 3) <= 1; }
  constexpr SimtMma type() const { return field(7, 3) == 0 ? SimtMma::f16 : SimtMma::bf16; }
  constexpr bool transposes(bool rhs) const { return field(rhs ? 16 : 15, 1) != 0; }
  constexpr uint32_t columns() const { return field(17, 6) << 3; }
  constexpr uint32_t rows() const { return field(24, 5) << 4; }
};

/// The tensor memory of a program instance.
struct TensorCells {
  std::vector<float> cells;                 ///< Lane by lane. Empty before the first allocation.
  std::map<uint32_t, uint32_t> allocated{}; ///< Numbers of columns, by the first column.
  bool relinquished = false;
  uint32_t lane = 0, site = 0; ///< The last allocation.

  /// Returns the first column from which on `columns` columns are free, or kTensorColumns.
  uint32_t findFree(uint32_t columns) const;
  bool areAllocated(uint32_t column, uint32_t columns) const;
};

/// An MMA in flight, or a commit of the MMAs before it, which arrives at an mbarrier.
struct TensorStep {
  Product product;
  uint32_t to = 0; ///< The first column of the results; for a commit, the offset of the mbarrier.
  bool accumulates = false, commits = false;
  VectorClock known = {}; ///< For a commit: the work of engines that comes before the MMAs.
};

/// The work of the tensor cores for a lane, in order.
struct TensorQueue {
  uint32_t engine = 0, started = 0; ///< Epochs of the engine are MMAs, counted from 1.
  uint32_t done = 0;                ///< MMAs that are over.
  VectorClock known;                ///< The work of engines that comes before the MMAs, such as copies of operands.
  std::deque<TensorStep> steps;
};

/// Loads from tensor memory by a lane.
struct TensorLoads {
  uint32_t engine = 0, fences = 0; ///< Epochs of the engine are fences before the lane meets others.
  uint32_t site = 0;               ///< Site of the last load.
  std::vector<float> values;       ///< Loaded numbers that the lane has not waited for.
};

} // namespace tegula::simt
