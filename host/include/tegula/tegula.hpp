// SPDX-License-Identifier: MIT
// tegula.h for C++17: owning handles, and errors as values. Header-only; nothing throws.
#pragma once

#include "tegula/status.h"
#include "tegula/tegula.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace tegula::host {

using tegula::ErrorCode;
using tegula::Expected;
using tegula::Status;

/// Calls `function(arguments..., &error)`.
template <class Function, class... Arguments> Status call(Function function, Arguments... arguments) {
  tegula_error *error = nullptr;
  const auto code = static_cast<ErrorCode>(function(arguments..., &error)); // The numbers are those of tegula_status.
  Status status(code, error != nullptr ? tegula_error_message(error) : "");
  tegula_error_free(error);
  return status;
}

/// Returns a structure of tegula.h with its size set and all other fields 0:
/// `auto problem = make<tegula_attention_problem>();`.
template <class T> T make() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

class Plan {
public:
  explicit Plan(tegula_plan *plan) : plan_(plan, tegula_plan_destroy) {}

  Status forward(const tegula_forward_args &args) const { return call(tegula_plan_forward, plan_.get(), &args); }
  Status backward(const tegula_backward_args &args) const { return call(tegula_plan_backward, plan_.get(), &args); }
  /// Returns the bytes of workspace.
  Expected<int64_t> forwardWorkspace(const tegula_attention_shape &shape) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_workspace, plan_.get(), &shape, &bytes, static_cast<int64_t *>(nullptr));
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }
  Expected<int64_t> backwardWorkspace(const tegula_attention_shape &shape) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_workspace, plan_.get(), &shape, static_cast<int64_t *>(nullptr), &bytes);
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }

  /// Returns the bytes of the lists of a block mask, and of the workspace that makeLists() needs.
  Expected<int64_t> listBytes(const tegula_attention_shape &shape) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_lists, plan_.get(), &shape, &bytes, static_cast<int64_t *>(nullptr));
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }
  Expected<int64_t> listWorkspace(const tegula_attention_shape &shape) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_lists, plan_.get(), &shape, static_cast<int64_t *>(nullptr), &bytes);
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }
  Status makeLists(const tegula_lists_args &args) const { return call(tegula_plan_make_lists, plan_.get(), &args); }
  /// Returns the bytes of workspace of launch() for sizes such as {"batch", 4}.
  Expected<int64_t> workspace(std::initializer_list<tegula_size> sizes) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_workspace_bytes, plan_.get(), sizes.begin(), sizes.size(), &bytes);
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }
  /// Launches a plan of Context::mergePlan, decodePlan, appendPlan, rotaryPlan, packedPlan or packedPagesPlan, with the
  /// arguments of tegula_plan_create_merge, _create_decode, _create_append, _create_rotary, _create_packed or
  /// _create_packed_pages.
  Status launch(const tegula_launch_args &args) const { return call(tegula_plan_launch, plan_.get(), &args); }
  /// Returns the bytes that prepare() writes for launches of these sizes.
  Expected<int64_t> preparedBytes(std::initializer_list<tegula_size> sizes) const {
    int64_t bytes = 0;
    Status status = call(tegula_plan_prepared, plan_.get(), sizes.begin(), sizes.size(), &bytes,
                         static_cast<size_t *>(nullptr));
    return status.ok() ? Expected<int64_t>(bytes) : status;
  }
  /// Computes for many launches what they have in common (tegula_plan_prepare).
  Status prepare(const tegula_launch_args &args) const { return call(tegula_plan_prepare, plan_.get(), &args); }

  tegula_plan *get() const { return plan_.get(); }

private:
  std::shared_ptr<tegula_plan> plan_;
};

class Context {
public:
  static Expected<Context> create(const tegula_context_options &options = make<tegula_context_options>()) {
    tegula_context *context = nullptr;
    Status status = call(tegula_context_create, &options, &context);
    return status.ok() ? Expected<Context>(Context(context)) : status;
  }

  Expected<Plan> plan(const tegula_attention_problem &problem) const { return made(tegula_plan_create, &problem); }
  Expected<Plan> mergePlan(const tegula_merge_problem &problem) const {
    return made(tegula_plan_create_merge, &problem);
  }
  Expected<Plan> decodePlan(const tegula_decode_problem &problem) const {
    return made(tegula_plan_create_decode, &problem);
  }
  Expected<Plan> appendPlan(const tegula_append_problem &problem) const {
    return made(tegula_plan_create_append, &problem);
  }
  Expected<Plan> rotaryPlan(const tegula_rotary_problem &problem) const {
    return made(tegula_plan_create_rotary, &problem);
  }
  Expected<Plan> packedPlan() const { return made(tegula_plan_create_packed); }
  Expected<Plan> packedPagesPlan(const tegula_packed_pages_problem &problem) const {
    return made(tegula_plan_create_packed_pages, &problem);
  }
  Status supports(const tegula_attention_problem &problem) const {
    return call(tegula_supports, context_.get(), &problem);
  }
  Status forward(const tegula_attention_problem &problem, const tegula_forward_args &args) const {
    return call(tegula_attention_forward, context_.get(), &problem, &args);
  }
  Status backward(const tegula_attention_problem &problem, const tegula_backward_args &args) const {
    return call(tegula_attention_backward, context_.get(), &problem, &args);
  }
  Status setPolicy(int32_t policy) const { return call(tegula_context_set_policy, context_.get(), policy); }
  Expected<tegula_counters> counters() const {
    auto counters = make<tegula_counters>();
    Status status = call(tegula_context_counters, context_.get(), &counters);
    return status.ok() ? Expected<tegula_counters>(counters) : status;
  }

  tegula_context *get() const { return context_.get(); }

private:
  /// Returns the plan that a function of tegula.h creates.
  template <class Create, class... Problem> Expected<Plan> made(Create create, const Problem *...problem) const {
    tegula_plan *plan = nullptr;
    Status status = call(create, context_.get(), problem..., &plan);
    return status.ok() ? Expected<Plan>(Plan(plan)) : status;
  }

  explicit Context(tegula_context *context) : context_(context, tegula_context_destroy) {}

  std::shared_ptr<tegula_context> context_;
};

/// Returns a tensor in C order. It has at most 5 sizes.
inline tegula_tensor tensor(void *data, int32_t dtype, std::initializer_list<int64_t> shape) {
  tegula_tensor result{};
  result.data = data;
  result.dtype = dtype;
  result.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (int32_t d = result.rank - 1; d >= 0; --d) {
    result.shape[d] = shape.begin()[d];
    result.strides[d] = stride;
    stride *= result.shape[d];
  }
  return result;
}

/// Returns the argument of a launch. The tensor must live until the launch returns.
inline tegula_argument argument(const tegula_tensor &tensor) {
  tegula_argument result{};
  result.kind = TEGULA_TENSOR;
  result.value.tensor = &tensor;
  return result;
}
inline tegula_argument argument(float scalar) {
  tegula_argument result{};
  result.kind = TEGULA_SCALAR_F32;
  result.value.f32 = scalar;
  return result;
}
inline tegula_argument argument(int32_t scalar) {
  tegula_argument result{};
  result.kind = TEGULA_SCALAR_I32;
  result.value.i32 = scalar;
  return result;
}
inline tegula_argument argument(int64_t scalar) {
  tegula_argument result{};
  result.kind = TEGULA_SCALAR_I64;
  result.value.i64 = scalar;
  return result;
}

namespace details {

/// Returns the TEGULA_... constant of a DLDataType; -1 if there is none.
template <class DataType> int32_t dtypeOf(const DataType &type) {
  enum { integer = 0, floating = 2, bfloat = 4, boolean = 6, float8_e4m3fn = 10 }; // DLDataTypeCode
  struct Row {
    int code, bits;
    int32_t dtype;
  };
  constexpr Row rows[] = {{floating, 32, TEGULA_F32}, {floating, 16, TEGULA_F16},     {bfloat, 16, TEGULA_BF16},
                          {integer, 64, TEGULA_I64},  {integer, 32, TEGULA_I32},      {integer, 8, TEGULA_I8},
                          {boolean, 8, TEGULA_I8},    {float8_e4m3fn, 8, TEGULA_E4M3}};
  for (const Row &row : rows)
    if (type.code == row.code && type.bits == row.bits && type.lanes == 1)
      return row.dtype;
  return -1;
}

} // namespace details

/// Returns the view of a DLTensor (dlpack/dlpack.h, which this header does not need).
template <class DLTensor> Expected<tegula_tensor> fromDlpack(const DLTensor &from) {
  tegula_tensor result{};
  result.dtype = details::dtypeOf(from.dtype);
  if (result.dtype < 0)
    return Status(ErrorCode::unsupported,
                  "dlpack: element types are f32, f16, bf16, e4m3, i64, i32, i8 and bool, in one lane");
  if (from.ndim < 0 || from.ndim > 5)
    return Status(ErrorCode::unsupported,
                  "dlpack: the tensor has rank " + std::to_string(from.ndim) + "; legal is 0 to 5");
  result.data = static_cast<char *>(from.data) + from.byte_offset;
  result.rank = from.ndim;
  int64_t stride = 1;
  for (int32_t d = from.ndim - 1; d >= 0; --d) {
    result.shape[d] = from.shape[d];
    result.strides[d] = from.strides != nullptr ? from.strides[d] : stride; // Null means C order.
    stride *= from.shape[d];
  }
  return result;
}

} // namespace tegula::host
