// SPDX-License-Identifier: MIT
// One Tegula context for each device of PyTorch, with PyTorch's streams and memory.
#pragma once

#include "tensors.h"

#include <torch/csrc/stable/accelerator.h>

namespace tegula_torch {

/// Throws a std::runtime_error with the library's message if `status` is not TEGULA_OK. Frees `error`, a reference
/// because the call that returns the status also writes it.
void check(tegula_status status, tegula_error *&error);

/// Returns the context of the tensor's device, which lives as long as the process.
tegula_context *contextOf(const Tensor &tensor);

/// Makes the device of a tensor the current one as long as the result lives.
std::optional<torch::stable::accelerator::DeviceGuard> guardFor(const Tensor &tensor);

/// Returns PyTorch's current stream on the tensor's device; null on a CPU.
void *streamOf(const Tensor &tensor);

} // namespace tegula_torch
