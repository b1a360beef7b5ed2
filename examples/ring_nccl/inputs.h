// SPDX-License-Identifier: MIT
// Inputs that each rank and each comparison can compute from their place in the whole tensor.
#pragma once

#include "options.h"
#include "ring_plan.h"

#include <cstdint>
#include <vector>

enum class Input { q, k, v, d_o };

/// Conversion between bf16, which is the upper half of an f32, and float; to the nearest, ties to even.
uint16_t toBf16(float x);
float fromBf16(uint16_t bits);

/// The numbers of the four inputs: independent, of a standard normal distribution, in bf16.
class RandomInputs {
public:
  explicit RandomInputs(const Options &options) : options_(options) {}

  /// Returns the heads of an input.
  int64_t headsOf(Input input) const {
    return input == Input::k || input == Input::v ? options_.kv_heads : options_.heads;
  }
  /// Returns the numbers of a position of the whole sequence, [head_dim].
  void row(Input input, int64_t batch, int64_t head, int64_t position, uint16_t *numbers) const;
  /// Returns a rank's part, [batch, heads, length, head_dim].
  std::vector<uint16_t> part(Input input, const RingPlan &plan) const;

private:
  Options options_;
};
