// SPDX-License-Identifier: MIT
#include "random_case.h"

#include <algorithm>
#include <iterator>

namespace tegula::testing {
namespace {

constexpr double kSlopes[] = {0.25, 0.75, 1};
constexpr double kExtremeSlopes[] = {1e3, 1e5, 1e9, 1e20, 1e35}; // times 1,024 positions: below the largest f32
constexpr double kSharpnesses[] = {0.25, 4, 16};
constexpr double kDropoutProbabilities[] = {0.1, 0.5, 0.0625, 0.99};
constexpr int64_t kMaxScores = 30000; // keeps the oracle's triple loops short

int64_t below(Random &random, int64_t limit) { return int64_t(random() % uint64_t(limit)); }
bool chance(Random &random, int percent) { return below(random, 100) < percent; }

template <class List> auto pick(Random &random, const List &list) {
  return *(std::begin(list) + below(random, int64_t(std::size(list))));
}

int64_t randomDim(Random &random) {
  constexpr int64_t common[] = {16, 32, 64, 64, 128};
  return chance(random, 60) ? pick(random, common) : 8 * (1 + below(random, chance(random, 20) ? 32 : 12));
}

int randomBlock(Random &random, int most) {
  constexpr int blocks[] = {16, 24, 32, 32, 48, 64, 80, 96};
  return chance(random, 15) ? 0
                            : std::min(most, chance(random, 10) ? int(1 + below(random, 40)) : pick(random, blocks));
}

/// Returns the last dimensions of the products of the variant.
int64_t addedDims(const Case &c) { return makeVariant(c.variant, c.dtype).productDims(); }

int largestBlock(const Case &c, bool on_gpu) {
  if (!on_gpu)
    return 96;
  int64_t row_bytes = std::max(c.shape.head_dim + addedDims(c), c.shape.value_dim) * int64_t(sizeOf(c.dtype));
  return row_bytes <= 256 ? 96 : row_bytes <= 512 ? 64 : 32;
}

std::string anyVariant(Random &random) {
  if (chance(random, 40))
    return "none";
  std::string name(pick(random, variantParts()));
  std::string_view second = pick(random, variantParts());
  auto kind = [](std::string_view part) { return part.substr(0, part.find('_')); };
  return chance(random, 30) && kind(second) != kind(name) ? name + "+" + std::string(second) : name;
}

/// Returns a random variant that goes with the mask.
std::string randomVariant(Random &random, Causal causal) {
  while (true)
    if (std::string variant = anyVariant(random); isLegal(variant, causal))
      return variant;
}

/// Returns a length with several blocks, so that rings of buffers wrap around, and a ragged last block.
int64_t severalBlocks(Random &random, int block) { return block * (2 + below(random, 3)) + 1 + below(random, block); }

/// Returns 0, 1 or 2, a number next to a multiple of the block, or any number.
int64_t randomLength(Random &random, int block) {
  int unit = block ? block : 96;
  switch (below(random, 10)) {
  case 0:
    return below(random, 3);
  case 1:
  case 2:
  case 3:
    return std::max<int64_t>(0, unit * (1 + below(random, 3)) + below(random, 3) - 1);
  default:
    return 1 + below(random, chance(random, 20) ? 400 : 120);
  }
}

/// Makes far more queries than keys, or the reverse. If all keys of a row are far on one side of the diagonal, and
/// slopes are steep, all scores of the row are far below 0.
void makeOblong(Case &c, Random &random) {
  constexpr int64_t few[] = {65, 129, 255}, many[] = {257, 513, 1025};
  c.shape.seqlen_q = pick(random, many);
  c.shape.seqlen_k = pick(random, few);
  if (chance(random, 30))
    std::swap(c.shape.seqlen_q, c.shape.seqlen_k);
}

/// Replaces a family whose gradients have no digit in 16 bits, nor with the plain formula. Its scores are too small, or
/// a softcap's tanh flattens them to within a rounding of 1. In f16, scores of one_hot are so large that the rounding
/// of LSE shows (docs/kernels.md, "The backward pass uses LSE"). In any type, gradients have no digit if a sink is far
/// above all scores.
oracle::Family withGradients(oracle::Family family, const Case &c) {
  using oracle::Family;
  if (c.sinks && family == Family::growing_below)
    family = Family::growing_max;
  if (c.sinks && (family == Family::shifted_down || family == Family::far_down))
    family = Family::shifted_up;
  if (c.dtype == f32)
    return family;
  if (family == Family::one_hot && c.dtype == f16)
    return Family::sinks;
  if (family == Family::far_down)
    return Family::shifted_down;
  const bool isFlat = family == Family::growing_max || family == Family::growing_below ||
                      family == Family::crossing_zero || family == Family::falling_max;
  return isFlat && c.variant.find("softcap") != std::string::npos ? Family::enlarged : family;
}

/// Returns a random block mask. A row whose visible scores are all masks made of large negative biases has gradients of
/// 0 in 16 bits (docs/kernels.md), so given blocks must not leave such rows.
BlockMask randomBlockMask(Random &random, std::string_view variant) {
  if (variant == "bias_causal" || chance(random, 50))
    return {.source = BlockMask::Source::computed};
  constexpr int sizes[] = {1, 7, 16, 32, 48, 64, 96, 128};
  return {.source = BlockMask::Source::given,
          .per_batch = chance(random, 50),
          .per_head = chance(random, 50),
          .block_q = pick(random, sizes),
          .block_k = pick(random, sizes)};
}

} // namespace

Case randomPlan(Random &random, bool on_gpu) {
  Case c;
  c.dtype = pick(random, std::initializer_list<DType>{f32, f16, bf16});
  c.algorithm = chance(random, 70) ? Algorithm::flash2 : chance(random, 50) ? Algorithm::flash1 : Algorithm::standard;
  c.causal = Causal(below(random, 3));
  c.variant = randomVariant(random, c.causal);
  if (makeVariant(c.variant, c.dtype).probability)
    c.algorithm = Algorithm::flash2;
  c.backward = c.algorithm == Algorithm::flash2 && !hasExtremeScores(c.variant);
  c.lse_gradient = c.backward && chance(random, 30);
  if (c.algorithm == Algorithm::flash2 && chance(random, 35))
    c.block_mask = randomBlockMask(random, c.variant);
  if (c.algorithm == Algorithm::flash2 && chance(random, 25))
    c.dropout_p = pick(random, kDropoutProbabilities);
  c.sinks = c.algorithm == Algorithm::flash2 && chance(random, 25);
  c.diagonal_offset = chance(random, 25);
  c.contain_nonfinite = c.algorithm == Algorithm::flash2 && chance(random, 10);
  c.shape.head_dim = std::min(randomDim(random), 256 - addedDims(c));
  c.shape.value_dim = chance(random, 70) ? c.shape.head_dim : randomDim(random);
  int most = largestBlock(c, on_gpu);
  c.schedule = {.block_m = randomBlock(random, most), .block_n = randomBlock(random, most)};
  if (c.algorithm == Algorithm::flash2)
    c.schedule.tile_scheduler = TileScheduler(below(random, 3));
  return c;
}

Case randomPlan(Random &random, const ShippedSchedule &shipped) {
  const AttentionProblem &problem = shipped.problem;
  auto dim = [&](int most) { return chance(random, 50) ? most : 8 * (1 + below(random, most / 8)); };
  Case c;
  c.dtype = chance(random, 50) ? f16 : bf16;
  c.backward = false;
  c.causal = Causal(below(random, 3));
  c.variant = randomVariant(random, c.causal);
  while (addedDims(c) >= problem.head_dim)
    c.variant = randomVariant(random, c.causal);
  c.shape.head_dim = dim(problem.head_dim - int(addedDims(c)));
  c.shape.value_dim = chance(random, 70) ? c.shape.head_dim : dim(problem.value_dim);
  c.schedule = shipped.schedule;
  if (chance(random, 20))
    c.dropout_p = pick(random, kDropoutProbabilities);
  c.sinks = chance(random, 25);
  return c;
}

Case randomLaunch(const Case &plan, Random &random) {
  Case c = plan;
  oracle::Shape &s = c.shape;
  s.seqlen_q = randomLength(random, plan.schedule.block_m);
  if (plan.schedule.roles == Roles::load && chance(random, 70))
    s.seqlen_k = severalBlocks(random, plan.schedule.block_n);
  else
    s.seqlen_k = chance(random, 40) ? s.seqlen_q : randomLength(random, plan.schedule.block_n);
  if (chance(random, 4))
    makeOblong(c, random);
  int64_t heads = std::max<int64_t>(1, kMaxScores / std::max<int64_t>(1, s.seqlen_q * s.seqlen_k));
  int64_t group = std::min<int64_t>(1 + below(random, 4), heads);
  s.kv_heads = 1 + below(random, std::min<int64_t>(3, heads / group));
  s.heads = group * s.kv_heads;
  s.batch = 1 + below(random, std::min<int64_t>(3, heads / s.heads));
  c.family = chance(random, 50) ? oracle::Family::normal : pick(random, oracle::allFamilies());
  if (c.backward)
    c.family = withGradients(c.family, c);
  c.layout = pick(random, kLayouts);
  c.poison = pick(random, kPoisons);
  c.seed = random() % 1000000;
  if (chance(random, 40))
    c.slope = !c.backward && chance(random, 40) ? pick(random, kExtremeSlopes) : pick(random, kSlopes);
  if (chance(random, 15))
    c.sharpness = pick(random, kSharpnesses);
  return c;
}

} // namespace tegula::testing
