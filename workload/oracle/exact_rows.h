// SPDX-License-Identifier: MIT
// The softmax of one query row, in 64 bits.
#pragma once

#include "oracle/oracle.h"
#include "oracle/rows.h"

namespace tegula::oracle {

/// The softmax of one query row. All vectors are indexed by key.
struct ExactRow {
  std::vector<char> seen;
  std::vector<std::vector<double>> before; ///< Indexed by [step][key]: the score before each step.
  std::vector<double> s;                   ///< The score in the softmax; -inf if the row does not see the key.
  std::vector<double> p;
  double lse;
};

ExactRow exactRow(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const Row &row);

double product(const float *a, const float *b, int64_t n);

} // namespace tegula::oracle
