// SPDX-License-Identifier: MIT
// The order in which a recorded program is written down.
#pragma once

#include "graph.h"

#include <vector>

namespace tegula {

struct Order {
  std::vector<std::vector<NodeId>> regions; ///< The operations of each region, first to last; by RegionId.
  std::vector<bool> live;                   ///< True for effects and for the nodes that they need; by NodeId.

  /// Returns true if a value that a For or If carries is needed.
  bool carries(const Carried &carried) const {
    return (carried.result && live[carried.result]) || (carried.argument && live[carried.argument]);
  }
};

/// Puts the operations of a program in order: operands before operations, from left to right. An operation stays in the
/// region where it was recorded, before the first anchor that needs it. Loads do not move past anchors. If no operand
/// needs a load before the next anchor, the load is written just before that anchor, in the order in which the rest of
/// the program needs the loads. The result does not depend on the order in which equal-ranking nodes were recorded,
/// because the C++ compiler decides that order.
Order linearize(const Graph &graph);

} // namespace tegula
