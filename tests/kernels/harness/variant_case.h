// SPDX-License-Identifier: MIT
// Variants by name, each with tensors to run it on and with the oracle's rules for the same variant.
#pragma once

#include "oracle/oracle.h"
#include "support/test_tensor.h"
#include "tegula/attention.h"
#include "workload/checked_variant.h"

#include <memory>
#include <string>

namespace tegula::testing {

/// Returns the names of single variants. Names joined by '+' are combined: "softcap+alibi_br". "none" is plain
/// attention.
std::span<const std::string_view> variantParts();

/// Returns true if scores may be as far from 0 as the largest number of the element type. Then LSE, one f32 number,
/// does not determine P, and gradients have limits (docs/kernels.md).
bool hasExtremeScores(std::string_view name);

/// Returns true if the parts of the variant go together: tensors have different names, a union has not too many sets,
/// and the causal mask and all parts that count from a diagonal use the same one.
bool isLegal(std::string_view name, Causal causal);

/// Returns the variant that the kernels record. `dtype` is the problem's.
Variant makeVariant(std::string_view name, DType dtype);

/// The tensors of one launch of a variant, and the rules for the results that it should compute.
struct VariantRun {
  std::vector<TestTensor> tensors;         ///< In the order of Variant::tensors.
  std::vector<TestTensor> gradients;       ///< f32, zero at first; one for each tensor with a gradient.
  std::vector<std::string> gradient_names; ///< Names of `gradients`.
  oracle::Rules exact, plain;              ///< Add gradients to exact_gradients and plain_gradients.
  std::shared_ptr<tools::VariantGradients> exact_gradients, plain_gradients;

  std::vector<TensorRef> tensorRefs() const;
  std::vector<TensorRef> gradientRefs() const;
};

/// Makes the tensors and rules of the variant `name`. `slope` is Case::slope. `scale` is that of
/// products.
VariantRun makeRun(std::string_view name, const oracle::Shape &shape, DType dtype, Layout layout, Poison poison,
                   uint64_t seed, double slope = 0, double scale = 1);

} // namespace tegula::testing
