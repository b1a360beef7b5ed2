// SPDX-License-Identifier: MIT
#include "api.h"

namespace tegula {
namespace {

static_assert(TEGULA_F32 == int(DType::f32) && TEGULA_F16 == int(DType::f16) && TEGULA_BF16 == int(DType::bf16) &&
              TEGULA_I64 == int(DType::i64) && TEGULA_I32 == int(DType::i32) && TEGULA_I8 == int(DType::i8));
static_assert(TEGULA_CAUSAL_NONE == int(Causal::none) && TEGULA_CAUSAL_TOP_LEFT == int(Causal::top_left) &&
              TEGULA_CAUSAL_BOTTOM_RIGHT == int(Causal::bottom_right));
static_assert(TEGULA_OK == int(ErrorCode::ok) && TEGULA_NEEDS_COMPILE == int(ErrorCode::needs_compile) &&
              TEGULA_INTERNAL == int(ErrorCode::internal));

constexpr int64_t kLongest = int64_t{1} << 40;

constexpr int32_t kAllVariants =
    TEGULA_WINDOW | TEGULA_SOFTCAP | TEGULA_ALIBI | TEGULA_PREFIX_LM | TEGULA_DOCUMENTS | TEGULA_BIAS;

Status outOfRange(const std::string &name, int64_t value, int64_t last) {
  return {ErrorCode::invalid_argument,
          "argument '" + name + "': it is " + std::to_string(value) + "; it must be from 0 to " + std::to_string(last)};
}

Status checkRange(const std::string &name, int64_t value, int64_t last) {
  return value >= 0 && value <= last ? Status() : outOfRange(name, value, last);
}

/// Reads a length into `expected`, which stays as it is if the length is 0.
Status readLength(const char *name, int64_t length, int64_t &expected) {
  TEGULA_RETURN_IF_ERROR(checkRange(name, length, kLongest));
  expected = length != 0 ? length : expected;
  return {};
}

/// Checks that `bottom_right` fits the causal mask, because a mask and its variants share one diagonal.
Status checkDiagonal(const tegula_attention_problem &problem) {
  constexpr int32_t diagonal = TEGULA_WINDOW | TEGULA_ALIBI | TEGULA_PREFIX_LM;
  if (problem.bottom_right == 0 || problem.causal != TEGULA_CAUSAL_TOP_LEFT || (problem.variants & diagonal) == 0)
    return {};
  return {ErrorCode::invalid_argument,
          "argument 'bottom_right': it is " + std::to_string(problem.bottom_right) +
              ", but 'causal' is TEGULA_CAUSAL_TOP_LEFT (1); a problem has one diagonal: set bottom_right = 0 to count "
              "from the first query, or causal = TEGULA_CAUSAL_BOTTOM_RIGHT (2) to count from the last one"};
}

Variant variantOf(const tegula_attention_problem &problem) {
  const bool countsFromLast = problem.bottom_right != 0 || problem.causal == TEGULA_CAUSAL_BOTTOM_RIGHT;
  const Alignment alignment = countsFromLast ? Alignment::bottom_right : Alignment::top_left;
  Variant all;
  auto add = [&](int32_t flag, auto make) {
    if ((problem.variants & flag) != 0)
      all = combine(std::move(all), make());
  };
  add(TEGULA_WINDOW, [&] { return slidingWindow(problem.window_left, problem.window_right, alignment); });
  add(TEGULA_SOFTCAP, [&] { return softcap(problem.softcap); });
  add(TEGULA_ALIBI, [&] { return alibi(alignment); });
  add(TEGULA_PREFIX_LM, [&] { return prefixLm(alignment); });
  add(TEGULA_DOCUMENTS, [&] { return documents(); });
  add(TEGULA_BIAS, [&] { return additiveBias(static_cast<DType>(problem.dtype)); });
  return all;
}

} // namespace

Expected<AttentionProblem> readProblem(const tegula_attention_problem *from) {
  const Expected<tegula_attention_problem> problem = readStruct("problem", from);
  if (!problem)
    return problem.status();
  TEGULA_RETURN_IF_ERROR(checkRange("dtype", problem->dtype, TEGULA_BF16));
  TEGULA_RETURN_IF_ERROR(checkRange("causal", problem->causal, TEGULA_CAUSAL_BOTTOM_RIGHT));
  TEGULA_RETURN_IF_ERROR(checkRange("variants", problem->variants, kAllVariants));
  TEGULA_RETURN_IF_ERROR(checkRange("reserved", problem->reserved, 0));
  TEGULA_RETURN_IF_ERROR(checkDiagonal(*problem));
  AttentionProblem result;
  result.dtype = static_cast<DType>(problem->dtype);
  result.head_dim = problem->head_dim;
  result.value_dim = problem->value_dim != 0 ? problem->value_dim : problem->head_dim;
  result.causal = static_cast<Causal>(problem->causal);
  result.variant = variantOf(*problem);
  result.backward = problem->backward != 0;
  result.lse_gradient = problem->lse_gradient != 0;
  result.contain_nonfinite = problem->contain_nonfinite != 0;
  result.deterministic = problem->deterministic != 0;
  TEGULA_RETURN_IF_ERROR(readLength("seqlen_q", problem->seqlen_q, result.expected.seqlen_q));
  TEGULA_RETURN_IF_ERROR(readLength("seqlen_k", problem->seqlen_k, result.expected.seqlen_k));
  return result;
}

Expected<TensorRef> readTensor(const char *name, const tegula_tensor &tensor) {
  TEGULA_RETURN_IF_ERROR(checkRange(std::string(name) + ".dtype", tensor.dtype, TEGULA_I8));
  TEGULA_RETURN_IF_ERROR(checkRange(std::string(name) + ".rank", tensor.rank, kMaxRank));
  TensorRef result;
  result.data = tensor.data;
  result.dtype = static_cast<DType>(tensor.dtype);
  result.rank = tensor.rank;
  std::copy(std::begin(tensor.shape), std::end(tensor.shape), result.shape);
  std::copy(std::begin(tensor.strides), std::end(tensor.strides), result.strides);
  return result;
}

} // namespace tegula
