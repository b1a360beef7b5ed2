// SPDX-License-Identifier: MIT
#include "plan_check.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>

namespace tegula {
namespace {

constexpr const char *kAxisNames[] = {"batch", "heads", "kv_heads", "seqlen_q", "seqlen_k", "any"};
constexpr Axis kOfQ[] = {Axis::batch, Axis::heads, Axis::seqlen_q};
constexpr Axis kOfK[] = {Axis::batch, Axis::kv_heads, Axis::seqlen_k};

/// A tensor of a call, and the properties that it must have.
struct CallTensor {
  std::string_view name;
  const TensorRef *tensor;
  DType dtype;
  std::span<const Axis> axes = {};
  int last_dim = 0; ///< Size of one more, last dimension; 0 if there is none.
  bool written = false;
  bool gradient = false;   ///< The gradient of the variant's tensor `name`.
  AddressRange range = {}; ///< Addresses of its bytes.
};

/// The tensors of one call. Allocates from its own memory only, unless a variant has unusually many.
class CallTensors {
public:
  CallTensors() { tensors_.reserve(kUsualTensors); }
  void add(const CallTensor &tensor) { tensors_.push_back(tensor); }
  std::span<CallTensor> all() { return tensors_; }

private:
  static constexpr size_t kUsualTensors = 24;

  std::array<std::byte, kUsualTensors * sizeof(CallTensor) + alignof(CallTensor)> bytes_;
  std::pmr::monotonic_buffer_resource memory_{bytes_.data(), bytes_.size()};
  std::pmr::vector<CallTensor> tensors_ = std::pmr::vector<CallTensor>(&memory_);
};

std::string nameOf(const CallTensor &entry) { return (entry.gradient ? "d" : "") + std::string(entry.name); }

std::string layoutOf(const CallTensor &entry) {
  std::string layout = "[";
  for (Axis axis : entry.axes)
    layout += (layout.size() > 1 ? ", " : "") + std::string(kAxisNames[int(axis)]);
  return layout + (entry.last_dim ? ", " + std::to_string(entry.last_dim) + "]" : "]");
}

Status checkKind(const CallTensor &entry) {
  const TensorRef &tensor = *entry.tensor;
  int rank = int(entry.axes.size()) + (entry.last_dim ? 1 : 0);
  if (tensor.rank != rank)
    return invalidArgument(nameOf(entry), "it has rank " + std::to_string(tensor.rank) + "; it must be " +
                                              layoutOf(entry) + ", of rank " + std::to_string(rank));
  if (tensor.dtype != entry.dtype)
    return invalidArgument(nameOf(entry), "its element type is " + std::string(toString(tensor.dtype)) +
                                              "; it must be " + std::string(toString(entry.dtype)));
  for (int d = 0; d < rank; ++d)
    if (tensor.shape[d] < 0)
      return invalidArgument(nameOf(entry), "size " + std::to_string(d) + " is " + std::to_string(tensor.shape[d]) +
                                                "; it must be 0 or more");
  return {};
}

Status wrongSize(const CallTensor &entry, int d, const char *what, int64_t expected) {
  return invalidArgument(nameOf(entry), "its size " + std::to_string(d) + " is " +
                                            std::to_string(entry.tensor->shape[d]) + "; it must be " + layoutOf(entry) +
                                            " with " + what + " = " + std::to_string(expected));
}

/// `sizes` has the values of the axes.
Status checkSizes(const CallTensor &entry, std::span<const int64_t> sizes) {
  const int rank = int(entry.axes.size());
  for (int d = 0; d < rank; ++d)
    if (const Axis axis = entry.axes[d]; axis != Axis::any && entry.tensor->shape[d] != sizes[size_t(axis)])
      return wrongSize(entry, d, kAxisNames[int(axis)], sizes[size_t(axis)]);
  if (entry.last_dim != 0 && entry.tensor->shape[rank] != entry.last_dim)
    return wrongSize(entry, rank, "last size", entry.last_dim);
  return {};
}

/// Sets the address range of a tensor.
Status locate(CallTensor &entry) {
  const Expected<AddressRange> range = addressRange(*entry.tensor);
  if (!range)
    return invalidArgument(nameOf(entry), range.status().message() + "; its sizes and strides must stay inside of the "
                                                                     "memory that it lies in");
  entry.range = *range;
  return {};
}

Status checkOverlaps(std::span<const CallTensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t j = 0; j < tensors.size(); ++j)
      if (tensors[i].written && i != j && tensors[i].range.meets(tensors[j].range) &&
          overlaps(*tensors[i].tensor, *tensors[j].tensor))
        return invalidArgument(nameOf(tensors[i]), "it is written, but shares memory with '" + nameOf(tensors[j]) +
                                                       "'; outputs need memory of their own");
  return {};
}

/// Checks the tensors of a call and returns its shape. `tensors` starts with q and k.
Expected<AttentionShape> checkAll(std::span<CallTensor> tensors) {
  for (const CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(checkKind(entry));
  const int64_t *q = tensors[0].tensor->shape, *k = tensors[1].tensor->shape;
  AttentionShape shape{.batch = q[0], .heads = q[1], .kv_heads = k[1], .seqlen_q = q[2], .seqlen_k = k[2]};
  const int64_t sizes[] = {shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k};
  for (const CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(checkSizes(entry, sizes));
  TEGULA_RETURN_IF_ERROR(checkShape(shape));
  for (CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(locate(entry));
  TEGULA_RETURN_IF_ERROR(checkOverlaps(tensors));
  return shape;
}

Status checkCount(const char *name, size_t actual, size_t expected) {
  if (actual == expected)
    return {};
  return invalidArgument(name, "it has " + std::to_string(actual) + " tensors; the plan's variant needs " +
                                   std::to_string(expected));
}

/// Returns invalid_argument unless d_lse is given exactly if the problem wants it. A tensor of rank 0 is not given.
Status checkLseGradient(const AttentionProblem &problem, const TensorRef &d_lse) {
  const bool isGiven = d_lse.rank != 0;
  if (isGiven && !problem.lse_gradient)
    return invalidArgument("d_lse", "it is given, but 'lse_gradient' is not set in the plan's problem; make the plan "
                                    "with 'lse_gradient' set, or leave d_lse out");
  if (!isGiven && problem.lse_gradient)
    return invalidArgument("d_lse", "it is missing, but 'lse_gradient' is set in the plan's problem; pass it, or make "
                                    "the plan without 'lse_gradient'");
  return {};
}

Status checkScale(float scale) {
  if (std::isfinite(scale))
    return {};
  const std::string value = std::isnan(scale) ? "nan" : scale > 0 ? "inf" : "-inf";
  return invalidArgument("scale", "it is " + value + "; it must be finite, or 0 for 1 / sqrt(head_dim)");
}

void addVariant(CallTensors &tensors, const Variant &variant, std::span<const TensorRef> given) {
  for (size_t t = 0; t < variant.tensors.size(); ++t)
    tensors.add({variant.tensors[t].name, &given[t], variant.tensors[t].dtype, variant.tensors[t].axes});
}

void addGradients(CallTensors &tensors, const Variant &variant, std::span<const TensorRef> given) {
  size_t next = 0;
  for (const VariantTensor &tensor : variant.tensors)
    if (tensor.wants_gradient)
      tensors.add({.name = tensor.name,
                   .tensor = &given[next++],
                   .dtype = f32,
                   .axes = tensor.axes,
                   .written = true,
                   .gradient = true});
}

} // namespace

Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionForward &call) {
  TEGULA_RETURN_IF_ERROR(checkScale(call.scale));
  TEGULA_RETURN_IF_ERROR(checkCount("variant_tensors", call.variant_tensors.size(), problem.variant.tensors.size()));
  CallTensors tensors;
  tensors.add({"q", &call.q, problem.dtype, kOfQ, problem.head_dim});
  tensors.add({"k", &call.k, problem.dtype, kOfK, problem.head_dim});
  tensors.add({"v", &call.v, problem.dtype, kOfK, problem.value_dim});
  tensors.add({"o", &call.o, problem.dtype, kOfQ, problem.value_dim, true});
  tensors.add({"lse", &call.lse, f32, kOfQ, 0, true});
  addVariant(tensors, problem.variant, call.variant_tensors);
  return checkAll(tensors.all());
}

Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionBackward &call) {
  TEGULA_RETURN_IF_ERROR(checkScale(call.scale));
  TEGULA_RETURN_IF_ERROR(checkCount("variant_tensors", call.variant_tensors.size(), problem.variant.tensors.size()));
  size_t gradients = 0;
  for (const VariantTensor &tensor : problem.variant.tensors)
    gradients += tensor.wants_gradient;
  TEGULA_RETURN_IF_ERROR(checkCount("variant_gradients", call.variant_gradients.size(), gradients));
  TEGULA_RETURN_IF_ERROR(checkLseGradient(problem, call.d_lse));
  CallTensors tensors;
  tensors.add({"q", &call.q, problem.dtype, kOfQ, problem.head_dim});
  tensors.add({"k", &call.k, problem.dtype, kOfK, problem.head_dim});
  tensors.add({"v", &call.v, problem.dtype, kOfK, problem.value_dim});
  tensors.add({"o", &call.o, problem.dtype, kOfQ, problem.value_dim});
  tensors.add({"lse", &call.lse, f32, kOfQ});
  tensors.add({"d_o", &call.d_o, problem.dtype, kOfQ, problem.value_dim});
  tensors.add({"dq", &call.dq, problem.dtype, kOfQ, problem.head_dim, true});
  tensors.add({"dk", &call.dk, problem.dtype, kOfK, problem.head_dim, true});
  tensors.add({"dv", &call.dv, problem.dtype, kOfK, problem.value_dim, true});
  if (problem.lse_gradient)
    tensors.add({"d_lse", &call.d_lse, f32, kOfQ});
  addVariant(tensors, problem.variant, call.variant_tensors);
  addGradients(tensors, problem.variant, call.variant_gradients);
  return checkAll(tensors.all());
}

} // namespace tegula
