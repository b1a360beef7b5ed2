// SPDX-License-Identifier: MIT
// What the algorithms keep in memory between and inside their kernels, and how the workspace is divided.
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// A contiguous tensor in the workspace, named as the kernels' parameter.
struct WorkspaceTensor {
  std::string_view name;
  TensorRef tensor; ///< Its data is set by place().
  int64_t offset;   ///< Bytes from the start of the workspace.
};

struct WorkspaceLayout {
  std::vector<WorkspaceTensor> tensors;
  int64_t bytes = 0;

  /// Sets the tensors' data. Returns invalid_argument if `workspace` is too small or not aligned.
  Status place(const Workspace &workspace);
};

enum class Pass { forward, backward };

/// Returns resource_exhausted if 63 bits cannot hold the number of bytes.
/// `counts`: instances of the pass take their blocks from it. The counter comes last.
Expected<WorkspaceLayout> workspaceLayout(Algorithm algorithm, Pass pass, const AttentionShape &shape, int head_dim,
                                          int value_dim, bool counts);

} // namespace tegula
