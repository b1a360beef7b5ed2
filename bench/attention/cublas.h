// SPDX-License-Identifier: MIT
// Matrix products by cuBLAS.
#pragma once

#include "tegula/device.h"

#include <memory>

namespace tegula::bench {

/// C = A B by cuBLAS, for dense row-major matrices of one element type, with f32 accumulators.
class CublasProduct {
public:
  /// Returns unsupported where there is no GPU or no cuBLAS.
  static Expected<CublasProduct> make(const Device &device);

  /// Starts the product of a [m, k] and b [k, n] on the null stream.
  Status launch(const TensorRef &a, const TensorRef &b, const TensorRef &c) const;

private:
  explicit CublasProduct(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}

  std::shared_ptr<void> handle_;
};

} // namespace tegula::bench
