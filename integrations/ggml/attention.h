// SPDX-License-Identifier: MIT
// ggml's operation FLASH_ATTN_EXT on the cores of this process.
#pragma once

#include "ggml.h"
#include "tegula/tegula.hpp"

#include <map>
#include <utility>

namespace tegula::ggml {

/// Returns ok, or why Attention does not compute an operation. Compiles nothing.
host::Status supports(const host::Context &context, const ggml_tensor &op);

/// Computes operations for which supports() returns ok. One thread at a time may use an object.
class Attention {
public:
  explicit Attention(host::Context context) : context_(std::move(context)) {}

  /// Computes op.data. Compiles kernels at the first operation of a kind.
  host::Status compute(const ggml_tensor &op);

private:
  /// The fields of a problem that differ between two operations that have decoding plans.
  struct DecodeKey {
    int32_t dtype, head_dim, value_dim, rows, sinks;
    const char *text;
    double softcap;

    bool operator<(const DecodeKey &other) const;
  };

  host::Expected<host::Plan> decodePlan(const tegula_attention_problem &problem, int32_t rows);

  host::Context context_;
  std::map<DecodeKey, host::Plan> decode_plans_;
};

} // namespace tegula::ggml
