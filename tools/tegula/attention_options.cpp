// SPDX-License-Identifier: MIT
#include "attention_options.h"
#include "files.h"
#include "legal_values.h"
#include "tegula/attention_words.h"
#include "workload/blocks_json.h"
#include "workload/device_tensor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr int32_t kMaxOffset = 1 << 30;
constexpr int64_t kMaxRepeat = 1000000;
constexpr int64_t kDefaultSeqlen = 1024;

constexpr const char *kExamples = R"(Examples:
  tegula attention --seqlen-q 2048 --check             forward, compared with double precision
  tegula attention --heads 8 --kv-heads 2 --causal bottom_right --backward
  tegula attention --seqlen-q 1 --seqlen-k 32768       one new token against a long context
  tegula attention --seqlen-q 4 --seqlen-k 128 --causal top_left --diagonal-offset 96 --check
  tegula attention --variant documents --backward --check
  tegula attention --seqlen-q 384 --blocks blocks.json --backward --check
  tegula attention --cu-seqlens 0,300,301,378 --causal bottom_right --backward --check
  tegula attention --cu-seqlens 0,300,301 --cu-seqlens-k 0,4000,5000 --page-size 16 --dtype bf16 --check
  tegula attention --backward --deterministic --repeat 100
  tegula attention --dtype bf16 --save out --json      arrays as out/*.npy, figures as JSON

--seed decides a variant's tensors, too. TFLOP/s count all scores, whatever a variant and blocks hide,
and with --cu-seqlens those of queries with the keys that they see. With --page-size, --check fills all
rows of pages with NaN that are no key of a sequence.
A row that may see no key gives o = 0, lse = -inf and zero gradients.
Exit code: 0 if all went well, 1 if something failed, a mutant survived, an error ratio exceeds 2, or a
rerun has other bits, 2 for bad input, 4 if no launch came to some mutants, and all others were found out.)";

/// Adds the options of packed sequences, after those that they exclude.
void addPacked(CLI::App &command, AttentionOptions &o) {
  CLI::Option *q = addNumbers(command, "--cu-seqlens", o.cu_seqlens, 0, kMaxOffset,
                              "Sequences of any lengths, one after another: where each begins, and where\nthe last one "
                              "ends, such as 0,300,301. Times include those of kernels that\ncompute what queries see");
  CLI::Option *k = addNumbers(command, "--cu-seqlens-k", o.cu_seqlens_k, 0, kMaxOffset,
                              "The same for keys and values (--cu-seqlens)");
  k->needs(q);
  q->type_name("LIST");
  k->type_name("LIST");
  for (const char *other : {"--algorithm", "--batch", "--seqlen-q", "--seqlen-k", "--variant", "--block-mask",
                            "--blocks", "--diagonal-offset", "--dropout", "--sinks", "--mutate"})
    q->excludes(other);
  addNumber(command, "--page-size", o.page_size, 0, kMaxOffset,
            "The keys of a page of --cu-seqlens, forward only; pages lie in a\nrandom order. 0: no pages (0)")
      ->needs(q)
      ->excludes("--backward");
}

void addMethod(CLI::App &command, AttentionOptions &o) {
  addWord(command, "--algorithm", algorithmWords(), o.algorithm, parseAlgorithm,
          "flash2 (FlashAttention-2), flash1 (FlashAttention), or\n"
          "standard, which writes all scores to memory (flash2)");
  addTarget(command, o.target);
  addSchedule(command, o.schedule);
  addUntuned(command, o.untuned);
  addNoCache(command, o.no_cache);
  addNumbers(command, "--row-gaps", o.row_gaps, 0, kMaxRowGap,
             "Numbers between the rows of q, k, v and o, with commas, or one for\nall: rows that begin at multiples of "
             "16 bytes suit TMA (0)")
      ->type_name("LIST");
  addExplorationOptions(command, o.exploration);
  command.add_flag("--backward", o.backward, "Also compute and time the gradients (flash2 only)");
}

void addOutput(CLI::App &command, AttentionOptions &o) {
  command.add_flag("--check", o.check, "Compare with a double-precision reference (slow)");
  addCheckFinite(command, o.check_finite);
  addNumber(command, "--repeat", o.repeat, 1, kMaxRepeat,
            "Run again this many times, and compare the bits of the results. Without\n--deterministic, dq may differ");
  command
      .add_option("--save", o.save,
                  "Write q, k, v, o, lse (--backward: do, dq, dk, dv) and a variant's\ntensors as .npy; k and v of "
                  "pages in the order of sequences")
      ->type_name("DIR");
  command.add_flag("--json", o.json, "Print one JSON object instead of a table");
}

std::optional<RowGaps> rowGaps(const std::vector<int64_t> &list) {
  if (list.size() == 1)
    return RowGaps{list[0], list[0], list[0], list[0]};
  return list.size() == 4 ? std::optional(RowGaps{list[0], list[1], list[2], list[3]}) : std::nullopt;
}

Status checkOffsets(const char *option, const std::vector<int32_t> &offsets) {
  const auto error = [&](const std::string &what) { return Status(ErrorCode::invalid_argument, option + what); };
  if (offsets.size() < 2)
    return error(": one number is no sequence; give where each begins, and where the last one ends");
  if (offsets.front() != 0)
    return error(fmt::format(": '{}' is where the first sequence begins; it must be 0", offsets.front()));
  const auto fall = std::ranges::is_sorted_until(offsets);
  if (fall != offsets.end())
    return error(fmt::format(": '{}' comes after {}; the numbers must not decrease", *fall, *(fall - 1)));
  return {};
}

/// Makes it a problem of packed sequences, if the options give some.
Status addSequences(const AttentionOptions &o, AttentionCase &attention) {
  if (o.cu_seqlens.empty())
    return {};
  PackedSequences packed{.offsets_q = o.cu_seqlens,
                         .offsets_k = o.cu_seqlens_k.empty() ? o.cu_seqlens : o.cu_seqlens_k,
                         .causal = o.kernel.causal};
  TEGULA_RETURN_IF_ERROR(checkOffsets("--cu-seqlens", packed.offsets_q));
  TEGULA_RETURN_IF_ERROR(checkOffsets("--cu-seqlens-k", packed.offsets_k));
  if (packed.offsets_q.size() != packed.offsets_k.size())
    return {ErrorCode::invalid_argument, fmt::format("--cu-seqlens-k: {} numbers, but --cu-seqlens has {}",
                                                     packed.offsets_k.size(), packed.offsets_q.size())};
  if (packed.causal == Causal::top_left)
    return {ErrorCode::invalid_argument, "--causal: 'top_left' with --cu-seqlens; legal are none and bottom_right"};
  setPacked(attention, std::move(packed));
  return {};
}

/// Reads the blocks that calls give, if there are any.
Status addBlocks(const AttentionOptions &o, AttentionCase &attention) {
  const bool given = o.kernel.block_mask == BlockMask::Source::given;
  if (o.blocks.empty())
    return given ? Status(ErrorCode::invalid_argument, "--block-mask: 'given' needs the file of --blocks") : Status();
  if (o.kernel.block_mask == BlockMask::Source::computed)
    return {ErrorCode::invalid_argument,
            "--blocks: it gives the blocks, but --block-mask is 'computed'; leave out one"};
  if (!o.exploration.mutate.empty())
    return {ErrorCode::invalid_argument,
            "--blocks: its lists have one length, but --mutate tries others; leave out one"};
  const Expected<std::string> text = readFile("--blocks", o.blocks);
  if (!text)
    return text.status();
  Expected<GivenBlocks> blocks = parseBlocks(*text, attention.shape);
  if (!blocks)
    return {blocks.status().code(), fmt::format("--blocks: '{}': {}", o.blocks, blocks.status().message())};
  attention.problem.block_mask = blocks->mask();
  attention.blocks = std::make_shared<GivenBlocks>(std::move(*blocks));
  return {};
}

} // namespace

void addProblemOptions(CLI::App &command, AttentionOptions &o) {
  addNumber(command, "--batch", o.batch, 0, kMaxSize, "Independent sequences (1)");
  addNumber(command, "--heads", o.heads, 0, kMaxSize, "Query heads (8)");
  addNumber(command, "--kv-heads", o.kv_heads, 1, kMaxSize, "Key and value heads, a divisor of --heads (--heads)");
  addNumber(command, "--seqlen-q", o.seqlen_q, 0, kMaxSize, "Queries (--seqlen-k, or 1024)");
  addNumber(command, "--seqlen-k", o.seqlen_k, 0, kMaxSize, "Keys and values (--seqlen-q, or 1024)");
  addKernelOptions(command, o.kernel);
  command
      .add_option("--blocks", o.blocks,
                  "Visit only the blocks that this file lists: JSON with the lists of\nFlexAttention's BlockMask, "
                  "kv_num_blocks, kv_indices,\nfull_kv_num_blocks, full_kv_indices and BLOCK_SIZE")
      ->type_name("FILE");
  constexpr float largest = std::numeric_limits<float>::max();
  addNumber(command, "--scale", o.scale, -largest, largest, "Factor on the scores; 0: 1 / sqrt(--head-dim) (0)");
  addSeed(command, o.seed,
          "Decides the random inputs and what --dropout drops; simt: and the\nfirst order of lanes (0)");
}

void addAttentionOptions(CLI::App &command, AttentionOptions &options) {
  addProblemOptions(command, options);
  addVariantOption(command, options.kernel);
  addMethod(command, options);
  addOutput(command, options);
  addPacked(command, options);
  command.footer(kExamples);
}

Expected<AttentionCase> attentionCase(const AttentionOptions &o) {
  if (o.kv_heads)
    TEGULA_RETURN_IF_ERROR(checkKvHeads(o.heads, *o.kv_heads));
  if (o.backward && o.algorithm != Algorithm::flash2)
    return Status(ErrorCode::invalid_argument,
                  fmt::format("--algorithm: '{}' has no backward pass; use flash2, or leave "
                              "out --backward",
                              toString(o.algorithm)));
  if (!o.target.starts_with("simt") && isUsed(o.exploration))
    return Status(
        ErrorCode::invalid_argument,
        "--schedules, --scheduler, --mutate and --traffic are for --target simt, which decides the order of lanes");
  std::optional<RowGaps> gaps = rowGaps(o.row_gaps);
  if (!gaps)
    return Status(ErrorCode::invalid_argument,
                  fmt::format("--row-gaps: {} numbers; give one, or four for q, k, v and o", o.row_gaps.size()));
  AttentionProblem problem = problemOf(o.kernel);
  problem.page_size = o.page_size;
  problem.algorithm = o.algorithm;
  problem.backward = o.backward;
  AttentionShape shape{.batch = o.batch,
                       .heads = o.heads,
                       .kv_heads = o.kv_heads.value_or(o.heads),
                       .seqlen_q = o.seqlen_q.value_or(o.seqlen_k.value_or(kDefaultSeqlen)),
                       .seqlen_k = o.seqlen_k.value_or(o.seqlen_q.value_or(kDefaultSeqlen))};
  problem.expected = shape;
  float scale = scoreFactor(o.scale, problem.head_dim);
  AttentionCase attention{
      .problem = problem, .shape = shape, .scale = scale, .seed = o.seed, .schedule = o.schedule, .row_gaps = *gaps};
  attention.dropout_seed = int64_t(o.seed);
  attention.diagonal_offset = o.kernel.diagonal_offset.value_or(0);
  if (const NamedVariant *variant = findVariant(o.kernel.variant))
    setVariant(attention, *variant);
  TEGULA_RETURN_IF_ERROR(addSequences(o, attention));
  TEGULA_RETURN_IF_ERROR(addBlocks(o, attention));
  return attention;
}

} // namespace tegula::tools
