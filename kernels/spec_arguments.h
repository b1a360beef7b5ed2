// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/kernel_spec.h"

namespace tegula {

/// Returns the parameter of a program for a tensor.
inline TensorArg arg(const TensorSpec &tensor) { return {tensor.name, tensor.dtype, int(tensor.shape.size())}; }

} // namespace tegula
