// SPDX-License-Identifier: MIT
#include "call_arguments.h"

namespace tegula {
namespace {

using Problem = AttentionProblem;
using Forward = AttentionForward;
using Backward = AttentionBackward;

constexpr Axis kBatch[] = {Axis::batch};
constexpr Axis kHeads[] = {Axis::heads};
constexpr Axis kOfQ[] = {Axis::batch, Axis::heads, Axis::seqlen_q};
constexpr Axis kOfK[] = {Axis::batch, Axis::kv_heads, Axis::seqlen_k};
constexpr Axis kOfScores[] = {Axis::batch, Axis::heads, Axis::seqlen_q, Axis::seqlen_k};

int headDim(const Problem &problem) { return problem.head_dim; }
int valueDim(const Problem &problem) { return problem.value_dim; }
int seedAndOffset(const Problem &) { return 2; }

constexpr CallOption kLseGradient = {"lse_gradient", [](const Problem &problem) { return problem.lse_gradient; }};
constexpr CallOption kOffset = {"diagonal_offset", [](const Problem &problem) { return problem.diagonal_offset; }};
constexpr CallOption kDropout = {"dropout_p", [](const Problem &problem) { return problem.dropout_p != 0; }};
constexpr CallOption kSinks = {"sinks", [](const Problem &problem) { return problem.sinks; }};
constexpr CallOption kScores = {"scores_output",
                                [](const Problem &problem) { return problem.scores_output != ScoresOutput::none; }};

constexpr CallArgument kUsual[] = {
    {"q", &Forward::q, &Backward::q, kOfQ, headDim},
    {"k", &Forward::k, &Backward::k, kOfK, headDim},
    {"v", &Forward::v, &Backward::v, kOfK, valueDim},
    {"o", &Forward::o, &Backward::o, kOfQ, valueDim, {}, Pass::forward},
    {"lse", &Forward::lse, &Backward::lse, kOfQ, nullptr, f32, Pass::forward},
    {"d_o", nullptr, &Backward::d_o, kOfQ, valueDim},
    {"dq", nullptr, &Backward::dq, kOfQ, headDim, {}, Pass::backward},
    {"dk", nullptr, &Backward::dk, kOfK, headDim, {}, Pass::backward},
    {"dv", nullptr, &Backward::dv, kOfK, valueDim, {}, Pass::backward},
};

constexpr CallArgument kOptional[] = {
    {"d_lse", nullptr, &Backward::d_lse, kOfQ, nullptr, f32, {}, kLseGradient},
    {"diagonal_offset",
     &Forward::diagonal_offset,
     &Backward::diagonal_offset,
     kBatch,
     nullptr,
     i32,
     {},
     kOffset,
     /*broadcasts=*/true,
     &AttentionLists::diagonal_offset},
    {"dropout_state", &Forward::dropout_state, &Backward::dropout_state, {}, seedAndOffset, i64, {}, kDropout},
    {"sinks", &Forward::sinks, &Backward::sinks, kHeads, nullptr, f32, {}, kSinks},
    {"scores", &Forward::scores, nullptr, kOfScores, nullptr, f32, Pass::forward, kScores},
    {"d_sinks", nullptr, &Backward::d_sinks, kHeads, nullptr, f32, Pass::backward, kSinks},
};

} // namespace

std::span<const CallArgument> usualArguments() { return kUsual; }

std::span<const CallArgument> optionalArguments() { return kOptional; }

} // namespace tegula
