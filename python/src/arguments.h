// SPDX-License-Identifier: MIT
// The arguments of tegula_plan_launch, from tensors of PyTorch.
#pragma once

#include "context.h"

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tegula_torch {

/// The arguments of a launch, in the order of its plan.
class Arguments {
public:
  /// Throws if the tensor is on another device than the first one.
  void add(const char *name, const Tensor &tensor) {
    if (!first_)
      first_ = {name, tensor.device()};
    else if (tensor.device() != first_->second)
      throw std::runtime_error("argument '" + std::string(name) + "' is on another device than '" + first_->first +
                               "'");
    views_[count_] = view(name, tensor);
    arguments_[count_].kind = TEGULA_TENSOR;
    arguments_[count_].value.tensor = &views_[count_];
    ++count_;
  }
  /// Adds the only row of a matrix.
  void addRow(const char *name, const Tensor &matrix) {
    add(name, matrix);
    tegula_tensor &row = views_[count_ - 1];
    row.rank = 1;
    row.shape[0] = row.shape[1];
    row.strides[0] = row.strides[1];
  }
  void add(const char *name, const std::optional<Tensor> &tensor) {
    if (tensor)
      add(name, *tensor);
  }
  void add(float scalar) {
    arguments_[count_].kind = TEGULA_SCALAR_F32;
    arguments_[count_].value.f32 = scalar;
    ++count_;
  }
  void add(int32_t scalar) {
    arguments_[count_].kind = TEGULA_SCALAR_I32;
    arguments_[count_].value.i32 = scalar;
    ++count_;
  }

  /// Launches a plan on PyTorch's stream for the device of `tensor`, with the bytes of a workspace if the plan needs
  /// one, and with those that prepare() has written, if there are some.
  void launch(const tegula_plan *plan, const Tensor &tensor, const std::optional<Tensor> &workspace = {},
              const std::optional<Tensor> &prepared = {}) const {
    tegula_launch_args args = argsFor(tensor, prepared);
    if (workspace) {
      args.workspace = workspace->mutable_data_ptr();
      args.workspace_bytes = workspace->numel();
    }
    tegula_error *error = nullptr;
    check(tegula_plan_launch(plan, &args, &error), error);
  }
  /// Launches the preparation of a plan, whose arguments these are.
  void prepare(const tegula_plan *plan, const Tensor &tensor, const Tensor &prepared) const {
    const tegula_launch_args args = argsFor(tensor, prepared);
    tegula_error *error = nullptr;
    check(tegula_plan_prepare(plan, &args, &error), error);
  }

private:
  tegula_launch_args argsFor(const Tensor &tensor, const std::optional<Tensor> &prepared) const {
    tegula_launch_args args{};
    args.struct_size = sizeof args;
    args.arguments = arguments_.data();
    args.argument_count = count_;
    args.stream = streamOf(tensor);
    if (prepared) {
      args.prepared = prepared->mutable_data_ptr();
      args.prepared_bytes = prepared->numel();
    }
    return args;
  }

  std::array<tegula_tensor, 15> views_{};
  std::array<tegula_argument, 15> arguments_{};
  uint32_t count_ = 0;
  std::optional<std::pair<std::string, torch::stable::Device>> first_;
};

} // namespace tegula_torch
