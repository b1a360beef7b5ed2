// SPDX-License-Identifier: MIT
// The memory that algorithms need between and inside their kernels, and how the workspace is divided.
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// A contiguous tensor in the workspace, with the name of a kernel's parameter.
struct WorkspaceTensor {
  std::string_view name;
  TensorRef tensor; ///< place() sets its data.
  int64_t offset;   ///< Bytes from the start of the workspace.
};

struct WorkspaceLayout {
  std::vector<WorkspaceTensor> tensors;
  int64_t bytes = 0;

  /// Sets the tensors' addresses. Returns invalid_argument if `workspace` is too small or not aligned.
  Status place(const Workspace &workspace);
};

enum class Pass { forward, backward };

/// Returns the tensors that a pass keeps in the workspace. If `counts`, instances of the pass take their blocks from a
/// counter, which comes last. Returns resource_exhausted if 63 bits cannot hold the number of bytes.
Expected<WorkspaceLayout> workspaceLayout(Algorithm algorithm, Pass pass, const AttentionShape &shape, int head_dim,
                                          int value_dim, bool counts);

} // namespace tegula
