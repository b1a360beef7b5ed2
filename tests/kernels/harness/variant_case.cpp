// SPDX-License-Identifier: MIT
#include "harness/variant_case.h"

#include "oracle/convert.h"
#include "oracle/inputs.h"
#include "workload/attention_case.h"
#include "workload/checked_variant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace tegula::testing {
namespace {

using oracle::Shape;
using tools::CheckedVariant;
using tools::VariantArrays;

constexpr double kCap = 2.5;
constexpr int64_t kLeft = 9, kRight = 4;

constexpr int64_t kGlobals = 6;
constexpr int kAddedDim = 24, kLargeAddedDim = 64;
/// The distance of a step in the scores.
constexpr int64_t kStep = 16;
/// A band that lies before the diagonal and does not touch it.
constexpr int64_t kFarLeft = 60, kFarRight = -40;

constexpr std::string_view kParts[] = {"softcap",    "alibi_tl",        "alibi_br",        "window_tl",  "window_br",
                                       "prefix_tl",  "prefix_br",       "documents",       "ids",        "bias",
                                       "bias_large", "bias_mask",       "bias_causal",     "bias_f32",   "mask",
                                       "global_tl",  "global_br",       "windows_tl",      "windows_br", "either_tl",
                                       "either_br",  "given_window_tl", "given_window_br", "intervals",  "step",
                                       "product",    "product_64",      "probability",     "square"};

float largestNumber(DType dtype) {
  return dtype == f16 ? 65504.0f : dtype == bf16 ? 0x1.fep127f : std::numeric_limits<float>::max();
}

/// Makes the values of the tensors that a part of a variant reads.
struct Values {
  const Shape &shape;
  DType dtype;
  uint64_t seed;
  double slope;

  std::vector<int32_t> integers(int64_t count, int32_t limit, uint64_t salt = 0) const {
    std::minstd_rand random(uint32_t((seed + salt) % 1000003 + 1));
    std::vector<int32_t> numbers(count);
    for (int32_t &number : numbers)
      number = int32_t(random() % uint32_t(limit));
    return numbers;
  }

  /// Returns true if the keys of a product are the same for all heads.
  bool hasSharedKeys() const { return seed % 2 == 0; }
  std::vector<float> slopes() const;
  std::vector<float> largeBias() const;
  std::vector<float> biasMask() const;
  std::vector<float> biasCausal() const;
  std::vector<float> mask() const;
  std::vector<float> windowBounds(uint64_t salt) const;
  std::vector<float> intervalBounds(int32_t limit, uint64_t salt) const;
  VariantArrays operands(int dim) const;
  VariantArrays documents() const;
  VariantArrays documentsAndPrefixes() const;
  VariantArrays of(std::string_view part) const;
};

std::vector<float> floats(const std::vector<int32_t> &integers) { return {integers.begin(), integers.end()}; }

std::vector<float> Values::slopes() const {
  std::vector<float> slopes = tools::alibiSlopes(shape.heads);
  if (slope != 0)
    for (int64_t h = 0; h < shape.heads; ++h)
      slopes[h] = float(slope * double(h + 1) / double(shape.heads));
  return slopes;
}

/// Returns sorted documents. Some of them have no queries, or no keys.
VariantArrays Values::documents() const {
  auto sortedIds = [&](int64_t length, uint64_t salt) {
    std::vector<int32_t> ids = integers(shape.batch * length, 5, salt);
    for (int64_t batch = 0; batch < shape.batch; ++batch)
      std::sort(ids.begin() + batch * length, ids.begin() + (batch + 1) * length);
    return ids;
  };
  return tools::documentBounds(shape.batch, sortedIds(shape.seqlen_q, 1), sortedIds(shape.seqlen_k, 2));
}

VariantArrays Values::documentsAndPrefixes() const {
  VariantArrays arrays = documents();
  arrays.push_back(floats(integers(shape.batch, int32_t(shape.seqlen_k / 2 + 1))));
  return arrays;
}

/// Returns biases of both signs and all magnitudes up to the largest number of the type. Those of a row have about the
/// same one.
std::vector<float> Values::largeBias() const {
  std::vector<float> bias = oracle::normalNumbers(shape.sizeScores(), dtype, seed + 17);
  std::minstd_rand random(uint32_t(seed % 1000003 + 1));
  const double largest = double(largestNumber(dtype)), decades = std::log10(largest);
  for (size_t row = 0; row < bias.size(); row += size_t(shape.seqlen_k)) {
    const double factor = std::pow(10, decades * double(random() % 1000) / 999);
    for (size_t n = row; n < row + size_t(shape.seqlen_k); ++n)
      bias[n] = oracle::rounded(float(std::clamp(factor * double(bias[n]), -largest, largest)), dtype);
  }
  return bias;
}

/// Returns a mask as frameworks write it: 0, or the lowest number of the type. Some rows are hidden whole.
std::vector<float> Values::biasMask() const {
  std::vector<float> bias(shape.sizeScores(), 0.0f);
  std::minstd_rand random(uint32_t(seed % 1000003 + 1));
  for (size_t row = 0; row < bias.size(); row += size_t(shape.seqlen_k)) {
    const bool hidesAll = random() % 8 == 0;
    for (size_t n = row; n < row + size_t(shape.seqlen_k); ++n)
      if (hidesAll || random() % 2)
        bias[n] = -largestNumber(dtype);
  }
  return bias;
}

/// Returns a causal mask as frameworks write it. Each row sees key 0.
std::vector<float> Values::biasCausal() const {
  std::vector<float> bias(shape.sizeScores(), 0.0f);
  for (size_t n = 0; n < bias.size(); ++n)
    if (int64_t(n) % shape.seqlen_k > int64_t(n) / shape.seqlen_k % shape.seqlen_q)
      bias[n] = -largestNumber(dtype);
  return bias;
}

/// Returns 0 and other numbers whose bytes a condition must not confuse with 0.
std::vector<float> Values::mask() const {
  constexpr float elements[] = {0, 1, 0, -1, 0, -128, 127, 2};
  std::vector<float> mask;
  for (int32_t number : integers(shape.sizeScores(), 1 << 20, 3))
    mask.push_back(elements[number >> 4 & 7]);
  return mask;
}

/// Returns a bound for each batch entry: often none, sometimes 2^30 or more.
std::vector<float> Values::windowBounds(uint64_t salt) const {
  constexpr float bounds[] = {-1, -7, 0, 0x1p30f, 0x1.fffffep30f};
  std::vector<float> result;
  for (int32_t number : integers(shape.batch, 1 << 20, salt))
    result.push_back(number % 3 == 0 ? bounds[number / 3 % std::size(bounds)] : float(number / 3 % 40));
  return result;
}

/// Returns a bound below `limit` for each query, ascending in each batch entry.
std::vector<float> Values::intervalBounds(int32_t limit, uint64_t salt) const {
  std::vector<float> bounds = floats(integers(shape.batch * shape.seqlen_q, limit, salt));
  for (int64_t batch = 0; batch < shape.batch; ++batch)
    std::sort(bounds.begin() + batch * shape.seqlen_q, bounds.begin() + (batch + 1) * shape.seqlen_q);
  return bounds;
}

/// Returns the operands of a product. Some have the same keys for all heads.
VariantArrays Values::operands(int dim) const {
  const int64_t head = shape.seqlen_k * dim;
  VariantArrays arrays = {oracle::normalNumbers(shape.batch * shape.heads * shape.seqlen_q * dim, dtype, seed + 18),
                          oracle::normalNumbers(shape.batch * shape.kv_heads * head, dtype, seed + 19)};
  for (int64_t n = 0; hasSharedKeys() && n < shape.batch * shape.kv_heads; ++n)
    std::copy_n(arrays[1].begin() + n / shape.kv_heads * shape.kv_heads * head, head, arrays[1].begin() + n * head);
  return arrays;
}

VariantArrays Values::of(std::string_view part) const {
  if (part.starts_with("alibi"))
    return {slopes()};
  if (part.starts_with("prefix"))
    return {floats(integers(shape.batch, int32_t(shape.seqlen_k + 1)))};
  if (part == "documents")
    return documents();
  if (part.starts_with("either"))
    return documentsAndPrefixes();
  if (part == "ids")
    return {floats(integers(shape.batch * shape.seqlen_q, 4)), floats(integers(shape.batch * shape.seqlen_k, 4))};
  if (part == "bias")
    return {oracle::normalNumbers(shape.sizeScores(), dtype, seed + 17)};
  if (part.starts_with("product"))
    return operands(part == "product" ? kAddedDim : kLargeAddedDim);
  if (part == "bias_f32")
    return {oracle::normalNumbers(shape.sizeScores(), f32, seed + 17)};
  if (part == "mask")
    return {mask()};
  if (part.starts_with("given_window"))
    return {windowBounds(4), windowBounds(5)};
  if (part == "intervals") // Some are empty, and some reach beyond the last key.
    return {intervalBounds(int32_t(shape.seqlen_k / 2 + 1), 6), intervalBounds(int32_t(shape.seqlen_k + 20), 7)};
  if (part == "bias_large")
    return {largeBias()};
  if (part == "bias_mask")
    return {biasMask()};
  if (part == "bias_causal")
    return {biasCausal()};
  if (part == "probability")
    return {oracle::normalNumbers(shape.heads * shape.seqlen_k, f32, seed + 20)};
  return {};
}

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    size_t end = std::min(name.find('+'), name.size());
    parts.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

/// Returns documents in any order, a mask that no band or range describes.
CheckedVariant sameIds() {
  Variant variant{
      .name = "ids",
      .tensors = {{"query_id", i32, {Axis::batch, Axis::seqlen_q}}, {"key_id", i32, {Axis::batch, Axis::seqlen_k}}}};
  variant.mask = [](const ScoreIndex &at, VariantViews tensors) {
    return tensors[0].gather(at.batch, at.query) == tensors[1].gather(at.batch, at.key);
  };
  return {std::move(variant), [](oracle::Rules &rules, const tools::RuleInputs &in) {
            addDocuments(rules, in.shape, {in.tensors[0].begin(), in.tensors[0].end()},
                         {in.tensors[1].begin(), in.tensors[1].end()});
          }};
}

/// Returns scores with a step: a term for near keys and later ones, and another term for far keys.
CheckedVariant step() {
  Variant variant{.name = "step"};
  variant.score = [](Value score, const ScoreIndex &at, VariantViews) {
    return score + select(at.query - at.key < kStep, 0.5, -0.5);
  };
  auto forward = [](auto s, const oracle::Position &p) {
    return s + decltype(s)(p.query - p.key < kStep ? 0.5 : -0.5);
  };
  auto backward = [](double, const oracle::Position &, double gradient) { return gradient; };
  return {std::move(variant), [=](oracle::Rules &rules, const tools::RuleInputs &) {
            rules.steps.push_back({forward, backward});
          }};
}

/// Returns p -> gate[head, key] p + p^2, which is negative for some keys.
CheckedVariant gatedProbability() {
  Variant variant{.name = "probability",
                  .tensors = {{.name = "gate", .axes = {Axis::heads, Axis::seqlen_k}, .wants_gradient = true}}};
  variant.probability = [](Value p, const ScoreIndex &at, VariantViews tensors) {
    return tensors[0].gather(at.head, at.key) * p + p * p;
  };
  return {std::move(variant), [](oracle::Rules &rules, const tools::RuleInputs &in) {
            const auto gate = [gates = in.tensors[0], keys = in.shape.seqlen_k](const oracle::Position &at) {
              return gates[size_t(at.head * keys + at.key)];
            };
            const auto forward = [=](auto p, const oracle::Position &at) { return decltype(p)(gate(at)) * p + p * p; };
            std::vector<double> *gradient = in.gradients.empty() ? nullptr : in.gradients.data();
            const auto backward = [=, keys = in.shape.seqlen_k](auto p, const oracle::Position &at, double incoming) {
              if (gradient != nullptr)
                (*gradient)[size_t(at.head * keys + at.key)] += incoming * p;
              return decltype(p)(incoming) * (decltype(p)(gate(at)) + 2 * p);
            };
            rules.probability_steps.push_back({forward, backward});
          }};
}

/// Returns p -> p^2.
CheckedVariant squaredProbability() {
  Variant variant{.name = "square"};
  variant.probability = [](Value p, const ScoreIndex &, VariantViews) { return p * p; };
  return {std::move(variant), [](oracle::Rules &rules, const tools::RuleInputs &) {
            rules.probability_steps.push_back(
                {[](auto p, const oracle::Position &) { return p * p; },
                 [](auto p, const oracle::Position &, double incoming) { return 2 * p * decltype(p)(incoming); }});
          }};
}

/// Returns the union of a window and of a band far from it. The band with larger keys is the first one.
CheckedVariant windows(Alignment alignment) {
  Variant variant{.name = "windows",
                  .any_of = {{.bands = {{kLeft, kRight, alignment}}}, {.bands = {{kFarLeft, kFarRight, alignment}}}}};
  return {std::move(variant), [=](oracle::Rules &rules, const tools::RuleInputs &in) {
            std::vector<oracle::Rules> sets(2);
            addWindow(sets[0], in.shape, kFarLeft, kFarRight, tools::cornerOf(alignment));
            addWindow(sets[1], in.shape, kLeft, kRight, tools::cornerOf(alignment));
            addAnyOf(rules, std::move(sets));
          }};
}

CheckedVariant partOf(std::string_view part, DType dtype) {
  Alignment alignment = part.ends_with("_br") ? Alignment::bottom_right : Alignment::top_left;
  if (part == "softcap")
    return tools::checkedSoftcap(kCap, dtype);
  if (part.starts_with("alibi"))
    return tools::checkedAlibi(alignment);
  if (part.starts_with("global"))
    return tools::checkedWindowWithGlobals(kLeft, kRight, kGlobals, alignment);
  if (part.starts_with("windows"))
    return windows(alignment);
  if (part.starts_with("either"))
    return either(tools::checkedDocuments(), tools::checkedPrefixLm(alignment));
  if (part.starts_with("given_window"))
    return tools::checkedGivenWindow(alignment);
  if (part.starts_with("window"))
    return tools::checkedWindow(kLeft, kRight, alignment);
  if (part.starts_with("prefix"))
    return tools::checkedPrefixLm(alignment);
  if (part == "documents")
    return tools::checkedDocuments();
  if (part == "intervals")
    return tools::checkedKeyIntervals();
  if (part == "ids")
    return sameIds();
  if (part == "step")
    return step();
  if (part == "probability")
    return gatedProbability();
  if (part == "square")
    return squaredProbability();
  if (part.starts_with("bias"))
    return tools::checkedBias(part == "bias_f32" ? f32 : dtype);
  if (part == "mask")
    return tools::checkedMask();
  if (part.starts_with("product"))
    return tools::checkedAddedProduct(dtype, part == "product" ? kAddedDim : kLargeAddedDim);
  return {{.name = std::string(part)}, [](oracle::Rules &, const tools::RuleInputs &) {}};
}

CheckedVariant checkedVariant(std::string_view name, DType dtype) {
  std::vector<std::string_view> parts = split(name);
  CheckedVariant variant = partOf(parts[0], dtype);
  for (size_t n = 1; n < parts.size(); ++n)
    variant = combine(std::move(variant), partOf(parts[n], dtype));
  return variant;
}

/// A tensor that repeats to `full`, [batch, heads, seqlen_q, seqlen_k].
struct Repeated {
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};

/// Returns a random part of `values` as a tensor of rank 1 to 4, some of whose sizes are 1, and changes `values` to
/// what it repeats to. If it `may_be_short`, the last size may be less than seqlen_k; `values` are then 0 for keys
/// beyond.
Repeated repeated(std::vector<float> &values, const std::vector<int64_t> &full, bool may_be_short, uint64_t seed) {
  if (values.empty())
    return {full, {}};
  std::minstd_rand random(uint32_t(seed % 1000003 + 1));
  random.discard(3);
  const auto chance = [&] { return random() / 7 % 2 == 0; };
  Repeated result{.shape = full, .numbers = {}};
  const size_t missing = chance() ? 0 : random() / 7 % full.size();
  for (size_t axis = 0; axis < full.size(); ++axis)
    result.shape[axis] = axis < missing || (full[axis] > 0 && chance() && chance()) ? 1 : full[axis];
  if (may_be_short && result.shape.back() > 2 && chance())
    result.shape.back() -= int64_t(random() / 7) % (result.shape.back() - 1); // At least 2: one repeats.
  std::vector<int64_t> at(full.size());
  std::vector<float> all = values;
  for (size_t n = 0; n < values.size(); ++n) {
    int64_t rest = int64_t(n), from = 0;
    for (size_t axis = full.size(); axis-- > 0; rest /= full[axis])
      at[axis] = rest % full[axis];
    bool isOwn = true, isBeyond = false;
    for (size_t axis = 0; axis < full.size(); ++axis) {
      const int64_t size = result.shape[axis];
      isOwn &= at[axis] < size;
      isBeyond |= size != 1 && at[axis] >= size;
      from = from * full[axis] + (size == 1 ? 0 : at[axis]);
    }
    values[n] = isBeyond ? 0 : all[size_t(from)];
    if (isOwn)
      result.numbers.push_back(all[n]);
  }
  result.shape.erase(result.shape.begin(), result.shape.begin() + int64_t(missing));
  return result;
}

/// Returns [batch, 1, rows, columns], of which `values` are a repetition.
Repeated ofFirstHead(const std::vector<float> &values, const std::vector<int64_t> &full) {
  Repeated result{.shape = {full[0], 1, full[2], full[3]}, .numbers = {}};
  const int64_t head = full[2] * full[3];
  for (int64_t batch = 0; batch < full[0]; ++batch) {
    const auto first = values.begin() + batch * full[1] * head;
    result.numbers.insert(result.numbers.end(), first, first + head);
  }
  return result;
}

std::vector<TensorRef> refsOf(const std::vector<TestTensor> &tensors) {
  std::vector<TensorRef> refs;
  for (const TestTensor &tensor : tensors)
    refs.push_back(tensor.ref());
  return refs;
}

} // namespace

std::span<const std::string_view> variantParts() { return kParts; }

bool hasExtremeScores(std::string_view name) {
  const std::vector<std::string_view> parts = split(name);
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return part == "bias_large" || part == "bias_mask" || (part == "bias_causal" && parts.size() > 1);
  });
}

/// Returns true if the causal mask and all parts of the variant that count from a diagonal use the same one.
static bool hasOneDiagonal(std::string_view name, Causal causal) {
  bool first = causal == Causal::top_left, last = causal == Causal::bottom_right;
  for (std::string_view part : split(name)) {
    first |= part.ends_with("_tl");
    last |= part.ends_with("_br");
  }
  return !first || !last;
}

bool isLegal(std::string_view name, Causal causal) {
  const Variant variant = makeVariant(name, f32);
  std::set<std::string> names;
  for (const VariantTensor &tensor : variant.tensors)
    names.insert(tensor.name);
  return variant.status.ok() && names.size() == variant.tensors.size() && hasOneDiagonal(name, causal);
}

Variant makeVariant(std::string_view name, DType dtype) { return checkedVariant(name, dtype).variant; }

std::vector<TensorRef> VariantRun::tensorRefs() const { return refsOf(tensors); }
std::vector<TensorRef> VariantRun::gradientRefs() const { return refsOf(gradients); }

VariantRun makeRun(std::string_view name, const Shape &shape, DType dtype, Layout layout, Poison poison, uint64_t seed,
                   double slope, double scale) {
  const CheckedVariant checked = checkedVariant(name, dtype);
  VariantArrays values;
  std::vector<bool> repeats; // For each tensor.
  for (std::string_view part : split(name))
    for (std::vector<float> &numbers : Values{shape, dtype, seed, slope}.of(part)) {
      values.push_back(std::move(numbers));
      repeats.push_back(part == "bias_f32" || part == "mask" || part == "intervals" ||
                        part.starts_with("given_window"));
    }
  VariantRun run;
  run.exact_gradients = std::make_shared<tools::VariantGradients>();
  run.plain_gradients = std::make_shared<tools::VariantGradients>();
  for (size_t n = 0; n < values.size(); ++n) {
    const VariantTensor &tensor = checked.variant.tensors[n];
    const std::vector<int64_t> sizes = tools::shapeOf(tensor, tools::attentionShape(shape));
    const bool isShared = tensor.name == "k_added" && Values{shape, dtype, seed, slope}.hasSharedKeys();
    const Repeated given = isShared ? ofFirstHead(values[n], sizes)
                           : repeats[n]
                               ? repeated(values[n], sizes, tensor.axes.back() == Axis::up_to_seqlen_k, seed + n)
                               : Repeated{sizes, values[n]};
    run.tensors.emplace_back(tensor.dtype, given.shape, layout, poison, given.numbers);
    if (!tensor.wants_gradient)
      continue;
    run.gradients.emplace_back(f32, sizes, layout, poison);
    run.gradients.back().fill(0);
    run.gradient_names.push_back("d" + tensor.name);
    run.exact_gradients->emplace_back(values[n].size());
    run.plain_gradients->emplace_back(values[n].size());
  }
  checked.add_rules(run.exact, {shape, values, *run.exact_gradients, scale});
  checked.add_rules(run.plain, {shape, values, *run.plain_gradients, scale});
  return run;
}

} // namespace tegula::testing
