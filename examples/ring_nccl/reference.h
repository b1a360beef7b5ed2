// SPDX-License-Identifier: MIT
// Attention by plain loops in double precision, for single rows of the results.
#pragma once

#include "inputs.h"

#include <vector>

struct QueryRow {
  std::vector<double> o, dq;
  double lse;
};
struct KeyRow {
  std::vector<double> dk, dv;
};

/// Computes rows of the results for RandomInputs. `head` counts the heads of all batch entries, and `position` the
/// tokens. With `rounded`, S, P, dP, dS and the results are rounded to bf16, as the plain formula in bf16 does.
class Reference {
public:
  /// `o` and `lse` are those of all queries. Only key() reads them. Both must outlive the reference.
  Reference(const Options &options, const std::vector<uint16_t> &o, const std::vector<float> &lse);

  QueryRow query(int64_t head, int64_t position, bool rounded) const;
  KeyRow key(int64_t head, int64_t position, bool rounded) const;

private:
  void read(Input input, int64_t head, int64_t position, std::vector<double> &row) const;
  std::vector<double> row(Input input, int64_t head, int64_t position) const;

  const Options options_;
  const RandomInputs inputs_;
  const std::vector<uint16_t> &o_;
  const std::vector<float> &lse_;
  const double scale_;
};
