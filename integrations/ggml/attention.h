// SPDX-License-Identifier: MIT
// ggml's operation FLASH_ATTN_EXT on the cores of this process.
#pragma once

#include "ggml.h"
#include "tegula/tegula.hpp"

#include <map>
#include <utility>

namespace tegula::ggml {

/// Returns whether Attention computes an operation. Compiles nothing, and keeps answers.
bool supports(const host::Context &context, const ggml_tensor &op);

/// The fields in which the problems of operations differ.
struct ProblemKey {
  int32_t dtype, head_dim, value_dim, sinks;
  const char *text; ///< A constant, or null.
  double softcap;

  bool operator<(const ProblemKey &other) const;
};

/// Computes operations for which supports() returns ok. One thread at a time may use an object.
class Attention {
public:
  explicit Attention(host::Context context) : context_(std::move(context)) {}

  /// Computes op.data. Compiles kernels at the first operation of a kind.
  host::Status compute(const ggml_tensor &op);

private:
  host::Expected<host::Plan> decodePlan(const tegula_attention_problem &problem, int32_t rows);

  host::Context context_;
  std::map<std::pair<ProblemKey, int32_t>, host::Plan> decode_plans_; ///< By problem and rows.
};

} // namespace tegula::ggml
