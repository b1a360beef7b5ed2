// SPDX-License-Identifier: MIT
// Variants of the library, each with the rules by which the oracle judges it.
#pragma once

#include "oracle/oracle.h"
#include "tegula/attention.h"

#include <functional>
#include <span>
#include <vector>

namespace tegula::tools {

/// The values of each tensor of a variant, in C order.
using VariantArrays = std::vector<std::vector<float>>;
/// The gradients of the tensors that want one.
using VariantGradients = std::vector<std::vector<double>>;

/// The inputs of a variant's rules.
struct RuleInputs {
  const oracle::Shape &shape;
  std::span<const std::vector<float>> tensors;   ///< As VariantArrays.
  std::span<std::vector<double>> gradients = {}; ///< Rules add to these VariantGradients, unless they are empty.
  double scale = 1;                              ///< Factor on q k^T and on products.
};

/// A variant for kernels, and the same one for the oracle.
struct CheckedVariant {
  Variant variant;
  /// Adds what the variant does to the oracle's rules, which keep copies of the tensors.
  std::function<void(oracle::Rules &rules, const RuleInputs &inputs)> add_rules;
};

CheckedVariant checkedSoftcap(double cap, DType dtype);
CheckedVariant checkedAlibi(Alignment alignment);
CheckedVariant checkedWindow(int64_t left, int64_t right, Alignment alignment);
CheckedVariant checkedWindowWithGlobals(int64_t left, int64_t right, int64_t globals, Alignment alignment);
CheckedVariant checkedGivenWindow(Alignment alignment);
CheckedVariant checkedPrefixLm(Alignment alignment);
CheckedVariant checkedDocuments();
CheckedVariant checkedKeyIntervals();
CheckedVariant checkedBias(DType dtype);
CheckedVariant checkedMask();
CheckedVariant checkedAddedProduct(DType dtype, int dim);
/// Pairs tegula::combine of both with the rules of both.
CheckedVariant combine(CheckedVariant first, CheckedVariant second);
/// Pairs tegula::either of both with the union of the rules of both.
CheckedVariant either(CheckedVariant first, CheckedVariant second);

/// Adds the products of a variant to the oracle's rules.
void addProducts(oracle::Rules &rules, const Variant &variant, const RuleInputs &inputs);

/// Returns the name that the oracle has for a diagonal.
oracle::Corner cornerOf(Alignment alignment);

/// Returns the shape of a variant's tensor; an axis of any size has size 1.
std::vector<int64_t> shapeOf(const VariantTensor &tensor, const AttentionShape &shape);

/// Returns the slopes of alibi() in its paper, Press et al. 2021 (8 heads: 1/2, 1/4, ...).
std::vector<float> alibiSlopes(int64_t heads);

/// Returns the tensors of documents() where `queries` and `keys`, [batch, length], number the documents of positions.
/// The numbers ascend in each batch entry.
VariantArrays documentBounds(int64_t batch, const std::vector<int32_t> &queries, const std::vector<int32_t> &keys);

} // namespace tegula::tools
