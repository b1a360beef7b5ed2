// SPDX-License-Identifier: MIT
// What a benchmark of attention found, and how it is shown. Figures of other implementations come in the same form.
#pragma once

#include "tegula/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tegula::bench {

/// The most that the machine can do of one kind of work, measured in the same run.
struct MachineLimit {
  std::string name; ///< "matrix product, cuBLAS"
  double value = 0;
  std::string unit; ///< "TFLOP/s" or "GB/s"
};

/// One problem, computed in one way.
struct Row {
  std::string pass;      ///< "forward" or "backward"
  std::string algorithm; ///< "flash2", or the name of another implementation.
  int head_dim = 0;
  std::string causal; ///< "none", "top_left" or "bottom_right"
  int64_t batch = 0, heads = 0, seqlen = 0;
  std::string variant = {}; ///< Empty: plain attention.
  double ms = 0;
  double tflops = 0;
  std::optional<double> gigabytes = {}; ///< Loaded and stored by the programs, from whatever cache.
  std::optional<double> clock_mhz = {}, watts = {};
  std::string error = {}; ///< Why there are no figures.
  bool failed = false;    ///< For another reason than that the problem is too large.
};

struct Report {
  std::string device;
  std::string dtype;
  int64_t tokens = 0; ///< Tokens of a batch.
  int64_t hidden = 0; ///< heads * head_dim
  std::vector<MachineLimit> limits = {};
  std::vector<Row> rows = {};
};

std::string toJson(const Report &report);
/// The inverse of toJson. The error invalid_argument says what is wrong with the text.
Expected<Report> parseReport(const std::string &json);

/// Each row in full, then TFLOP/s of everything in short, then what variants cost.
std::string toTable(const Report &report);

/// Returns a page for a browser: TFLOP/s over the sequence length, in a table for each pass, head dimension and mask,
/// with a row for each algorithm.
std::string toHtml(const Report &report);

} // namespace tegula::bench
