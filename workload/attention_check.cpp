// SPDX-License-Identifier: MIT
// One key/value head of one batch entry, with its query heads, is a problem of its own: the cores share those.
#include "workload/attention_check.h"

#include "workload/crop.h"
#include "workload/parallel.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

/// Returns slice `index` of `whole`, which consists of slices of `size` elements.
template <class T> std::vector<T> part(const std::vector<T> &whole, int64_t index, int64_t size) {
  return {whole.begin() + index * size, whole.begin() + (index + 1) * size};
}

/// Returns part `index`, which is one kv head, of a variant's tensor. The axes of batches and heads come first.
std::vector<float> part(const std::vector<float> &whole, const VariantTensor &tensor, const AttentionShape &shape,
                        int64_t index) {
  int64_t parts = 1, number = 0;
  auto divide = [&](int64_t count, int64_t along) {
    parts *= count;
    number = number * count + along;
  };
  for (Axis axis : tensor.axes) {
    if (axis == Axis::batch)
      divide(shape.batch, index / shape.kv_heads);
    if (axis == Axis::heads || axis == Axis::kv_heads)
      divide(shape.kv_heads, index % shape.kv_heads);
  }
  return part(whole, number, int64_t(whole.size()) / parts);
}

/// All zeros.
AttentionResults emptyResults(const oracle::Shape &shape, bool backward, const VariantArrays &tensors,
                              const Variant &variant) {
  AttentionResults results;
  results.outputs.o.resize(size_t(shape.sizeO()));
  results.outputs.lse.resize(size_t(shape.sizeLse()));
  if (!backward)
    return results;
  results.gradients.dq.resize(size_t(shape.sizeQ()));
  results.gradients.dk.resize(size_t(shape.sizeK()));
  results.gradients.dv.resize(size_t(shape.sizeV()));
  for (size_t n = 0; n < variant.tensors.size(); ++n)
    if (variant.tensors[n].wants_gradient)
      results.variant_gradients.emplace_back(tensors[n].size());
  return results;
}

/// Puts the results of part `index` where they belong.
void place(AttentionResults &part, int64_t index, AttentionResults &whole) {
  const std::vector<std::vector<double> *> from = part.all(), to = whole.all();
  for (size_t n = 0; n < to.size(); ++n)
    std::copy(from[n]->begin(), from[n]->end(), to[n]->begin() + index * int64_t(from[n]->size()));
}

/// One part of the problem, computed on its own.
struct Part {
  const AttentionCase &attention;
  oracle::Shape shape;
  oracle::Inputs inputs;
  std::vector<float> d_o; ///< Empty without a backward pass.
  VariantArrays variant;
  int64_t first_head;       ///< The index of its first query head among those of all batch entries.
  std::vector<float> sinks; ///< The sinks of its query heads; empty without sinks.

  bool isBackward() const { return attention.problem.backward; }
  AttentionResults results() const { return emptyResults(shape, isBackward(), variant, attention.problem.variant); }
  /// They add to `gradients`.
  oracle::Rules rules(VariantGradients &gradients) const;
};

oracle::Rules Part::rules(VariantGradients &gradients) const {
  oracle::Rules rules;
  if (attention.problem.causal != Causal::none)
    addCausal(rules, shape, cornerOf(attention.problem));
  oracle::Rules masked;
  const bool fullBlocksSkipMask = attention.blocks && attention.problem.variant.mask;
  if (attention.variant)
    attention.variant->checked(attention.problem)
        .add_rules(fullBlocksSkipMask ? masked : rules, {shape, variant, gradients, attention.scale});
  rules.steps.insert(rules.steps.end(), masked.steps.begin(), masked.steps.end());
  rules.probability_steps.insert(rules.probability_steps.end(), masked.probability_steps.begin(),
                                 masked.probability_steps.end());
  if (attention.own_rules)
    attention.own_rules(rules, {shape, variant, gradients, attention.scale});
  else if (attention.blocks)
    addBlocks(rules, *attention.blocks, std::move(masked), first_head / attention.shape.heads,
              first_head % attention.shape.heads);
  if (attention.problem.dropout_p != 0)
    addDropout(rules, shape, int(std::lround(256 * (1 - attention.problem.dropout_p))), attention.dropout_seed,
               attention.dropout_offset, first_head);
  rules.sinks = sinks;
  rules.abandoned = attention.abandoned;
  return rules;
}

/// Returns the number of parts of a problem. Rules that are not the library's count batch entries and heads from the
/// first one of the whole problem.
int64_t partsOf(const AttentionCase &attention) {
  return attention.own_rules ? 1 : attention.shape.batch * attention.shape.kv_heads;
}

Part wholeProblem(const AttentionCase &attention, const AttentionArrays &arrays) {
  return {.attention = attention,
          .shape = oracleShape(attention),
          .inputs = {arrays.q, arrays.k, arrays.v},
          .d_o = arrays.d_o,
          .variant = arrays.variant,
          .first_head = 0,
          .sinks = arrays.sinks};
}

Part makePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index) {
  if (attention.own_rules)
    return wholeProblem(attention, arrays);
  oracle::Shape shape = oracleShape(attention);
  shape.heads /= shape.kv_heads;
  shape.batch = shape.kv_heads = 1;
  Part p{.attention = attention,
         .shape = shape,
         .inputs = {part(arrays.q, index, shape.sizeQ()), part(arrays.k, index, shape.sizeK()),
                    part(arrays.v, index, shape.sizeV())},
         .d_o = {},
         .variant = {},
         .first_head = index * shape.heads,
         .sinks = {}};
  if (attention.problem.sinks)
    p.sinks = part(arrays.sinks, index % attention.shape.kv_heads, shape.heads);
  if (p.isBackward())
    p.d_o = part(arrays.d_o, index, shape.sizeO());
  for (size_t n = 0; n < attention.problem.variant.tensors.size(); ++n)
    p.variant.push_back(part(arrays.variant[n], attention.problem.variant.tensors[n], attention.shape, index));
  return p;
}

AttentionResults exactResults(const Part &p) {
  AttentionResults results = p.results();
  const oracle::Rules rules = p.rules(results.variant_gradients);
  results.outputs = forward(p.shape, rules, p.attention.scale, p.inputs);
  if (p.isBackward())
    results.gradients = backward(p.shape, rules, p.attention.scale, p.inputs, p.d_o);
  return results;
}

AttentionResults plainResults(const Part &p, int run) {
  AttentionResults results = p.results();
  const oracle::Rules rules = p.rules(results.variant_gradients);
  const DType dtype = p.attention.problem.dtype;
  results.outputs = plainForward(p.shape, rules, p.attention.scale, p.inputs, dtype, run);
  if (p.isBackward())
    results.gradients = plainBackward(p.shape, rules, p.attention.scale, p.inputs, p.d_o, dtype, run);
  return results;
}

/// The results of an AttentionReference while it is computed.
struct Reference {
  AttentionResults exact;
  std::vector<double> plain;
  std::vector<std::vector<double>> plain_d_sinks; ///< For each run.
  std::mutex mutex; ///< Protects the plain results and d_sinks. The parts of the rest do not overlap.
};

/// Adds the gradients of the sinks of part `index` to those of all heads.
void addSinks(const std::vector<double> &part, int64_t index, const AttentionCase &attention,
              std::vector<double> &whole) {
  for (size_t n = 0; n < part.size(); ++n)
    whole[size_t(index % attention.shape.kv_heads) * part.size() + n] += part[n];
}

int plainRuns(const AttentionCase &attention) {
  return oracle::plainRuns(oracleShape(attention), 1 - attention.problem.dropout_p);
}

/// Fills part `index` of the reference, which has a number of runs of the plain formula.
void computePart(const AttentionCase &attention, const AttentionArrays &arrays, int64_t index, Reference &to) {
  const Part p = makePart(attention, arrays, index);
  AttentionResults exact = exactResults(p);
  place(exact, index, to.exact);
  {
    std::lock_guard lock(to.mutex);
    addSinks(exact.gradients.d_sinks, index, attention, to.exact.gradients.d_sinks);
  }
  for (int run = 0; run < int(to.plain_d_sinks.size()); ++run) {
    AttentionResults plain = plainResults(p, run);
    std::lock_guard lock(to.mutex);
    addSinks(plain.gradients.d_sinks, index, attention, to.plain_d_sinks[run]);
    for (size_t n = 0; n < to.plain.size(); ++n)
      to.plain[n] = std::max(to.plain[n], oracle::plainError(*plain.all()[n], *exact.all()[n]));
  }
}

/// Returns the parts of arrays that belong to a sequence of a packed problem.
AttentionArrays arraysOf(const AttentionArrays &arrays, const AttentionShape &shape, IndexRange queries,
                         IndexRange keys) {
  const auto part = [](const std::vector<float> &array, int64_t heads, int64_t length, IndexRange range) {
    const int64_t columns = array.empty() ? 0 : int64_t(array.size()) / (heads * length);
    return crop(array, {heads, length, columns}, {{0, heads}, range, {0, columns}});
  };
  AttentionArrays parts;
  for (auto array :
       {&AttentionArrays::q, &AttentionArrays::o, &AttentionArrays::lse, &AttentionArrays::d_o, &AttentionArrays::dq})
    parts.*array = part(arrays.*array, shape.heads, shape.seqlen_q, queries);
  for (auto array : {&AttentionArrays::k, &AttentionArrays::v, &AttentionArrays::dk, &AttentionArrays::dv})
    parts.*array = part(arrays.*array, shape.kv_heads, shape.seqlen_k, keys);
  return parts;
}

/// Returns each sequence of a packed problem as a problem of its own.
std::vector<CheckedRun> sequencesOf(const AttentionCase &attention, const AttentionArrays &arrays) {
  const std::vector<int32_t> &q = attention.packed->offsets_q, &k = attention.packed->offsets_k;
  std::vector<CheckedRun> runs;
  for (size_t n = 0; n + 1 < q.size(); ++n) {
    AttentionCase sequence = attention;
    sequence.packed = {};
    sequence.pages = {};
    sequence.problem.page_size = 0;
    sequence.problem.causal = causalOf(attention);
    sequence.problem.variant = {};
    sequence.shape.seqlen_q = q[n + 1] - q[n];
    sequence.shape.seqlen_k = k[n + 1] - k[n];
    runs.push_back({sequence, arraysOf(arrays, attention.shape, {q[n], q[n + 1]}, {k[n], k[n + 1]})});
  }
  return runs;
}

/// Enlarges errors to those of another problem, if they are larger there.
void enlarge(std::vector<TensorError> &errors, const std::vector<TensorError> &others) {
  if (errors.empty())
    errors = others;
  const auto larger = [](double a, double b) { return std::isnan(a) || a > b ? a : b; };
  for (size_t n = 0; n < others.size(); ++n) {
    oracle::Error &error = errors[n].error;
    const oracle::Error &other = others[n].error;
    error = {.worst = larger(error.worst, other.worst),
             .plain = larger(error.plain, other.plain),
             .rounding = larger(error.rounding, other.rounding),
             .lse = larger(error.lse, other.lse)};
  }
}

/// Returns the result of `errorsWith`, a function of the number of runs of the plain formula. Calls it with more runs
/// if few may be the reason for an error ratio above the limit.
template <class ErrorsWith> AttentionErrors withEnoughRuns(ErrorsWith errorsWith) {
  AttentionErrors errors = errorsWith(0);
  const auto isNear = [](const TensorError &tensor) { return mayBeChance(tensor.ratio()); };
  const bool isChance = std::ranges::any_of(errors.forward, isNear) || std::ranges::any_of(errors.backward, isNear);
  return isChance ? errorsWith(oracle::kManyPlainRuns) : errors;
}

} // namespace

std::vector<std::vector<double> *> AttentionResults::all() {
  std::vector<std::vector<double> *> all = {&outputs.o, &outputs.lse, &gradients.dq, &gradients.dk, &gradients.dv};
  for (std::vector<double> &gradient : variant_gradients)
    all.push_back(&gradient);
  return all;
}

AttentionReference::AttentionReference(const AttentionCase &attention, const AttentionArrays &arrays, int plain_runs)
    : attention_(attention) {
  const AttentionProblem &problem = attention.problem;
  const oracle::Shape shape = oracleShape(attention);
  Reference reference;
  reference.exact = emptyResults(shape, problem.backward, arrays.variant, problem.variant);
  reference.plain.resize(reference.exact.all().size());
  std::vector<double> &dSinks = reference.exact.gradients.d_sinks;
  dSinks.resize(problem.sinks && problem.backward ? size_t(shape.heads) : 0);
  reference.plain_d_sinks.resize(size_t(plain_runs ? plain_runs : plainRuns(attention)), dSinks);
  forEachInParallel(partsOf(attention), [&](int64_t index) { computePart(attention, arrays, index, reference); });
  for (const std::vector<double> &run : reference.plain_d_sinks)
    plain_d_sinks_ = std::max(plain_d_sinks_, oracle::plainError(run, dSinks));
  exact_ = std::move(reference.exact);
  plain_ = std::move(reference.plain);
}

AttentionErrors AttentionReference::errors(const AttentionArrays &arrays) const {
  auto error = [&](const std::vector<float> &x, const std::vector<double> &numbers, DType dtype, double plain) {
    oracle::Error error = oracle::measure(x, numbers, dtype);
    error.plain = plain;
    return error;
  };
  const AttentionProblem &problem = attention_.problem;
  const auto &[outputs, gradients, variant] = exact_;
  AttentionErrors errors;
  errors.forward = {{"o", error(arrays.o, outputs.o, problem.dtype, plain_[0])},
                    {"lse", error(arrays.lse, outputs.lse, f32, plain_[1])}};
  if (!problem.backward)
    return errors;
  errors.backward = {{"dq", error(arrays.dq, gradients.dq, problem.dtype, plain_[2])},
                     {"dk", error(arrays.dk, gradients.dk, problem.dtype, plain_[3])},
                     {"dv", error(arrays.dv, gradients.dv, problem.dtype, plain_[4])}};
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (size_t n = errors.backward.size() - 3; tensor.wants_gradient)
      errors.backward.push_back(
          {"d" + tensor.name, error(arrays.variant_gradients[n], variant[n], problem.dtype, plain_[5 + n])});
  if (problem.sinks)
    errors.backward.push_back({"d_sinks", error(arrays.d_sinks, gradients.d_sinks, problem.dtype, plain_d_sinks_)});
  return errors;
}

AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays) {
  if (attention.packed)
    return checkAttention(sequencesOf(attention, arrays));
  return withEnoughRuns(
      [&](int plain_runs) { return AttentionReference(attention, arrays, plain_runs).errors(arrays); });
}

AttentionErrors checkAttention(std::span<const CheckedRun> runs) {
  return withEnoughRuns([&](int plain_runs) {
    AttentionErrors errors;
    for (const auto &[attention, arrays] : runs) {
      const AttentionErrors others = AttentionReference(attention, arrays, plain_runs).errors(arrays);
      enlarge(errors.forward, others.forward);
      enlarge(errors.backward, others.backward);
    }
    return errors;
  });
}

Status verdict(const AttentionErrors &errors) {
  std::string bad;
  for (const auto *list : {&errors.forward, &errors.backward})
    for (const TensorError &tensor : *list)
      if (!tensor.acceptable())
        bad += fmt::format("{}{} has {:.3g}", bad.empty() ? "" : ", ", tensor.name, tensor.ratio());
  if (bad.empty())
    return {};
  return {ErrorCode::internal, fmt::format("the error ratio may be at most {}, but {}", kMaxErrorRatio, bad)};
}

} // namespace tegula::tools
