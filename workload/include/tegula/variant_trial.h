// SPDX-License-Identifier: MIT
// What a variant of one's own gets: a check of both passes against its definition in plain C++, a picture of the tiles
// that kernels visit, and times.
#pragma once

#include "tegula/visited_tiles.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tegula {

/// The position of one score.
struct ScorePosition {
  int64_t batch = 0;
  int64_t head = 0; ///< The query head.
  int64_t query = 0;
  int64_t key = 0;
};

/// The gradients of the tensors of a variant that want one, while they are summed.
class TensorGradients {
public:
  /// `sums` has the elements of each of the tensors. If `in_f32`, each sum is rounded to f32.
  TensorGradients(std::span<std::vector<double>> sums, bool in_f32) : sums_(sums), in_f32_(in_f32) {}

  /// Adds to an element, whose number counts in C order.
  void add(size_t tensor, size_t element, double gradient) {
    double &sum = sums_[tensor][element];
    sum = in_f32_ ? double(float(sum) + float(gradient)) : sum + gradient;
  }

private:
  std::span<std::vector<double>> sums_;
  bool in_f32_;
};

/// The definition of a variant for one score at a time, besides its products. It runs on the host, in double precision.
struct PlainVariant {
  /// Returns true if the score exists. Empty: all scores exist that the causal mask of the problem does not hide.
  std::function<bool(const ScorePosition &)> sees = {};
  /// Returns the modified score. Empty: scores are unchanged.
  std::function<double(double score, const ScorePosition &)> score = {};
  /// Takes the gradient of the modified score, and returns that of `score`. Adds the gradients of tensors to `tensors`.
  /// Empty: gradients are unchanged.
  std::function<double(double score, const ScorePosition &, double gradient, TensorGradients &tensors)> backward = {};
};

/// A tensor of a variant.
struct VariantValues {
  std::vector<int64_t> shape = {};
  std::vector<float> values = {}; ///< In C order.
};

/// The blocks that the calls of a trial give (BlockMask::Source::given): for each row of blocks, the numbers of its
/// blocks of keys. The lists of a row have the index (batch * heads + head) * rows + row, where batch is 0 unless
/// BlockMask::per_batch, and head is 0 unless BlockMask::per_head; `heads` is then that of the shape, and otherwise 1.
struct TrialBlocks {
  std::vector<std::vector<int32_t>> partial = {}, full = {};
};

/// A variant with the tensors of a run, and with the definition that judges it.
struct VariantTrial {
  AttentionProblem problem = {}; ///< Has the variant. Dropout and sinks are not supported.
  AttentionShape shape = {};
  std::vector<VariantValues> tensors = {}; ///< One for each of Variant::tensors.
  TrialBlocks blocks = {};                 ///< Empty unless the problem's block mask is `given`.
  PlainVariant plain = {};
  Schedule schedule = {}; ///< As in AttentionPlan::make.

  /// Returns true if a score exists by the definition and by the causal mask of the problem.
  bool sees(const ScorePosition &position) const;
};

/// The error ratio of a result: its largest error, divided by that of the plain formula in the same element type. At
/// most 2 is right (docs/kernels.md).
struct ResultRatio {
  std::string name; ///< "o", "lse", "dq", "dk", "dv", or "d" and the name of a tensor of the variant.
  double ratio = 0;
};

/// The results of a trial: how exact they are, and which tiles the passes visited.
struct VariantReport {
  std::vector<ResultRatio> ratios = {};
  VisitedTiles forward = {}, backward = {}; ///< `backward` is empty unless the problem has a backward pass.

  /// Returns the largest ratio, or NaN if a result is NaN.
  double worstRatio() const;
};

/// Runs a variant on random q, k and v, and compares results with its definition. Takes seconds for a thousand queries
/// and keys. `device` is that of `cache`. Returns invalid_argument if tensors do not fit to the variant, and the errors
/// of AttentionPlan.
Expected<VariantReport> tryVariant(const VariantTrial &trial, KernelCache &cache,
                                   const std::shared_ptr<Device> &device);

/// Names the results whose ratio exceeds 2; ok if there are none.
Status verdict(const VariantReport &report);

/// Draws the visited tiles of the first head as SVG: one panel for each pass, with queries from top to bottom and keys
/// from left to right. Colours tell by the variant's definition whether all scores of a tile exist, some, or none.
std::string toSvg(const VariantTrial &trial, const VariantReport &report, const std::string &title);

/// Times of a variant on a device, in milliseconds: medians of repeated launches.
struct VariantTimes {
  double lists = 0;   ///< AttentionPlan::makeLists, for both passes if there is a backward pass; 0 without lists.
  double forward = 0; ///< The forward pass, with lists that were made before.
  double plain = 0;   ///< The forward pass of the same problem without masks and variant.
  double share = 0;   ///< VisitedTiles::share of the forward pass.
};

/// Measures a variant. The definition of the trial is not used.
Expected<VariantTimes> timeVariant(const VariantTrial &trial, KernelCache &cache,
                                   const std::shared_ptr<Device> &device);

} // namespace tegula
