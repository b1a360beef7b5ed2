// SPDX-License-Identifier: MIT
// Questions about how one node depends on another.
#pragma once

#include "graph.h"

#include <optional>
#include <string>

namespace tegula {

/// Returns the first node that combines elements of a tile at different places, on a way from `input` to `output`.
/// Without such a node, an element of `output` depends on one element of `input`, whatever the shapes of tiles are. A
/// transpose counts, too, because an element and its transpose may meet.
std::optional<NodeId> findMixing(const Graph &graph, NodeId input, NodeId output);

/// Returns true if `output` is computed from `input`, through any operations.
bool dependsOn(const Graph &graph, NodeId input, NodeId output);

/// Returns the name of an operation for an error, such as "a reduction".
std::string nameOf(const Node &node);

} // namespace tegula
