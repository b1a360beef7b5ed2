// SPDX-License-Identifier: MIT
// Tensors of PyTorch's stable ABI for tegula.h.
#pragma once

#include "tegula/tegula.h"

#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <span>

namespace tegula_torch {

using Tensor = torch::stable::Tensor;

/// Returns the memory of a tensor, with its type, shape and strides. Throws if tegula.h has no such type or rank.
tegula_tensor view(const char *name, const Tensor &tensor);
/// Does the same. A missing tensor is all 0.
tegula_tensor view(const char *name, const std::optional<Tensor> &tensor);

/// Returns a new tensor on the device of `like`.
Tensor emptyStrided(const Tensor &like, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                    torch::headeronly::ScalarType type);
/// Returns a dense tensor on the device of `like`.
Tensor empty(const Tensor &like, std::span<const int64_t> sizes, torch::headeronly::ScalarType type);
/// Returns a dense tensor of the shape [batch, heads, length, dim] with the type of `like`. Elements along `dim` are
/// neighbours, and the other axes have the order of their strides in `like`.
Tensor emptyOrderedAs(const Tensor &like, std::span<const int64_t> sizes);

} // namespace tegula_torch
