// SPDX-License-Identifier: MIT
// The tensors of one attention problem on the host, in f32: exactly as the device holds them, but keys and values in
// pages in the order of their sequences.
#pragma once

#include "workload/attention_data.h"

#include <string>
#include <vector>

namespace tegula::tools {

struct AttentionArrays {
  std::vector<float> q, k, v, o, lse;
  std::vector<float> d_o, dq, dk, dv;                ///< Empty without a backward pass.
  std::vector<float> sinks, d_sinks;                 ///< Empty without sinks.
  std::vector<std::vector<float>> variant;           ///< As Variant::tensors.
  std::vector<std::vector<float>> variant_gradients; ///< Gradients of tensors that want one.
};

/// Reads all tensors. With `backward`, also the gradients.
Expected<AttentionArrays> readArrays(const AttentionData &data, bool backward);

/// Writes q.npy, k.npy, v.npy, o.npy, lse.npy, sinks.npy if there are sinks, the variant's tensors by their names and,
/// with a backward pass, do.npy, dq.npy, dk.npy, dv.npy, d_sinks.npy and so on to a folder.
Status saveArrays(const std::string &folder, const AttentionArrays &arrays, const AttentionData &data, bool backward);

} // namespace tegula::tools
