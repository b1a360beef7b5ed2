// SPDX-License-Identifier: MIT
// The comparison of a ring's results with double precision.
#pragma once

#include "rank.h"
#include "team.h"

/// Results of the whole sequence, to which each rank adds its part: o [batch, heads, tokens, head_dim] in bf16, lse
/// [batch, heads, tokens].
struct WholeOutputs {
  explicit WholeOutputs(const Options &options)
      : o(options.batch * options.heads * options.tokens * options.head_dim),
        lse(options.batch * options.heads * options.tokens) {}

  std::vector<uint16_t> o;
  std::vector<float> lse;
};

/// Compares rows of a rank's o, lse, dq, dk and dv with plain loops in double precision: all rows, or about 32 of each
/// tensor if there are more than 2048. dk and dv take o and lse of the ring as given. All ranks call it, after both
/// passes. Returns true if no error exceeds twice the error of the plain formula in bf16, or twice the rounding of the
/// result.
bool isRight(const Options &options, const Rank &rank, Device &device, WholeOutputs &whole, Team &team);
