// SPDX-License-Identifier: MIT
#include "api.h"

namespace tegula {
namespace {

static_assert(TEGULA_F32 == int(DType::f32) && TEGULA_F16 == int(DType::f16) && TEGULA_BF16 == int(DType::bf16) &&
              TEGULA_I64 == int(DType::i64) && TEGULA_I32 == int(DType::i32) && TEGULA_I8 == int(DType::i8) &&
              TEGULA_E4M3 == int(DType::e4m3));
static_assert(TEGULA_CAUSAL_NONE == int(Causal::none) && TEGULA_CAUSAL_TOP_LEFT == int(Causal::top_left) &&
              TEGULA_CAUSAL_BOTTOM_RIGHT == int(Causal::bottom_right));
static_assert(TEGULA_OK == int(ErrorCode::ok) && TEGULA_NEEDS_COMPILE == int(ErrorCode::needs_compile) &&
              TEGULA_INTERNAL == int(ErrorCode::internal));

static_assert(TEGULA_NO_BOUND == kNoBound);
static_assert(std::size(tegula_attention_problem{}.any_of) == kMaxKeySets);

static_assert(TEGULA_BLOCK_MASK_NONE == int(BlockMask::Source::none) &&
              TEGULA_BLOCK_MASK_COMPUTED == int(BlockMask::Source::computed) &&
              TEGULA_BLOCK_MASK_GIVEN == int(BlockMask::Source::given));

constexpr int64_t kLongest = int64_t{1} << 40;

constexpr int32_t kAllVariants = TEGULA_WINDOW | TEGULA_SOFTCAP | TEGULA_ALIBI | TEGULA_PREFIX_LM | TEGULA_DOCUMENTS |
                                 TEGULA_BIAS | TEGULA_MASK | TEGULA_GIVEN_WINDOW | TEGULA_KEY_INTERVALS |
                                 TEGULA_SEQUENCES | TEGULA_PACKED_QUERIES;
/// The variants that count from the diagonal.
constexpr int32_t kOnDiagonal =
    TEGULA_WINDOW | TEGULA_ALIBI | TEGULA_PREFIX_LM | TEGULA_GIVEN_WINDOW | TEGULA_GLOBAL_TOKENS;
/// The variants that sets of a union may have.
constexpr int32_t kOfSets = TEGULA_WINDOW | TEGULA_PREFIX_LM | TEGULA_DOCUMENTS | TEGULA_GIVEN_WINDOW |
                            TEGULA_KEY_INTERVALS | TEGULA_GLOBAL_TOKENS;
/// Variants of sets that read tensors.
constexpr int32_t kSetsWithTensors = TEGULA_PREFIX_LM | TEGULA_DOCUMENTS | TEGULA_GIVEN_WINDOW | TEGULA_KEY_INTERVALS;

Status outOfRange(const std::string &name, int64_t value, int64_t last) {
  return {ErrorCode::invalid_argument,
          "argument '" + name + "': it is " + std::to_string(value) + "; it must be from 0 to " + std::to_string(last)};
}

Status checkRange(const std::string &name, int64_t value, int64_t last) {
  return value >= 0 && value <= last ? Status() : outOfRange(name, value, last);
}

Status checkVariants(int32_t variants) {
  if ((variants & ~kAllVariants) == 0)
    return {};
  return {ErrorCode::invalid_argument,
          "argument 'variants': it is " + std::to_string(variants) +
              "; it must be variants, or-ed, but not TEGULA_GLOBAL_TOKENS, which sets of 'any_of' have"};
}

/// Reads a length into `expected`, which stays as it is if the length is 0.
Status readLength(const char *name, int64_t length, int64_t &expected) {
  TEGULA_RETURN_IF_ERROR(checkRange(name, length, kLongest));
  expected = length != 0 ? length : expected;
  return {};
}

/// Returns true if `variants` or a set of the union counts from the diagonal.
bool countsFromDiagonal(const tegula_attention_problem &problem) {
  int32_t all = problem.variants;
  for (const tegula_key_set &set : problem.any_of)
    all |= set.variants;
  return (all & kOnDiagonal) != 0;
}

/// Checks that `bottom_right` fits the causal mask, because a mask and its variants share one diagonal.
Status checkDiagonal(const tegula_attention_problem &problem) {
  if (problem.bottom_right == 0 || problem.causal != TEGULA_CAUSAL_TOP_LEFT || !countsFromDiagonal(problem))
    return {};
  return {ErrorCode::invalid_argument,
          "argument 'bottom_right': it is " + std::to_string(problem.bottom_right) +
              ", but 'causal' is TEGULA_CAUSAL_TOP_LEFT (1); a problem has one diagonal: set bottom_right = 0 to count "
              "from the first query, or causal = TEGULA_CAUSAL_BOTTOM_RIGHT (2) to count from the last one"};
}

/// Checks that something counts from a diagonal that calls move.
Status checkDiagonalOffset(const tegula_attention_problem &problem) {
  if (problem.diagonal_offset == 0 || problem.causal != TEGULA_CAUSAL_NONE || countsFromDiagonal(problem))
    return {};
  return {ErrorCode::invalid_argument,
          "argument 'diagonal_offset': it is " + std::to_string(problem.diagonal_offset) +
              ", but nothing counts from a diagonal; set it to 0, or set a causal mask, TEGULA_WINDOW, "
              "TEGULA_GIVEN_WINDOW, TEGULA_ALIBI, TEGULA_PREFIX_LM or TEGULA_GLOBAL_TOKENS"};
}

/// Returns the variants of a set, all in one. The problem has their diagonal, and the numbers of those that no union
/// may have.
Variant variantOf(const tegula_attention_problem &problem, const tegula_key_set &set) {
  const bool countsFromLast = problem.bottom_right != 0 || problem.causal == TEGULA_CAUSAL_BOTTOM_RIGHT;
  const Alignment alignment = countsFromLast ? Alignment::bottom_right : Alignment::top_left;
  Variant all;
  auto add = [&](int32_t flag, auto make) {
    if ((set.variants & flag) != 0)
      all = combine(std::move(all), make());
  };
  add(TEGULA_WINDOW, [&] { return slidingWindow(set.window_left, set.window_right, alignment); });
  add(TEGULA_SOFTCAP, [&] { return softcap(problem.softcap); });
  add(TEGULA_ALIBI, [&] { return alibi(alignment); });
  add(TEGULA_PREFIX_LM, [&] { return prefixLm(alignment); });
  add(TEGULA_DOCUMENTS, [&] { return documents(); });
  add(TEGULA_BIAS, [&] {
    const DType dtype = problem.bias_f32 != 0 ? f32 : static_cast<DType>(problem.dtype);
    return additiveBias(dtype, /*wants_gradient=*/problem.constant_bias == 0);
  });
  add(TEGULA_MASK, [] { return maskTensor(); });
  add(TEGULA_GIVEN_WINDOW, [&] { return givenWindow(alignment); });
  add(TEGULA_KEY_INTERVALS, [] { return keyIntervals(); });
  add(TEGULA_SEQUENCES, [] { return packedSequences(); });
  add(TEGULA_PACKED_QUERIES, [] { return packedQueries(); });
  add(TEGULA_GLOBAL_TOKENS, [&] { return globalTokens(set.global_tokens, alignment); });
  return all;
}

/// Returns the problem's variants, its union and its text, all in one.
Variant variantOf(const tegula_attention_problem &problem) {
  Variant any;
  for (const tegula_key_set &set : problem.any_of)
    if (set.variants != 0) {
      Variant keys = variantOf(problem, set);
      any = any.name.empty() ? std::move(keys) : either(std::move(any), std::move(keys));
    }
  Variant all = combine(variantOf(problem, {.variants = problem.variants,
                                            .reserved = 0,
                                            .window_left = problem.window_left,
                                            .window_right = problem.window_right,
                                            .global_tokens = 0}),
                        std::move(any));
  if (problem.variant_text != nullptr)
    all = combine(std::move(all), variantFromText(problem.variant_text));
  if (problem.product_dim == 0)
    return all;
  return combine(std::move(all), addedProduct(static_cast<DType>(problem.dtype), problem.product_dim,
                                              /*wants_gradient=*/problem.constant_product == 0));
}

/// Checks one set of the union. `taken` are the variants with tensors that come before it.
Status checkSet(const tegula_attention_problem &problem, const std::string &name, const tegula_key_set &set,
                int32_t taken) {
  const std::string start = "argument '" + name + ".variants': it is " + std::to_string(set.variants);
  if ((set.variants & ~kOfSets) != 0)
    return {ErrorCode::invalid_argument,
            start + "; a set may have TEGULA_WINDOW, TEGULA_PREFIX_LM, TEGULA_DOCUMENTS, TEGULA_GIVEN_WINDOW, "
                    "TEGULA_KEY_INTERVALS and TEGULA_GLOBAL_TOKENS, or-ed"};
  if ((set.variants & taken) != 0)
    return {ErrorCode::invalid_argument, start + ", but 'variants' or a set before has the variant " +
                                             std::to_string(set.variants & taken) +
                                             ", too; a variant that reads tensors may appear once"};
  const Status status = variantOf(problem, set).status;
  return status.ok() ? status : Status(status.code(), name + ": " + status.message());
}

Status checkUnion(const tegula_attention_problem &problem) {
  int32_t taken = problem.variants & kSetsWithTensors;
  size_t sets = 0;
  for (size_t i = 0; i < kMaxKeySets; ++i) {
    const tegula_key_set &set = problem.any_of[i];
    TEGULA_RETURN_IF_ERROR(checkSet(problem, "any_of[" + std::to_string(i) + "]", set, taken));
    taken |= set.variants & kSetsWithTensors;
    sets += (set.variants != 0) + ((set.variants & TEGULA_GLOBAL_TOKENS) != 0);
  }
  if (sets <= kMaxKeySets)
    return {};
  return {ErrorCode::invalid_argument, "argument 'any_of': its sets take the room of " + std::to_string(sets) +
                                           ", because TEGULA_GLOBAL_TOKENS counts as two; there is room for " +
                                           std::to_string(kMaxKeySets)};
}

BlockMask blockMaskOf(const tegula_attention_problem &problem) {
  BlockMask mask{.source = static_cast<BlockMask::Source>(problem.block_mask),
                 .per_batch = problem.block_mask_per_batch != 0,
                 .per_head = problem.block_mask_per_head != 0};
  mask.block_q = problem.block_q != 0 ? problem.block_q : mask.block_q;
  mask.block_k = problem.block_k != 0 ? problem.block_k : mask.block_k;
  return mask;
}

} // namespace

Expected<AttentionProblem> readProblem(const tegula_attention_problem *from) {
  const Expected<tegula_attention_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  TEGULA_RETURN_IF_ERROR(checkRange("dtype", problem->dtype, TEGULA_BF16));
  TEGULA_RETURN_IF_ERROR(checkRange("causal", problem->causal, TEGULA_CAUSAL_BOTTOM_RIGHT));
  TEGULA_RETURN_IF_ERROR(checkVariants(problem->variants));
  TEGULA_RETURN_IF_ERROR(checkRange("block_mask", problem->block_mask, TEGULA_BLOCK_MASK_GIVEN));
  TEGULA_RETURN_IF_ERROR(checkRange("scores_output", problem->scores_output, TEGULA_SCORES_PROBABILITIES));
  TEGULA_RETURN_IF_ERROR(checkUnion(*problem));
  TEGULA_RETURN_IF_ERROR(checkDiagonal(*problem));
  TEGULA_RETURN_IF_ERROR(checkDiagonalOffset(*problem));
  AttentionProblem result;
  result.dtype = static_cast<DType>(problem->dtype);
  result.head_dim = problem->head_dim;
  result.value_dim = problem->value_dim != 0 ? problem->value_dim : problem->head_dim;
  result.causal = static_cast<Causal>(problem->causal);
  result.variant = variantOf(*problem);
  result.block_mask = blockMaskOf(*problem);
  result.backward = problem->backward != 0;
  result.lse_gradient = problem->lse_gradient != 0;
  result.contain_nonfinite = problem->contain_nonfinite != 0;
  result.deterministic = problem->deterministic != 0;
  result.dropout_p = problem->dropout_p;
  result.sinks = problem->sinks != 0;
  result.diagonal_offset = problem->diagonal_offset != 0;
  result.scores_output = static_cast<ScoresOutput>(problem->scores_output);
  result.page_size = problem->page_size;
  TEGULA_RETURN_IF_ERROR(readLength("seqlen_q", problem->seqlen_q, result.expected.seqlen_q));
  TEGULA_RETURN_IF_ERROR(readLength("seqlen_k", problem->seqlen_k, result.expected.seqlen_k));
  return result;
}

Expected<Schedule> readSchedule(const tegula_attention_problem &problem) {
  return parseSchedule(problem.schedule != nullptr ? problem.schedule : "");
}

Expected<MergeProblem> readMergeProblem(const tegula_merge_problem *from) {
  const Expected<tegula_merge_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  TEGULA_RETURN_IF_ERROR(checkRange("dtype", problem->dtype, TEGULA_BF16));
  return MergeProblem{.dtype = static_cast<DType>(problem->dtype),
                      .value_dim = problem->value_dim,
                      .lse_gradient = problem->lse_gradient != 0};
}

/// Returns what `lengths`, a legal TEGULA_LENGTHS_..., says.
static CacheLengths readLengths(int32_t lengths, CacheLengths usual) {
  static_assert(int(CacheLengths::all) == TEGULA_LENGTHS_ALL - 1);
  static_assert(int(CacheLengths::last_page) == TEGULA_LENGTHS_LAST_PAGE - 1);
  return lengths == TEGULA_LENGTHS_USUAL ? usual : static_cast<CacheLengths>(lengths - 1);
}

Expected<AppendProblem> readAppendProblem(const tegula_append_problem *from) {
  const Expected<tegula_append_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  TEGULA_RETURN_IF_ERROR(checkRange("dtype", problem->dtype, TEGULA_BF16));
  TEGULA_RETURN_IF_ERROR(checkRange("lengths", problem->lengths, TEGULA_LENGTHS_LAST_PAGE));
  return AppendProblem{.dtype = static_cast<DType>(problem->dtype),
                       .head_dim = problem->head_dim,
                       .value_dim = problem->value_dim,
                       .has_pages = problem->has_pages != 0,
                       .rotary_dim = problem->rotary_dim,
                       .interleaved = problem->interleaved != 0,
                       .rotates_queries = problem->rotates_queries != 0,
                       .same_position = problem->same_position != 0,
                       .lengths = readLengths(problem->lengths, CacheLengths::before)};
}

Expected<RotaryProblem> readRotaryProblem(const tegula_rotary_problem *from) {
  const Expected<tegula_rotary_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  TEGULA_RETURN_IF_ERROR(checkRange("dtype", problem->dtype, TEGULA_BF16));
  return RotaryProblem{.dtype = static_cast<DType>(problem->dtype),
                       .head_dim = problem->head_dim,
                       .rotary_dim = problem->rotary_dim,
                       .interleaved = problem->interleaved != 0};
}

Expected<PackedPagesProblem> readPackedPagesProblem(const tegula_packed_pages_problem *from) {
  const Expected<tegula_packed_pages_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  return PackedPagesProblem{.page_size = problem->page_size, .page_offsets = problem->page_offsets != 0};
}

namespace {

/// Refuses the options of attention that decoding does not have.
Status checkDecodeOptions(const AttentionProblem &problem) {
  const std::pair<const char *, bool> options[] = {{"backward", problem.backward},
                                                   {"block_mask", problem.block_mask.exists()},
                                                   {"dropout_p", problem.dropout_p != 0},
                                                   {"diagonal_offset", problem.diagonal_offset},
                                                   {"contain_nonfinite", problem.contain_nonfinite},
                                                   {"page_size", problem.page_size != 0},
                                                   {"scores_output", problem.scores_output != ScoresOutput::none}};
  for (const auto &[name, isSet] : options)
    if (isSet)
      return {ErrorCode::unsupported, "argument 'attention." + std::string(name) + "': decoding does not have it"};
  if (problem.causal == Causal::top_left)
    return {ErrorCode::unsupported, "argument 'attention.causal': it is TEGULA_CAUSAL_TOP_LEFT (1); decoding has "
                                    "TEGULA_CAUSAL_NONE (0) and TEGULA_CAUSAL_BOTTOM_RIGHT (2)"};
  return {};
}

} // namespace

Expected<DecodeProblem> readDecodeProblem(const tegula_decode_problem *from) {
  const Expected<tegula_decode_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  const Expected<tegula_attention_problem> fields = readStruct("attention", problem->attention);
  if (!fields)
    return fields.status();
  const Expected<AttentionProblem> attention = readProblem(&*fields);
  const Expected<Schedule> schedule = readSchedule(*fields);
  if (!attention || !schedule)
    return attention ? schedule.status() : attention.status();
  TEGULA_RETURN_IF_ERROR(checkDecodeOptions(*attention));
  TEGULA_RETURN_IF_ERROR(checkRange("lengths", problem->lengths, TEGULA_LENGTHS_LAST_PAGE));
  return DecodeProblem{.dtype = attention->dtype,
                       .head_dim = attention->head_dim,
                       .value_dim = attention->value_dim,
                       .latent = problem->latent != 0,
                       .causal = attention->causal != Causal::none,
                       .page_size = problem->page_size,
                       .page_offsets = problem->page_offsets != 0,
                       .page_table_v = problem->page_table_v != 0,
                       .lengths = readLengths(problem->lengths, CacheLengths::all),
                       .variant = attention->variant,
                       .sinks = attention->sinks,
                       .expected_rows = problem->expected_rows != 0 ? problem->expected_rows : 8,
                       .begins = problem->begins != 0,
                       .keys_per_part = problem->keys_per_part,
                       .prefix = problem->prefix != 0,
                       .schedule = *schedule};
}

Expected<TensorRef> readTensor(const char *name, const tegula_tensor &tensor) {
  if (tensor.dtype < 0 || tensor.dtype > TEGULA_E4M3)
    return outOfRange(std::string(name) + ".dtype", tensor.dtype, TEGULA_E4M3);
  if (tensor.rank < 0 || tensor.rank > kMaxRank)
    return outOfRange(std::string(name) + ".rank", tensor.rank, kMaxRank);
  TensorRef result;
  result.data = tensor.data;
  result.dtype = static_cast<DType>(tensor.dtype);
  result.rank = tensor.rank;
  std::copy(std::begin(tensor.shape), std::end(tensor.shape), result.shape);
  std::copy(std::begin(tensor.strides), std::end(tensor.strides), result.strides);
  return result;
}

} // namespace tegula
