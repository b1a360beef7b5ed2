// SPDX-License-Identifier: MIT
#include "attention_options.h"
#include "legal_values.h"
#include "workload/spelling.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();
constexpr int64_t kLargestDim = 1024;
constexpr int64_t kDefaultSeqlen = 1024;

constexpr const char *kExamples = R"(Examples:
  tegula attention --seqlen-q 2048 --check             forward, compared with double precision
  tegula attention --heads 8 --kv-heads 2 --causal bottom_right --backward
  tegula attention --seqlen-q 1 --seqlen-k 32768       one new token against a long context
  tegula attention --dtype bf16 --save out --json      arrays as out/*.npy, figures as JSON

A row that may see no key gives o = 0, lse = -inf and zero gradients.
Exit code: 0 if all went well, 1 if something failed or an error ratio exceeds 2, 2 for bad input.)";

template <class T>
void addSize(CLI::App &command, const char *name, T &size, int64_t low, int64_t high, const char *help) {
  command.add_option(name, size, help)->check(wholeNumber(low, high))->type_name("NUMBER");
}

/// An option whose values are words: `parse` turns a legal one into what is stored.
template <class T, class Parse>
void addWord(CLI::App &command, const char *name, std::vector<std::string> words, T &target, Parse parse,
             const char *help) {
  command
      .add_option_function<std::string>(
          name, [&target, parse](const std::string &word) { target = *parse(word); }, help)
      ->type_name("WORD")
      ->check(oneOf(std::move(words)));
}

void addProblem(CLI::App &command, AttentionOptions &o) {
  addSize(command, "--batch", o.batch, 0, kLargestSize, "Independent sequences (1)");
  addSize(command, "--heads", o.heads, 0, kLargestSize, "Query heads (8)");
  addSize(command, "--kv-heads", o.kv_heads, 1, kLargestSize, "Key and value heads, a divisor of --heads (--heads)");
  addSize(command, "--seqlen-q", o.seqlen_q, 0, kLargestSize, "Queries (--seqlen-k, or 1024)");
  addSize(command, "--seqlen-k", o.seqlen_k, 0, kLargestSize, "Keys and values (--seqlen-q, or 1024)");
  addSize(command, "--head-dim", o.head_dim, 1, kLargestDim, "Numbers in a query and in a key (64)");
  addSize(command, "--value-dim", o.value_dim, 1, kLargestDim, "Numbers in a value (--head-dim)");
  addWord(command, "--dtype", {"f32", "f16", "bf16"}, o.dtype, parseDType, "Element type: f32, f16 or bf16 (f32)");
  addWord(command, "--causal", causalWords(), o.causal, parseCausal,
          "Hide later keys: none, or with query 0 beside key 0 (top_left),\n"
          "or the last query beside the last key (bottom_right) (none)");
  command.add_option("--scale", o.scale, "Factor on the scores (1 / sqrt(--head-dim))")
      ->check(number())
      ->type_name("NUMBER");
  command.add_option("--seed", o.seed, "Decides the random inputs (0)")
      ->check(wholeNumber(0, std::numeric_limits<int64_t>::max()))
      ->type_name("NUMBER");
}

void addMethod(CLI::App &command, AttentionOptions &o) {
  addWord(command, "--algorithm", algorithmWords(), o.algorithm, parseAlgorithm,
          "flash2 (FlashAttention-2), flash1 (FlashAttention), or\n"
          "standard, which writes all scores to memory (flash2)");
  command.add_option("--target", "Where to run: cpu, or auto for the best there is (auto)")
      ->check(oneOf({"auto", "cpu"}))
      ->type_name("WORD");
  addSchedule(command, o.schedule);
  command.add_flag("--backward", o.backward, "Also compute and time the gradients (flash2 only)");
}

void addOutput(CLI::App &command, AttentionOptions &o) {
  command.add_flag("--check", o.check, "Compare with a double-precision reference (slow)");
  command.add_option("--save", o.save, "Write q, k, v, o, lse (--backward: do, dq, dk, dv) as .npy")->type_name("DIR");
  command.add_flag("--json", o.json, "Print one JSON object instead of a table");
}

} // namespace

void addAttentionOptions(CLI::App &command, AttentionOptions &options) {
  addProblem(command, options);
  addMethod(command, options);
  addOutput(command, options);
  command.footer(kExamples);
}

Expected<AttentionCase> attentionCase(const AttentionOptions &o) {
  if (o.kv_heads && o.heads % *o.kv_heads != 0)
    return Status(ErrorCode::InvalidArgument,
                  fmt::format("--kv-heads: '{}' does not divide --heads {}", *o.kv_heads, o.heads));
  if (o.backward && o.algorithm != Algorithm::flash2)
    return Status(ErrorCode::InvalidArgument,
                  fmt::format("--algorithm: '{}' has no backward pass; use flash2, or leave "
                              "out --backward",
                              toString(o.algorithm)));
  AttentionProblem problem{.dtype = o.dtype,
                           .algorithm = o.algorithm,
                           .head_dim = int(o.head_dim),
                           .value_dim = int(o.value_dim.value_or(o.head_dim)),
                           .causal = o.causal,
                           .backward = o.backward};
  AttentionShape shape{.batch = o.batch,
                       .heads = o.heads,
                       .kv_heads = o.kv_heads.value_or(o.heads),
                       .seqlen_q = o.seqlen_q.value_or(o.seqlen_k.value_or(kDefaultSeqlen)),
                       .seqlen_k = o.seqlen_k.value_or(o.seqlen_q.value_or(kDefaultSeqlen))};
  float scale = float(o.scale.value_or(1 / std::sqrt(double(o.head_dim))));
  return AttentionCase{problem, shape, scale, o.seed, o.schedule};
}

} // namespace tegula::tools
