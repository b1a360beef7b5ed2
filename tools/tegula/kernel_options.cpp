// SPDX-License-Identifier: MIT
#include "kernel_options.h"
#include "legal_values.h"
#include "tegula/attention_words.h"

#include <fmt/format.h>

namespace tegula::tools {

constexpr int kMaxDim = 1024;

void addElementOptions(CLI::App &command, KernelOptions &o) {
  addNumber(command, "--head-dim", o.head_dim, 1, kMaxDim, "Numbers in a query and in a key (64)");
  addNumber(command, "--value-dim", o.value_dim, 1, kMaxDim, "Numbers in a value (--head-dim)");
  addWord(command, "--dtype", {"f32", "f16", "bf16"}, o.dtype, parseDType, "Element type: f32, f16 or bf16 (f32)");
}

void addSinksOption(CLI::App &command, KernelOptions &o) {
  command.add_flag("--sinks", o.sinks, "Each query head has an attention sink, a logit in the denominator of P");
}

void addKernelOptions(CLI::App &command, KernelOptions &o) {
  addElementOptions(command, o);
  addWord(command, "--causal", causalWords(), o.causal, parseCausal,
          "Hide later keys: none, or with query 0 beside key 0 (top_left),\n"
          "or the last query beside the last key (bottom_right) (none)");
  command.add_flag("--contain-nonfinite", o.contain_nonfinite,
                   "NaN and infinities reach only results that see their row. It costs\n"
                   "time on a GPU; on the cpu it always holds");
  addNumber(command, "--dropout", o.dropout, 0, 1, "The probability of dropping an element of the softmax (0)");
  addSinksOption(command, o);
  addNumber(command, "--diagonal-offset", o.diagonal_offset, -kMaxDiagonal, kMaxDiagonal,
            "Each call adds this number to the diagonal of --causal and --variant, such\nas the length of a past; no "
            "number compiles anything");
  command.add_flag("--deterministic", o.deterministic,
                   "Each run of the backward pass gives the same bits. It costs time");
  addWord(command, "--block-mask", blockMaskWords(), o.block_mask, parseBlockMask,
          "Visit only tiles in which scores exist, as lists say that a kernel\ncomputes from the whole mask (computed) "
          "(none)");
}

void addVariantOption(CLI::App &command, KernelOptions &o, const std::vector<std::string> &names) {
  command
      .add_option(
          "--variant", o.variant,
          "Scores masked or modified as `tegula bench --variants` measures it, with\nthe diagonal of --causal: " +
              enumeration(names))
      ->check(oneOf(names))
      ->type_name("WORD");
}

Status checkKvHeads(int64_t heads, int64_t kv_heads) {
  if (heads % kv_heads == 0)
    return {};
  return {ErrorCode::invalid_argument, fmt::format("--kv-heads: '{}' does not divide --heads {}", kv_heads, heads)};
}

AttentionProblem problemOf(const KernelOptions &o) {
  return {.dtype = o.dtype,
          .head_dim = o.head_dim,
          .value_dim = o.value_dim.value_or(o.head_dim),
          .causal = o.causal,
          .block_mask = {.source = o.block_mask},
          .contain_nonfinite = o.contain_nonfinite,
          .deterministic = o.deterministic,
          .dropout_p = o.dropout,
          .sinks = o.sinks,
          .diagonal_offset = o.diagonal_offset.has_value()};
}

} // namespace tegula::tools
