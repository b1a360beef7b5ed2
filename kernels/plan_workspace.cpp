// SPDX-License-Identifier: MIT
#include "plan_workspace.h"
#include "plan_check.h"

#include <array>
#include <cstdint>
#include <limits>

namespace tegula {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 2;

struct Request {
  std::string_view name;
  int rank;
  std::array<int64_t, 4> sizes;
  DType dtype = f32;
};

std::vector<Request> requests(Algorithm algorithm, Pass pass, const AttentionShape &shape, int head_dim, int value_dim,
                              bool counts) {
  auto statistic = [&](std::string_view name) -> Request {
    return {name, 3, {shape.batch, shape.heads, shape.seqlen_q}};
  };
  auto rows = [&](std::string_view name, int64_t columns) -> Request {
    return {name, 4, {shape.batch, shape.heads, shape.seqlen_q, columns}};
  };
  if (pass == Pass::backward)
    return {statistic("lse_term"), statistic("dp_init"), rows("dq_acc", head_dim)};
  if (algorithm == Algorithm::standard)
    return {rows("s", shape.seqlen_k), rows("p", shape.seqlen_k)};
  if (algorithm == Algorithm::flash1)
    return {statistic("m"), statistic("l"), rows("acc", value_dim)};
  if (counts)
    return {{"counter", 1, {1}, i32}};
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
                                          int value_dim, bool counts) {
  WorkspaceLayout layout;
  for (const auto &[name, rank, sizes, dtype] : requests(algorithm, pass, shape, head_dim, value_dim, counts)) {
    Expected<TensorRef> tensor = contiguous(nullptr, dtype, std::span<const int64_t>(sizes.data(), rank));
    Expected<int64_t> count = numel(*tensor);
    const int64_t elementBytes = sizeOf(dtype);
    if (!count || *count > (kMaxBytes - layout.bytes) / elementBytes)
      return Status(ErrorCode::resource_exhausted,
                    "the workspace for these shapes would exceed " + std::to_string(kMaxBytes) + " bytes");
    layout.tensors.push_back({name, *tensor, layout.bytes});
    layout.bytes += (*count * elementBytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layout;
}

} // namespace tegula
