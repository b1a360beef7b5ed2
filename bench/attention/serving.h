// SPDX-License-Identifier: MIT
// Attention as servers run it: of new queries on a cache, and of sequences of any lengths.
#pragma once

#include "bench/attention/measure.h"

#include <functional>
#include <string>
#include <vector>

namespace tegula::bench {

/// One problem, and the speed that its own is compared with.
struct ServingRow {
  std::string problem;
  std::string pass; ///< "decode", "forward" or "backward"
  double ms = 0;
  double speed = 0;
  double compared = 0;
  std::string error = {}; ///< Why there are no figures.
  bool failed = false;    ///< For another reason than that the problem is too large.
};

struct ServingReport {
  std::string device = {};
  std::string dtype;
  std::string shape;    ///< Sizes of all problems whose names say nothing else.
  std::string unit;     ///< "GB/s" or "TFLOP/s"
  std::string compared; ///< Name of the work whose speed is ServingRow::compared.
  std::vector<ServingRow> rows = {};
};

struct ServingOptions {
  DType dtype = bf16;
  double seconds = 0.3; ///< For each row.
  bool check = true;    ///< Compare each problem with double precision at a small size before.
};

using ShowProblem = std::function<void(const std::string &)>;

/// Measures the bytes of keys and values that decoding reads in a second, beside a copy. The problems are large on a
/// GPU. Returns the error internal with the problem whose check fails.
Expected<ServingReport> measureDecoding(const Machine &machine, const ServingOptions &options,
                                        const ShowProblem &progress);
/// Measures log-normal lengths, forward and backward, beside as many sequences of equal lengths.
Expected<ServingReport> measureVarlen(const Machine &machine, const ServingOptions &options,
                                      const ShowProblem &progress);

std::string toTable(const ServingReport &report);
std::string toJson(const ServingReport &report);

} // namespace tegula::bench
