// SPDX-License-Identifier: MIT
// The rows of kernels/schedules.json: each is reached by its example, and its schedule is legal where the row is used.
#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "tegula/attention_words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tegula {
namespace {

using Json = nlohmann::json;

Variant variantOf(const std::string &name, DType dtype, Causal causal) {
  const Alignment alignment = causal == Causal::bottom_right ? Alignment::bottom_right : Alignment::top_left;
  if (name == "softcap")
    return softcap(30);
  if (name == "alibi")
    return alibi(alignment);
  if (name == "sliding_window")
    return slidingWindow(1024, 0, alignment);
  if (name == "documents")
    return documents();
  if (name == "bias")
    return additiveBias(dtype);
  if (name.empty())
    return {};
  EXPECT_EQ(name, "probability");
  Variant square{.name = "square"};
  square.probability = [](Value p, const ScoreIndex &, VariantViews) { return p * p; };
  return square;
}

/// A row, its index, and what its example says.
struct ShippedRow {
  size_t index;
  Json json;
  std::string program;
  AttentionProblem problem;

  Schedule schedule() const { return *parseSchedule(json["schedule"].get<std::string>()); }

  /// Returns the first target on which the example gets this row; none if there is no such target.
  std::optional<Target> reachedOn() const {
    for (const Target &target : {Target{"cuda", "sm_90a", ""}, Target{"cuda", "sm_90", ""}, Target{"cuda", "sm_80", ""},
                                 Target{"cuda", "sm_86", ""}, Target{"cpu", "", ""}})
      if (shippedRow(target, program, problem) == index)
        return target;
    return std::nullopt;
  }
};

std::vector<ShippedRow> shippedRows() {
  std::vector<ShippedRow> rows;
  std::ifstream file(TEGULA_SCHEDULES_JSON);
  const Json table = Json::parse(file);
  for (const Json &json : table["rows"]) {
    const Json &example = json["example"];
    ShippedRow row{.index = rows.size(), .json = json, .program = {}, .problem = {}};
    AttentionProblem &problem = row.problem;
    problem.dtype = *parseDType(example["dtype"].get<std::string>());
    problem.head_dim = problem.value_dim = example["head_dim"];
    problem.causal = example.contains("causal") ? Causal::bottom_right : Causal::none;
    problem.variant = variantOf(example.value("variant", ""), problem.dtype, problem.causal);
    problem.contain_nonfinite = example.value("contain_nonfinite", false);
    problem.dropout_p = example.value("dropout", 0.0);
    problem.block_mask.source = *parseBlockMask(example.value("block_mask", "none"));
    problem.expected.seqlen_q = problem.expected.seqlen_k = example["seqlen"];
    problem.algorithm = example.value("algorithm", "") == "flash1" ? Algorithm::flash1 : Algorithm::flash2;
    row.program = json.value("program", problem.algorithm == Algorithm::flash1 ? "flash1_forward" : "flash2_forward");
    problem.backward = row.program == "flash2_backward";
    rows.push_back(row);
  }
  return rows;
}

class ShippedRows : public ::testing::TestWithParam<ShippedRow> {};

TEST_P(ShippedRows, AreReachedByTheirExamples) {
  const ShippedRow &row = GetParam();
  const std::optional<Target> target = row.reachedOn();
  ASSERT_TRUE(target) << row.json["example"].dump();
  EXPECT_EQ(chooseSchedule(*target, row.program, row.problem, {}, nullptr), row.schedule());
}

/// The compiler refuses a schedule that is not legal for the target. It needs no GPU and no ptxas for this.
TEST_P(ShippedRows, AreLegalAndNeedNoMoreSharedMemoryThanTheySay) {
  const ShippedRow &row = GetParam();
  const std::optional<Target> target = row.reachedOn();
  ASSERT_TRUE(target);
  Expected<RecordedKernel> kernel = recordKernel(row.problem, row.program, *target, row.schedule());
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  Expected<Artifact> artifact = makeInProcessCompiler()->compile(
      {kernel->program.text, kernel->schedule, *target, target->name == "cpu" ? "asm" : "ptx"});
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_LE(artifact->shared_bytes, row.json.value("shared_kib", 0) * 1024);
}

INSTANTIATE_TEST_SUITE_P(Table, ShippedRows, ::testing::ValuesIn(shippedRows()),
                         [](const auto &info) { return "Row" + std::to_string(info.param.index + 1); });

} // namespace
} // namespace tegula
