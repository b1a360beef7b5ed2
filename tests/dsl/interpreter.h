// SPDX-License-Identifier: MIT
// Runs recorded programs without control flow, in double precision, so that tests can check values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct Tile {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Runs `text` on `views`, which are keyed by parameter name, and which it reads and writes. Throws std::runtime_error
/// for an operation that it does not know.
void interpret(const std::string &text, std::map<std::string, Tile> &views);
