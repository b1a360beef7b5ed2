// SPDX-License-Identifier: MIT
#include "workload/packed_intervals.h"

#include "tegula/packed.h"

#include <utility>

namespace tegula::tools {
namespace {

constexpr int32_t kUnbounded = -1;

Expected<DeviceTensor> uploaded(Device &device, const std::vector<int32_t> &numbers) {
  Expected<DeviceTensor> tensor = allocateTensor(device, i32, {int64_t(numbers.size())});
  if (tensor)
    TEGULA_RETURN_IF_ERROR(upload(device, std::span(numbers), *tensor));
  return tensor;
}

/// Returns a tensor [1, positions] as [positions].
TensorRef positionsOf(const DeviceTensor &tensor) { return contiguous(tensor.view.data, i32, {tensor.view.shape[1]}); }

} // namespace

Expected<PackedIntervals> PackedIntervals::make(const PackedSequences &sequences, Device &device, KernelCache &cache) {
  Expected<PlanSpec> spec = packedIntervals();
  if (!spec)
    return spec.status();
  Expected<Plan> plan = Plan::make(*spec, cache);
  if (!plan)
    return plan.status();
  Expected<DeviceTensor> q = uploaded(device, sequences.offsets_q), k = uploaded(device, sequences.offsets_k);
  if (!q || !k)
    return q ? k.status() : q.status();
  return PackedIntervals(std::move(*plan), std::move(*q), std::move(*k),
                         sequences.causal == Causal::none ? kUnbounded : 0);
}

Status PackedIntervals::launch(std::span<const DeviceTensor> documents) const {
  return plan_.launch({{"offsets_q", offsets_q_.view},
                       {"offsets_k", offsets_k_.view},
                       {"left", kUnbounded},
                       {"right", right_},
                       {"begin", positionsOf(documents[0])},
                       {"end", positionsOf(documents[1])},
                       {"query_begin", positionsOf(documents[2])},
                       {"query_end", positionsOf(documents[3])}});
}

} // namespace tegula::tools
