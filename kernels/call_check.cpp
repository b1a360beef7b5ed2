// SPDX-License-Identifier: MIT
#include "blocks.h"
#include "call_arguments.h"
#include "plan_check.h"
#include "tegula/attention_words.h"
#include "variant_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>

namespace tegula {
namespace {

constexpr Axis kAnyAxes[] = {Axis::any, Axis::any, Axis::any, Axis::any};

/// A tensor of a call, and the properties that it must have.
struct CallTensor {
  std::string_view name;
  const TensorRef *tensor;
  DType dtype;
  std::span<const Axis> axes = {};
  int last_dim = 0; ///< Size of one more, last dimension; 0 if there is none.
  bool written = false;
  bool gradient = false;   ///< The gradient of the variant's tensor `name`.
  bool broadcasts = false; ///< As in VariantTensor.
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
    layout += (layout.size() > 1 ? ", " : "") + std::string(toString(axis));
  if (entry.last_dim != 0)
    layout += (layout.size() > 1 ? ", " : "") + std::to_string(entry.last_dim);
  return layout + "]";
}

Status checkKind(const CallTensor &entry) {
  const TensorRef &tensor = *entry.tensor;
  int rank = int(entry.axes.size()) + (entry.last_dim ? 1 : 0);
  if (entry.broadcasts && (tensor.rank < 1 || tensor.rank > rank))
    return invalidArgument(nameOf(entry), "it has rank " + std::to_string(tensor.rank) + "; it must repeat to " +
                                              layoutOf(entry) + ", so its rank must be from 1 to " +
                                              std::to_string(rank));
  if (!entry.broadcasts && tensor.rank != rank)
    return invalidArgument(nameOf(entry), "it has rank " + std::to_string(tensor.rank) + "; it must be " +
                                              layoutOf(entry) + ", of rank " + std::to_string(rank));
  if (tensor.dtype != entry.dtype)
    return invalidArgument(nameOf(entry), "its element type is " + std::string(toString(tensor.dtype)) +
                                              "; it must be " + std::string(toString(entry.dtype)));
  for (int d = 0; d < tensor.rank; ++d)
    if (tensor.shape[d] < 0)
      return invalidArgument(nameOf(entry), "size " + std::to_string(d) + " is " + std::to_string(tensor.shape[d]) +
                                                "; it must be 0 or more");
  return {};
}

Status wrongSize(const CallTensor &entry, int d, std::string_view what, int64_t expected) {
  return invalidArgument(nameOf(entry), "its size " + std::to_string(d) + " is " +
                                            std::to_string(entry.tensor->shape[d]) + "; it must be " + layoutOf(entry) +
                                            " with " + std::string(what) + " = " + std::to_string(expected));
}

/// Checks the sizes of a tensor that may repeat. Its dimensions are the last ones of the axes.
Status checkRepeats(const CallTensor &entry, const AttentionShape &shape) {
  const TensorRef &tensor = *entry.tensor;
  const int ofAxes = tensor.rank - (entry.last_dim != 0 ? 1 : 0);
  const size_t missing = entry.axes.size() - size_t(ofAxes);
  for (int d = 0; d < ofAxes; ++d) {
    const Axis axis = entry.axes[missing + size_t(d)];
    const int64_t size = tensor.shape[d], most = sizeAlong(axis, shape);
    if (axis == Axis::any || size == 1 || size == most || (axis == Axis::up_to_seqlen_k && size < most))
      continue;
    const bool isLimit = axis == Axis::up_to_seqlen_k;
    return invalidArgument(nameOf(entry), "its size " + std::to_string(d) + " is " + std::to_string(size) +
                                              "; it must repeat to " + layoutOf(entry) + " with " +
                                              std::string(toString(isLimit ? Axis::seqlen_k : axis)) + " = " +
                                              std::to_string(most) + ": it must be " +
                                              (isLimit ? "from 0 to " : "1 or ") + std::to_string(most));
  }
  return {};
}

Status checkSizes(const CallTensor &entry, const AttentionShape &shape) {
  const int rank = int(entry.axes.size()), last = entry.tensor->rank - 1;
  if (entry.last_dim != 0 && entry.tensor->shape[last] != entry.last_dim)
    return wrongSize(entry, last, "last size", entry.last_dim);
  if (entry.broadcasts)
    return checkRepeats(entry, shape);
  for (int d = 0; d < rank; ++d)
    if (const Axis axis = entry.axes[d]; hasSize(axis) && entry.tensor->shape[d] != sizeAlong(axis, shape))
      return wrongSize(entry, d, toString(axis), sizeAlong(axis, shape));
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

/// Checks that the tensors of a call have a shape.
Status checkAll(std::span<CallTensor> tensors, const AttentionShape &shape) {
  for (const CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(checkSizes(entry, shape));
  TEGULA_RETURN_IF_ERROR(checkShape(shape));
  for (CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(locate(entry));
  return checkOverlaps(tensors);
}

Status checkKinds(std::span<const CallTensor> tensors) {
  for (const CallTensor &entry : tensors)
    TEGULA_RETURN_IF_ERROR(checkKind(entry));
  return {};
}

Status checkCount(const char *name, size_t actual, size_t expected) {
  if (actual == expected)
    return {};
  return invalidArgument(name, "it has " + std::to_string(actual) + " tensors; the plan's variant needs " +
                                   std::to_string(expected));
}

/// Returns invalid_argument unless the argument, which is `tensor` in the call, is given exactly if the problem wants
/// it. A tensor of rank 0 is not given.
Status checkOptional(const CallArgument &argument, const TensorRef &tensor, const AttentionProblem &problem) {
  const std::string name(argument.name), field(argument.option.field);
  const bool isGiven = tensor.rank != 0, isSet = argument.option.isSet(problem);
  if (isGiven && !isSet)
    return invalidArgument(name, "it is given, but '" + field +
                                     "' is not set in the plan's problem; make the plan with '" + field +
                                     "' set, or leave " + name + " out");
  if (!isGiven && isSet)
    return invalidArgument(name, "it is missing, but '" + field +
                                     "' is set in the plan's problem; pass it, or make the plan without '" + field +
                                     "'");
  return {};
}

/// Adds an argument, which is `tensor` in a call of the pass.
void add(CallTensors &tensors, const CallArgument &argument, const TensorRef &tensor, const AttentionProblem &problem,
         Pass pass) {
  tensors.add({.name = argument.name,
               .tensor = &tensor,
               .dtype = argument.dtypeOf(problem),
               .axes = argument.axes,
               .last_dim = argument.lastDimOf(problem),
               .written = argument.written_by == pass,
               .broadcasts = argument.broadcasts});
}

/// Adds the arguments of a call of the pass that the problem wants.
template <class Call>
Status addOptional(CallTensors &tensors, const AttentionProblem &problem, const Call &call, Pass pass) {
  for (const CallArgument &argument : optionalArguments())
    if (const TensorRef *tensor = argument.in(call)) {
      TEGULA_RETURN_IF_ERROR(checkOptional(argument, *tensor, problem));
      if (argument.option.isSet(problem))
        add(tensors, argument, *tensor, problem, pass);
    }
  return {};
}

Status checkScale(float scale) {
  if (std::isfinite(scale))
    return {};
  const std::string value = std::isnan(scale) ? "nan" : scale > 0 ? "inf" : "-inf";
  return invalidArgument("scale", "it is " + value + "; it must be finite, or 0 for 1 / sqrt(head_dim)");
}

/// Returns invalid_argument unless the lists of blocks are given exactly if the problem wants them.
Status checkGiven(const AttentionProblem &problem, const BlockMaskTensors &mask, bool has_lists) {
  const bool isGiven = mask.kv_num_blocks.rank != 0 || mask.kv_indices.rank != 0;
  const bool isWanted = problem.block_mask.source == BlockMask::Source::given && !has_lists;
  if (isGiven && problem.block_mask.source != BlockMask::Source::given)
    return invalidArgument("block_mask", "it is given, but the source of the plan's block mask is not 'given'");
  if (!isGiven && isWanted)
    return invalidArgument("block_mask", "kv_num_blocks and kv_indices are missing, but the source of the plan's block "
                                         "mask is 'given'; pass them, or the lists of makeLists()");
  if ((mask.full_kv_num_blocks.rank != 0) != (mask.full_kv_indices.rank != 0))
    return invalidArgument("block_mask", "one of full_kv_num_blocks and full_kv_indices is missing; pass both or none");
  return {};
}

/// Adds the lists of blocks. Their batch and heads may be 1, and a row of blocks has any number of entries.
Status checkBlockMask(const AttentionProblem &problem, const BlockMaskTensors &mask, const AttentionShape &shape) {
  const BlockMask &of = problem.block_mask;
  const int64_t sizes[] = {of.per_batch ? shape.batch : 1, of.per_head ? shape.heads : 1,
                           blocks(shape.seqlen_q, of.block_q)};
  constexpr const char *names[] = {"batch entries", "heads", "rows of blocks"};
  const auto check = [&](const char *name, const TensorRef &tensor, int rank) -> Status {
    if (tensor.rank == 0)
      return {};
    TEGULA_RETURN_IF_ERROR(checkKind({name, &tensor, i32, std::span(kAnyAxes).first(size_t(rank))}));
    for (int axis = 0; axis < 3; ++axis)
      if (tensor.shape[axis] != sizes[axis])
        return invalidArgument(name, "its size " + std::to_string(axis) + " is " + std::to_string(tensor.shape[axis]) +
                                         "; the plan's block mask needs " + std::to_string(sizes[axis]) + " " +
                                         names[axis]);
    const Expected<AddressRange> range = addressRange(tensor);
    return range ? Status() : invalidArgument(name, range.status().message());
  };
  TEGULA_RETURN_IF_ERROR(check("kv_num_blocks", mask.kv_num_blocks, 3));
  TEGULA_RETURN_IF_ERROR(check("kv_indices", mask.kv_indices, 4));
  TEGULA_RETURN_IF_ERROR(check("full_kv_num_blocks", mask.full_kv_num_blocks, 3));
  return check("full_kv_indices", mask.full_kv_indices, 4);
}

/// Checks the tensors of a call and returns its shape. `tensors` starts with q and k.
Expected<AttentionShape> checkAll(std::span<CallTensor> tensors, const AttentionProblem &problem,
                                  const BlockMaskTensors &mask) {
  TEGULA_RETURN_IF_ERROR(checkKinds(tensors));
  const int64_t *q = tensors[0].tensor->shape, *k = tensors[1].tensor->shape;
  const AttentionShape shape{.batch = q[0], .heads = q[1], .kv_heads = k[1], .seqlen_q = q[2], .seqlen_k = k[2]};
  TEGULA_RETURN_IF_ERROR(checkAll(tensors, shape));
  TEGULA_RETURN_IF_ERROR(checkBlockMask(problem, mask, shape));
  return shape;
}

void addVariant(CallTensors &tensors, const Variant &variant, std::span<const TensorRef> given) {
  for (size_t t = 0; t < variant.tensors.size(); ++t) {
    const VariantTensor &tensor = variant.tensors[t];
    tensors.add({.name = tensor.name,
                 .tensor = &given[t],
                 .dtype = inMemory(tensor.dtype),
                 .axes = tensor.axes,
                 .last_dim = tensor.last_dim,
                 .broadcasts = tensor.broadcasts});
  }
}

void addGradients(CallTensors &tensors, const Variant &variant, std::span<const TensorRef> given) {
  size_t next = 0;
  for (const VariantTensor &tensor : variant.tensors)
    if (tensor.wants_gradient)
      tensors.add({.name = tensor.name,
                   .tensor = &given[next++],
                   .dtype = f32,
                   .axes = tensor.axes,
                   .last_dim = tensor.last_dim,
                   .written = true,
                   .gradient = true});
}

Status checkGradientCount(const Variant &variant, std::span<const TensorRef> given) {
  const auto wanted = std::ranges::count(variant.tensors, true, &VariantTensor::wants_gradient);
  return checkCount("variant_gradients", given.size(), size_t(wanted));
}

/// Checks a call of the pass. `gradients` are those of the variant's tensors, if it has any.
template <class Call>
Expected<AttentionShape> checkCall(const AttentionProblem &problem, const Call &call, Pass pass,
                                   std::span<const TensorRef> gradients) {
  TEGULA_RETURN_IF_ERROR(checkGiven(problem, call.block_mask, call.lists.data != nullptr));
  CallTensors tensors;
  for (const CallArgument &argument : usualArguments())
    if (const TensorRef *tensor = argument.in(call))
      add(tensors, argument, *tensor, problem, pass);
  addVariant(tensors, problem.variant, call.variant_tensors);
  if (!gradients.empty())
    addGradients(tensors, problem.variant, gradients);
  TEGULA_RETURN_IF_ERROR(addOptional(tensors, problem, call, pass));
  return checkAll(tensors.all(), problem, call.block_mask);
}

} // namespace

Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionForward &call) {
  TEGULA_RETURN_IF_ERROR(checkScale(call.scale));
  TEGULA_RETURN_IF_ERROR(checkCount("variant_tensors", call.variant_tensors.size(), problem.variant.tensors.size()));
  return checkCall(problem, call, Pass::forward, {});
}

Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionBackward &call) {
  TEGULA_RETURN_IF_ERROR(checkScale(call.scale));
  TEGULA_RETURN_IF_ERROR(checkCount("variant_tensors", call.variant_tensors.size(), problem.variant.tensors.size()));
  TEGULA_RETURN_IF_ERROR(checkGradientCount(problem.variant, call.variant_gradients));
  return checkCall(problem, call, Pass::backward, call.variant_gradients);
}

Status checkCall(const AttentionProblem &problem, const AttentionLists &call) {
  TEGULA_RETURN_IF_ERROR(checkCount("variant_tensors", call.variant_tensors.size(), problem.variant.tensors.size()));
  CallTensors tensors;
  addVariant(tensors, problem.variant, call.variant_tensors);
  TEGULA_RETURN_IF_ERROR(addOptional(tensors, problem, call, Pass::forward));
  TEGULA_RETURN_IF_ERROR(checkGiven(problem, call.block_mask, false));
  TEGULA_RETURN_IF_ERROR(checkKinds(tensors.all()));
  TEGULA_RETURN_IF_ERROR(checkAll(tensors.all(), call.shape));
  return checkBlockMask(problem, call.block_mask, call.shape);
}

} // namespace tegula
