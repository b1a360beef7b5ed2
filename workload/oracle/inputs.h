// SPDX-License-Identifier: MIT
// Makes inputs from a seed, of families that have broken attention kernels. All numbers are exact in the element type.
#pragma once

#include "oracle/oracle.h"

#include <span>
#include <string_view>

namespace tegula::oracle {

enum class Family {
  normal,        ///< N(0, 1).
  enlarged,      ///< N(0, 16): scores 16 times as large.
  outliers,      ///< N(0, 1), and one in a thousand N(0, 1) + N(0, 100) (FlashAttention-3, section 4.3).
  growing_max,   ///< The largest score of a row grows with the key: the online softmax must rescale at each block.
  growing_below, ///< As growing_max, but all scores are negative: their bits compare the other way round as integers.
  crossing_zero, ///< As growing_max, from -60 to 60: even a softcap's last scores are far larger than its first.
  falling_max,   ///< The reverse of growing_max: the largest score of a row shrinks with the key.
  one_hot,       ///< Each row's score of one key exceeds all others by 200 or more, if head_dim >= 16.
  sinks,         ///< The scores of the first four keys are about 12 larger.
  shifted_up,    ///< All scores are about 120 larger.
  shifted_down,  ///< All scores are about 120 smaller: exp(0 - lse) overflows if padding counts as score 0.
  far_down,      ///< All scores are about 51000 smaller, below any finite stand-in for -inf.
  uniform,       ///< q = 0: all scores are equal.
};

std::span<const Family> allFamilies();
std::string_view toString(Family family);

/// Makes q, k and v for softmax(scale q k^T). `seed` determines all numbers, on every machine.
Inputs makeInputs(const Shape &shape, double scale, DType dtype, Family family, uint64_t seed);

/// Returns `count` numbers from N(0, 1), exact in `dtype`.
std::vector<float> normalNumbers(int64_t count, DType dtype, uint64_t seed);

/// Returns the key that row `query` of the one_hot family selects.
int64_t oneHotKey(const Shape &shape, int64_t query);

} // namespace tegula::oracle
