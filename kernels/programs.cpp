// SPDX-License-Identifier: MIT
#include "tegula/attention_programs.h"

namespace tegula {
namespace {

constexpr AttentionProgram kPrograms[] = {
    {"standard_scores", GridRows::queries, recordStandardScores},
    {"standard_softmax", GridRows::queries, recordStandardSoftmax},
    {"standard_output", GridRows::queries, recordStandardOutput},
    {"flash1_forward", GridRows::none, recordFlash1Forward},
    {"flash2_forward", GridRows::scheduled, recordFlash2Forward},
    {"flash2_forward_contain", GridRows::queries, recordFlash2ForwardContain},
    {"flash2_backward_delta", GridRows::queries, recordFlash2BackwardDelta},
    {"flash2_backward_preprocess", GridRows::queries, recordFlash2BackwardPreprocess},
    {"flash2_backward", GridRows::keys, recordFlash2Backward},
    {"flash2_backward_postprocess", GridRows::queries, recordFlash2BackwardPostprocess},
    {"flash2_backward_sink", GridRows::heads, recordFlash2BackwardSink},
    {"attention_scores", GridRows::queries, recordAttentionScores},
    {"merge", GridRows::queries, recordMerge},
    {"merge_backward", GridRows::queries, recordMergeBackward},
    {"block_states", GridRows::block_rows, recordBlockStates},
    {"tile_states_of_queries", GridRows::strips, recordTileStatesOfQueries},
    {"tile_states_of_keys", GridRows::tiles, recordTileStatesOfKeys},
    {"visit_lists", GridRows::strips, recordVisitLists},
    {"visit_order", GridRows::strips, recordVisitOrder},
    {"visit_ranks", GridRows::tiles, recordVisitRanks},
    {"strips_of_queries", GridRows::sequences, recordStripsOfQueries},
    {"strips_of_keys", GridRows::sequences, recordStripsOfKeys},
};

} // namespace

std::span<const AttentionProgram> attentionPrograms() { return kPrograms; }

Expected<AttentionProgram> findAttentionProgram(std::string_view name) {
  std::string legal;
  for (const AttentionProgram &program : kPrograms) {
    if (program.name == name)
      return program;
    legal += (legal.empty() ? "" : ", ") + std::string(program.name);
  }
  return Status(ErrorCode::invalid_argument,
                "there is no attention program '" + std::string(name) + "', only " + legal);
}

} // namespace tegula
