// SPDX-License-Identifier: MIT
// Variants by name, each with tensors to run it on and with the oracle's rules for the same.
#pragma once

#include "harness/test_tensor.h"
#include "oracle/oracle.h"
#include "tegula/attention.h"

#include <memory>
#include <string>

namespace tegula::testing {

/// Names of single variants; those joined by '+' are combined: "softcap+alibi_br". "none" is plain attention.
std::span<const std::string_view> variantParts();

/// Whether all parts of it count from the diagonal of a causal mask, or of each other, if they count from one.
bool hasOneDiagonal(std::string_view name, Causal causal);

/// The variant that the kernels record. `dtype` is that of the problem.
Variant makeVariant(std::string_view name, DType dtype);

/// What one launch of a variant needs, and what it should compute.
struct VariantRun {
  std::vector<TestTensor> tensors;   ///< As Variant::tensors.
  std::vector<TestTensor> gradients; ///< f32, zero at first; one for each tensor that wants one.
  oracle::Rules exact, plain;        ///< Record the bias's gradient in the two below.
  std::shared_ptr<std::vector<double>> exact_bias, plain_bias;

  std::vector<TensorRef> tensorRefs() const;
  std::vector<TensorRef> gradientRefs() const;
};

/// `slope`: as in Case.
VariantRun makeRun(std::string_view name, const oracle::Shape &shape, DType dtype, Layout layout, Poison poison,
                   uint64_t seed, double slope = 0);

} // namespace tegula::testing
