// SPDX-License-Identifier: MIT
// Computes the results of a described program in 64 bits, each with a bound of the rounding error.
#pragma once

#include "random/description.h"
#include "random/interval.h"

#include <vector>

namespace tegula::random_programs {

/// Returns the elements of a tensor before the launch, in C order. The tensor's type represents each of them.
std::vector<double> initialElements(const Tensor &tensor);

/// Returns the elements of all tensors after the launch, in C order. Sums of products of e4m3 numbers may have
/// `e4m3SumBits` significant bits.
std::vector<std::vector<Interval>> interpret(const Case &program, int e4m3SumBits = 24);

} // namespace tegula::random_programs
