// SPDX-License-Identifier: MIT
// Runs recorded programs without control flow, in double precision: what a test needs to check values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct Tile {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Runs `text` on `views`, keyed by parameter name, which it reads and writes. Throws std::runtime_error for what it
/// does not know.
void interpret(const std::string &text, std::map<std::string, Tile> &views);
