// SPDX-License-Identifier: MIT
// The order in which a recorded program is written down.
#pragma once

#include "graph.h"

#include <vector>

namespace tegula {

struct Order {
  std::vector<std::vector<NodeId>> regions; ///< By RegionId: its operations, first to last.
  std::vector<bool> live;                   ///< By NodeId: effects, and what they need.

  /// Whether what a For or If carries is needed.
  bool carries(const Carried &carried) const {
    return (carried.result && live[carried.result]) || (carried.argument && live[carried.argument]);
  }
};

/// Operands before operations, from left to right; an operation stands in the region where it was recorded, before the
/// first anchor that needs it. Loads do not move past anchors: those that no operand asked for before the anchor that
/// follows them are written just before it, in the order in which the rest of the program needs them. Nothing here
/// depends on the order in which equal-ranking nodes were recorded, which is up to the C++ compiler.
Order linearize(const Graph &graph);

} // namespace tegula
