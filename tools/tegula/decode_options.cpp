// SPDX-License-Identifier: MIT
#include "decode_options.h"
#include "legal_values.h"
#include "tegula/attention.h"
#include "tegula/attention_words.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
constexpr int kMaxKeys = 1 << 30;
constexpr int64_t kMaxSpans = 1 << 20, kMaxRepeat = 1000000, kDefaultBatch = 4;
constexpr const char *kLogNormal = "lognormal";

constexpr const char *kExamples = R"(Examples:
  tegula decode --check                                four sequences of 1024 keys
  tegula decode --heads 32 --kv-heads 8 --head-dim 128 --dtype bf16 --batch 64 --seqlen-k 4096 --page-size 64
  tegula decode --batch 64 --lengths lognormal --seqlen-k 4096 --dtype bf16
  tegula decode --lengths 300,1,77 --page-size 16 --seqlen-q 4 --check
  tegula decode --batch 64 --prefix 8192 --seqlen-k 512 --dtype bf16 --prepared
  tegula decode --latent --heads 16 --kv-heads 1 --head-dim 576 --value-dim 512 --dtype bf16

GB/s count the bytes of keys and values that queries see, each once. Beside them is the speed of a copy in the same
memory, bytes read and bytes written together. With --check, all that is in the cache and in no sequence is NaN.
Exit code: 0 if all went well, 1 if something failed, an error ratio exceeds 2, or a rerun has other bits, 2 for
bad input.)";

/// Returns a validator of one word and of numbers from `low` to `high`.
CLI::Validator wordOrNumber(const std::string &word, int64_t low, int64_t high) {
  const auto check = [=](const std::string &text) {
    return text == word || numberFrom<int64_t>(low, high)(text).empty()
               ? std::string()
               : fmt::format("'{}' is neither {} nor a whole number from {} to {}", text, word, low, high);
  };
  return CLI::Validator(check, "");
}

void addLengths(CLI::App &command, DecodeOptions &o) {
  const auto take = [&o](const std::vector<std::string> &words) {
    o.log_normal = words.front() == kLogNormal;
    o.lengths.clear();
    if (words.size() > 1 && std::ranges::find(words, kLogNormal) != words.end())
      throw CLI::ValidationError("--lengths", fmt::format("'{}' stands for all lengths; give it alone", kLogNormal));
    for (size_t n = 0; n < words.size() && !o.log_normal; ++n)
      o.lengths.push_back(*parseNumber<int>(words[n]));
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--lengths", take,
          "The keys of each sequence, with commas, or lognormal: random lengths\nwith the mean --seqlen-k (--seqlen-k)")
      ->delimiter(',')
      ->check(wordOrNumber(kLogNormal, 0, kMaxKeys))
      ->type_name("LIST")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Expected<CacheLengths> lengthsCount(std::string_view word) {
  return word == "before" ? CacheLengths::before : word == "last_key" ? CacheLengths::last_key : CacheLengths::all;
}

void addSplits(CLI::App &command, DecodeOptions &o) {
  command
      .add_option_function<std::string>(
          "--splits", [&o](const std::string &text) { o.splits = parseNumber<int64_t>(text); },
          "Into how many equal shares the keys of all sequences are cut, or auto\nfor as many as the device runs "
          "together (auto)")
      ->check(wordOrNumber("auto", 1, kMaxSpans))
      ->type_name("NUMBER");
}

void addProblem(CLI::App &command, DecodeOptions &o) {
  addNumber(command, "--batch", o.batch, 1, kMaxSize, "Sequences (those of --lengths, or 4)");
  addNumber(command, "--heads", o.heads, 1, kMaxSize, "Query heads (8)");
  addNumber(command, "--kv-heads", o.kv_heads, 1, kMaxSize, "Key and value heads, a divisor of --heads (--heads)");
  addNumber(command, "--seqlen-q", o.seqlen_q, 1, kMaxSize, "New queries of each sequence (1)");
  addNumber(command, "--seqlen-k", o.seqlen_k, 0, kMaxKeys,
            "Keys of each sequence, those of its queries included (1024)");
  addLengths(command, o);
  addNumber(command, "--prefix", o.prefix, 0, kMaxKeys,
            "Keys that come before those of all sequences, the same for all; they are\nread once (none)");
  addElementOptions(command, o.kernel);
  addWord(command, "--causal", {"none", "bottom_right"}, o.kernel.causal, parseCausal,
          "Hide later keys: none, or with the last query beside the last key\n(bottom_right) (bottom_right)");
  addSinksOption(command, o.kernel);
  addVariantOption(command, o.kernel, decodeVariantNames());
  command.add_flag("--latent", o.latent,
                   "Values are the first --value-dim columns of the keys, as in multi-head\nlatent attention");
  addNumber(command, "--page-size", o.page_size, 0, kMaxKeys,
            "The keys of a page; pages lie in a random order. 0: no pages (0)");
  command.add_flag("--page-table-v", o.page_table_v, "Values have pages in another order than keys; needs --page-size");
  addWord(command, "--lengths-count", {"all", "before", "last_key"}, o.lengths_count, lengthsCount,
          "What the kernels get as lengths: all keys of a sequence, those before its\nqueries, or the number of the "
          "last key "
          "(all)");
  addNumber(command, "--keys-per-part", o.keys_per_part, 0, kMaxKeys,
            "Cut each sequence after this number of keys, so that its bits do not\ndepend on others. 0: shares are "
            "equal (0)");
  addSplits(command, o);
  command.add_flag("--prepared", o.prepared,
                   "Compute how sequences are cut before the runs, as layers of a model do\nthat have it in common");
  constexpr float largest = std::numeric_limits<float>::max();
  addNumber(command, "--scale", o.scale, -largest, largest, "Factor on the scores; 0: 1 / sqrt(--head-dim) (0)");
  addSeed(command, o.seed, "Decides the random inputs, lengths and pages (0)");
}

/// Returns the keys of each sequence.
Expected<std::vector<int32_t>> lengthsOf(const DecodeOptions &o) {
  const auto listed = int64_t(o.lengths.size());
  if (listed != 0 && o.batch && *o.batch != listed)
    return Status(ErrorCode::invalid_argument,
                  fmt::format("--batch: '{}', but --lengths has {}; leave out --batch", *o.batch, listed));
  if (listed != 0)
    return o.lengths;
  const int64_t batch = o.batch.value_or(kDefaultBatch);
  return o.log_normal ? logNormalLengths(batch, o.seqlen_k, o.seed)
                      : std::vector<int32_t>(size_t(batch), int32_t(o.seqlen_k));
}

} // namespace

void addDecodeOptions(CLI::App &command, DecodeOptions &o) {
  addProblem(command, o);
  addTarget(command, o.target);
  addSchedule(command, o.schedule);
  addNoCache(command, o.no_cache);
  command.add_flag("--check", o.check, "Compare with a double-precision reference (slow)");
  addCheckFinite(command, o.check_finite);
  addNumber(command, "--repeat", o.repeat, 1, kMaxRepeat,
            "Run again this many times, and compare the bits of the results");
  command.add_flag("--json", o.json, "Print one JSON object instead of a table");
  command.footer(kExamples);
}

Expected<DecodeCase> decodeCase(const DecodeOptions &o) {
  const int64_t kv_heads = o.kv_heads.value_or(o.heads);
  TEGULA_RETURN_IF_ERROR(checkKvHeads(o.heads, kv_heads));
  Expected<std::vector<int32_t>> lengths = lengthsOf(o);
  if (!lengths)
    return lengths.status();
  const int value_dim = o.kernel.value_dim.value_or(o.kernel.head_dim);
  if (o.latent && o.prefix)
    return Status(ErrorCode::invalid_argument, "--prefix: leave it out, or leave out --latent");
  if (o.latent && value_dim > o.kernel.head_dim)
    return Status(ErrorCode::invalid_argument, fmt::format("--value-dim: '{}' columns of --latent keys with {} columns",
                                                           value_dim, o.kernel.head_dim));
  DecodeCase decode{.problem = {.dtype = o.kernel.dtype,
                                .head_dim = o.kernel.head_dim,
                                .value_dim = value_dim,
                                .latent = o.latent,
                                .causal = o.kernel.causal != Causal::none,
                                .page_size = o.page_size,
                                .page_table_v = o.page_table_v,
                                .lengths = o.lengths_count,
                                .sinks = o.kernel.sinks,
                                .expected_rows = int(o.heads / kv_heads * o.seqlen_q),
                                .keys_per_part = o.keys_per_part,
                                .prefix = o.prefix.has_value(),
                                .schedule = o.schedule},
                    .heads = o.heads,
                    .kv_heads = kv_heads,
                    .seqlen_q = o.seqlen_q,
                    .lengths = std::move(*lengths),
                    .prefix = o.prefix.value_or(0),
                    .num_spans = o.splits,
                    .scale = scoreFactor(o.scale, o.kernel.head_dim),
                    .seed = o.seed,
                    .prepared = o.prepared};
  if (const NamedVariant *variant = findVariant(o.kernel.variant))
    setVariant(decode, *variant);
  return decode;
}

} // namespace tegula::tools
