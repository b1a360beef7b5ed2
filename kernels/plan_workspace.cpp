// SPDX-License-Identifier: MIT
#include "plan_workspace.h"
#include "plan_check.h"

#include <cstdint>
#include <limits>

namespace tegula {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 2;

struct Request {
  std::string_view name;
  int64_t last_dim; ///< 0: the tensor is [batch, heads, seqlen_q].
};

std::vector<Request> requests(Algorithm algorithm, Pass pass, const AttentionShape &shape, int head_dim,
                              int value_dim) {
  if (pass == Pass::backward)
    return {{"delta", 0}, {"dq_acc", head_dim}};
  if (algorithm == Algorithm::standard)
    return {{"s", shape.seqlen_k}, {"p", shape.seqlen_k}};
  if (algorithm == Algorithm::flash1)
    return {{"m", 0}, {"l", 0}, {"acc", value_dim}};
  return {};
}

} // namespace

Status WorkspaceLayout::place(const Workspace &workspace) {
  if (workspace.bytes < bytes)
    return invalidArgument("workspace", "it has " + std::to_string(workspace.bytes) + " bytes; " +
                                            std::to_string(bytes) + " are needed for these shapes");
  if (bytes > 0 && (!workspace.data || reinterpret_cast<uintptr_t>(workspace.data) % kAlignment))
    return invalidArgument("workspace", "its address is null or not a multiple of " + std::to_string(kAlignment));
  for (WorkspaceTensor &entry : tensors)
    entry.tensor.data = static_cast<char *>(workspace.data) + entry.offset;
  return {};
}

Expected<WorkspaceLayout> workspaceLayout(Algorithm algorithm, Pass pass, const AttentionShape &shape, int head_dim,
                                          int value_dim) {
  WorkspaceLayout layout;
  for (auto [name, last_dim] : requests(algorithm, pass, shape, head_dim, value_dim)) {
    bool statistic = name == "delta" || name == "m" || name == "l";
    int64_t sizes[] = {shape.batch, shape.heads, shape.seqlen_q, last_dim};
    Expected<TensorRef> tensor = contiguous(nullptr, f32, std::span<const int64_t>(sizes, statistic ? 3 : 4));
    Expected<int64_t> count = numel(*tensor);
    if (!count || *count > (kMaxBytes - layout.bytes) / int64_t(sizeof(float)))
      return Status(ErrorCode::ResourceExhausted,
                    "the workspace for these shapes would exceed " + std::to_string(kMaxBytes) + " bytes");
    layout.tensors.push_back({name, *tensor, layout.bytes});
    layout.bytes += (*count * int64_t(sizeof(float)) + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layout;
}

} // namespace tegula
