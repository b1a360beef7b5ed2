// SPDX-License-Identifier: MIT
// The kernels of a plan, and the recipe of each.
#pragma once

#include "attention_spec.h"

#include <string_view>
#include <vector>

namespace tegula {

// The programs of a pass in the order in which they run.
std::vector<std::string_view> forwardKernels(const AttentionProblem &problem);
std::vector<std::string_view> backwardKernels(const AttentionProblem &problem);
/// Returns the program that visits the tiles of a pass.
std::string_view visitorOf(Pass pass);
/// Returns the block mask of a problem's kernels. If turns must count the visits to the tiles of a union, tiles are
/// listed even if the problem has no block mask: the blocks of keys that visit a tile of queries are then not
/// neighbours.
BlockMask blockMaskOf(const AttentionProblem &problem);
/// Returns the programs that make the lists of a pass; none without a block mask.
std::vector<std::string_view> listKernels(const AttentionProblem &problem, Pass pass);

/// Returns `status` with a line that names the problem, which the layers below do not know.
Status withProblem(const Status &status, const AttentionProblem &problem);

} // namespace tegula
