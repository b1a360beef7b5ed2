// SPDX-License-Identifier: MIT
// The calls of other libraries, in their own memory: each test has the tensors of a caller, and says with views which
// argument they are. Nothing is copied, and no length or page is read on the host. Plain loops find the same.
#include "callers/arrays.h"
#include "harness/machine.h"
#include "tegula/append.h"
#include "tegula/decode.h"
#include "tegula/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace tegula::testing {
namespace {

constexpr int kDim = 16, kHeads = 4, kKvHeads = 2, kGroup = kHeads / kKvHeads;
constexpr float kScale = 0.25f; // 1 / sqrt(kDim)

Expected<PlanSpec> decoding(DecodeProblem problem) {
  problem.head_dim = problem.value_dim = kDim;
  return decodeAttention(problem, machine().cache->target());
}

Expected<PlanSpec> appending(AppendProblem problem) {
  problem.dtype = f32;
  problem.head_dim = problem.value_dim = kDim;
  return appendToCache(problem);
}

/// Returns kScale q k for `q(column)` and `k(column)`.
template <class Q, class K> double product(const Q &q, const K &k) {
  double sum = 0;
  for (int c = 0; c < kDim; ++c)
    sum += q(c) * k(c);
  return sum * kScale;
}

/// Compares a row with `found(column)`.
template <class Found> void expectRow(const Row &expected, Found found, double tolerance = 1e-5) {
  for (int c = 0; c < int(expected.o.size()); ++c)
    ASSERT_NEAR(found(c), expected.o[size_t(c)], tolerance) << "column " << c;
}

/// flash_attn_with_kvcache(q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx,
/// causal=True, window_size=(20, 0), softcap=2): the entries of the cache are pages as long as a sequence, and
/// cache_batch_idx is their table. cache_seqlens do not count the new keys.
TEST(Callers, FlashAttentionWithNewKeys) {
  const int64_t batch = 3, entries = 5, room = 48, added = 2, left = 20;
  const int rotary = 8;
  const std::vector<int32_t> before = {0, 37, 12}, index = {4, 0, 2};
  const Array q(f32, {batch, added, kHeads, kDim}, 1), k_cache(f32, {entries, room, kKvHeads, kDim}, 2),
      v_cache(f32, {entries, room, kKvHeads, kDim}, 3), k(f32, {batch, added, kKvHeads, kDim}, 4),
      v(f32, {batch, added, kKvHeads, kDim}, 5), cos(f32, {room, rotary / 2}, 6), sin(f32, {room, rotary / 2}, 7),
      cache_seqlens({batch}, before), cache_batch_idx({batch}, index), out(f32, {batch, added, kHeads, kDim}),
      q_rotated(f32, {batch, added, kHeads, kDim}), softmax_lse(f32, {batch, kHeads, added});
  const Array k_before(f32, {entries, room, kKvHeads, kDim}, 2), v_before(f32, {entries, room, kKvHeads, kDim}, 3);

  const TensorRef table = withAxis(cache_batch_idx.ref(), 1), keys = swapped(k_cache.ref(), 1, 2),
                  values = swapped(v_cache.ref(), 1, 2), rotated_q = swapped(q_rotated.ref(), 1, 2);
  run(appending({.has_pages = true, .rotary_dim = rotary, .interleaved = true, .rotates_queries = true}),
      {{"k_new", swapped(k.ref(), 1, 2)},
       {"k", keys},
       {"lengths", cache_seqlens.ref()},
       {"page_table", table},
       {"cos", cos.ref()},
       {"sin", sin.ref()},
       {"v_new", swapped(v.ref(), 1, 2)},
       {"v", values},
       {"q", swapped(q.ref(), 1, 2)},
       {"q_rotated", rotated_q}});
  run(decoding({.dtype = f32,
                .page_size = int(room),
                .lengths = CacheLengths::before,
                .variant = combine(slidingWindow(left, kNoBound, Alignment::bottom_right), softcap(2))}),
      {{"q", rotated_q},
       {"k", keys},
       {"lengths", cache_seqlens.ref()},
       {"page_table", table},
       {"v", values},
       {"scale", kScale},
       {"o", swapped(out.ref(), 1, 2)},
       {"lse", softmax_lse.ref()}});

  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < added; ++i) {
        const int64_t past = before[size_t(b)], entry = index[size_t(b)], diagonal = past + i;
        const auto query = [&](int c) {
          return rotated(cos, sin, rotary, true, diagonal, c, [&](int c) { return q(b, i, h, c); });
        };
        const auto key = [&](int64_t j, int c) {
          return j < past ? k_before(entry, j, h / kGroup, c)
                          : rotated(cos, sin, rotary, true, j, c, [&](int c) { return k(b, j - past, h / kGroup, c); });
        };
        const auto score = [&](int64_t j) {
          const double product = testing::product(query, [&](int c) { return key(j, c); });
          return j <= diagonal && j >= diagonal - left ? 2 * std::tanh(product / 2) : -kInfinity;
        };
        const Row row = attention(past + added, kDim, score, [&](int64_t j, int c) {
          return j < past ? v_before(entry, j, h / kGroup, c) : v(b, j - past, h / kGroup, c);
        });
        expectRow(row, [&](int c) { return out(b, i, h, c); });
        EXPECT_NEAR(softmax_lse(b, h, i), row.lse, 1e-5);
      }
}

/// flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens, block_table, cache_leftpad, alibi_slopes, causal=True):
/// no query sees the keys before cache_leftpad.
TEST(Callers, FlashAttentionWithABlockTable) {
  const int64_t batch = 3, blocks = 9, page = 16, columns = 3;
  const std::vector<int32_t> lengths = {48, 5, 33}, pads = {7, 0, 20}, pages = {8, 0, 3, 5, -1, -1, 2, 7, 1};
  const Array q(f32, {batch, 1, kHeads, kDim}, 1), k_cache(f32, {blocks, page, kKvHeads, kDim}, 2),
      v_cache(f32, {blocks, page, kKvHeads, kDim}, 3), slopes(f32, {kHeads}, 4), cache_seqlens({batch}, lengths),
      cache_leftpad({batch}, pads), block_table({batch, columns}, pages), out(f32, {batch, 1, kHeads, kDim}),
      softmax_lse(f32, {batch, kHeads, 1});
  run(decoding({.dtype = f32, .page_size = int(page), .variant = alibi(Alignment::bottom_right), .begins = true}),
      {{"q", swapped(q.ref(), 1, 2)},
       {"k", swapped(k_cache.ref(), 1, 2)},
       {"lengths", cache_seqlens.ref()},
       {"page_table", block_table.ref()},
       {"begins", cache_leftpad.ref()},
       {"v", swapped(v_cache.ref(), 1, 2)},
       {"scale", kScale},
       {"slopes", slopes.ref()},
       {"o", swapped(out.ref(), 1, 2)},
       {"lse", softmax_lse.ref()}});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h) {
      const int64_t length = lengths[size_t(b)];
      const auto pageOf = [&](int64_t j) { return pages[size_t(b * columns + j / page)]; };
      const auto score = [&](int64_t j) {
        return j < pads[size_t(b)] ? -kInfinity
                                   : product([&](int c) { return q(b, 0, h, c); },
                                             [&](int c) { return k_cache(pageOf(j), j % page, h / kGroup, c); }) -
                                         slopes(h) * double(length - 1 - j);
      };
      expectRow(
          attention(length, kDim, score, [&](int64_t j, int c) { return v_cache(pageOf(j), j % page, h / kGroup, c); }),
          [&](int c) { return out(b, 0, h, c); });
    }
}

/// BatchDecodeWithPagedKVCacheWrapper of FlashInfer: kv_indptr, kv_indices, kv_last_page_len, and one tensor with keys
/// and values of each page, in the layout "NHD" or "HND". Two runs on different pages are merged as by merge_state. The
/// states are in natural logarithms.
TEST(Callers, FlashInfer) {
  const int64_t batch = 3, pages = 11, page = 16;
  struct Part {
    std::vector<int32_t> indptr, indices, last;
  };
  const Part parts[] = {{{0, 2, 3, 6}, {4, 1, 9, 0, 7, 3}, {5, 16, 1}}, {{0, 1, 1, 3}, {2, 8, 10}, {16, 0, 9}}};
  for (bool isNhd : {true, false}) {
    const Array q(f32, {batch, kHeads, kDim}, 1),
        kv(f32, {pages, 2, isNhd ? page : kKvHeads, isNhd ? kKvHeads : page, kDim}, 2),
        v_states(f32, {2, batch, kHeads, kDim}), s_states(f32, {2, batch, kHeads}), out(f32, {batch, kHeads, kDim}),
        lse(f32, {batch, kHeads});
    const auto half = [&](int64_t which) {
      const TensorRef x = fixed(kv.ref(), 1, which);
      return isNhd ? swapped(x, 1, 2) : x;
    };
    for (int n = 0; n < 2; ++n) {
      const Array kv_indptr({batch + 1}, parts[n].indptr),
          kv_indices({int64_t(parts[n].indices.size())}, parts[n].indices), kv_last_page_len({batch}, parts[n].last);
      run(decoding({.dtype = f32, .page_size = int(page), .page_offsets = true, .lengths = CacheLengths::last_page}),
          {{"q", withAxis(q.ref(), 2)},
           {"k", half(0)},
           {"lengths", kv_last_page_len.ref()},
           {"page_table", kv_indices.ref()},
           {"page_offsets", kv_indptr.ref()},
           {"v", half(1)},
           {"scale", kScale},
           {"o", withAxis(fixed(v_states.ref(), 0, n), 2)},
           {"lse", withAxis(fixed(s_states.ref(), 0, n), 2)}});
    }
    run(mergeAttention({.dtype = f32, .value_dim = kDim}, machine().cache->target()),
        {{"o_parts", withAxis(v_states.ref(), 3)},
         {"lse_parts", withAxis(s_states.ref(), 3)},
         {"o", withAxis(out.ref(), 2)},
         {"lse", withAxis(lse.ref(), 2)}});

    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < kHeads; ++h) {
        std::vector<std::pair<int64_t, int64_t>> keys; // Of both parts: the page, and the place in it.
        for (const Part &part : parts)
          for (int64_t at = part.indptr[size_t(b)]; at < part.indptr[size_t(b) + 1]; ++at)
            for (int64_t i = 0; i < (at + 1 < part.indptr[size_t(b) + 1] ? page : part.last[size_t(b)]); ++i)
              keys.emplace_back(part.indices[size_t(at)], i);
        const auto number = [&](int64_t which, int64_t key, int c) {
          const auto [at, i] = keys[size_t(key)];
          return isNhd ? kv(at, which, i, h / kGroup, c) : kv(at, which, h / kGroup, i, c);
        };
        const Row row = attention(
            int64_t(keys.size()), kDim,
            [&](int64_t j) {
              return product([&](int c) { return q(b, h, c); }, [&](int c) { return number(0, j, c); });
            },
            [&](int64_t j, int c) { return number(1, j, c); });
        expectRow(row, [&](int c) { return out(b, h, c); });
        EXPECT_NEAR(lse(b, h), row.lse, 1e-5);
      }
  }
}

/// The SDPA node of cuDNN's graph API with paged attention: containers of k and v with different numbers of blocks,
/// page tables [batch, 1, blocks, 1] of both, and seq_len_kv [batch, 1, 1, 1].
TEST(Callers, Cudnn) {
  const int64_t batch = 2, block = 32, columns = 2;
  const std::vector<int32_t> lengths = {50, 9}, of_k = {2, 0, 1, -1}, of_v = {0, 4, 3, -1};
  const Array q(f32, {batch, kHeads, 1, kDim}, 1), container_k(f32, {3, kKvHeads, block, kDim}, 2),
      container_v(f32, {5, kKvHeads, block, kDim}, 3), page_table_k({batch, 1, columns, 1}, of_k),
      page_table_v({batch, 1, columns, 1}, of_v), seq_len_kv({batch, 1, 1, 1}, lengths),
      o(f32, {batch, kHeads, 1, kDim}), stats(f32, {batch, kHeads, 1, 1});
  const auto table = [](const Array &x) { return fixed(fixed(x.ref(), 3, 0), 1, 0); };
  run(decoding({.dtype = f32, .causal = false, .page_size = int(block), .page_table_v = true}),
      {{"q", q.ref()},
       {"k", container_k.ref()},
       {"lengths", fixed(table(seq_len_kv), 1, 0)},
       {"page_table", table(page_table_k)},
       {"page_table_v", table(page_table_v)},
       {"v", container_v.ref()},
       {"scale", kScale},
       {"o", o.ref()},
       {"lse", fixed(stats.ref(), 3, 0)}});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h) {
      const auto number = [&](const Array &x, const std::vector<int32_t> &table, int64_t j, int c) {
        return x(table[size_t(b * columns + j / block)], h / kGroup, j % block, c);
      };
      const Row row = attention(
          lengths[size_t(b)], kDim,
          [&](int64_t j) {
            return product([&](int c) { return q(b, h, 0, c); },
                           [&](int c) { return number(container_k, of_k, j, c); });
          },
          [&](int64_t j, int c) { return number(container_v, of_v, j, c); });
      expectRow(row, [&](int c) { return o(b, h, 0, c); });
      EXPECT_NEAR(stats(b, h, 0, 0), row.lse, 1e-5);
    }
}

/// ggml_flash_attn_ext with a mask, max_bias, logit_softcap and sinks: k and v are f16, with any strides; the mask is
/// f16 and hides padding with -inf; with max_bias the slope of a head multiplies it (ALiBi). q and the result, which
/// ggml has in f32, are f16 here: a caller converts them.
TEST(Callers, Ggml) {
  const int64_t batch = 2, queries = 3, keys = 64, padded = 32, filled = 41;
  const double cap = 3;
  const Array q(f16, {batch, queries, kHeads, kDim}, 1), k(f16, {batch, keys, kKvHeads, kDim}, 2),
      v(f16, {batch, keys, kKvHeads, kDim}, 3), slopes(f32, {kHeads}, 4), sinks(f32, {kHeads}, 5),
      result(f16, {batch, queries, kHeads, kDim}), lse(f32, {batch, kHeads, queries}), n_kv({1}, {int32_t(keys)});
  Array mask(f16, {1, 1, padded, keys}, 6);
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      mask.set(j <= filled + i - queries ? double(j - filled) / 8 : -kInfinity, 0, 0, i, j);
  TensorRef mask_view = part(mask.ref(), 2, 0, queries); // One for all of the batch and all heads.
  mask_view.shape[0] = batch;
  mask_view.shape[1] = kHeads;
  mask_view.strides[0] = mask_view.strides[1] = 0;
  const Variant alibi = variantFromText("variant 1\n"
                                        "tensor bias f16[batch, heads, seqlen_q, seqlen_k]\n"
                                        "tensor slopes f32[heads]\n"
                                        "score = score + slopes[head] * bias[batch, head, query, key]\n"
                                        "mask = bias[batch, head, query, key] != -inf\n");
  run(decoding({.dtype = f16, .causal = false, .variant = combine(softcap(cap), alibi), .sinks = true}),
      {{"q", swapped(q.ref(), 1, 2)},
       {"k", swapped(k.ref(), 1, 2)},
       {"lengths", repeated(n_kv.ref(), batch)},
       {"v", swapped(v.ref(), 1, 2)},
       {"scale", kScale},
       {"bias", mask_view},
       {"slopes", slopes.ref()},
       {"o", swapped(result.ref(), 1, 2)},
       {"lse", lse.ref()},
       {"sinks", sinks.ref()}});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        const auto score = [&](int64_t j) {
          const double dot =
              product([&](int c) { return q(b, i, h, c); }, [&](int c) { return k(b, j, h / kGroup, c); });
          const double added = mask(0, 0, i, j);
          return added == -kInfinity ? added : cap * std::tanh(dot / cap) + slopes(h) * added;
        };
        expectRow(
            attention(
                keys, kDim, score, [&](int64_t j, int c) { return v(b, j, h / kGroup, c); }, sinks(h)),
            [&](int c) { return result(b, i, h, c); }, 4e-3);
      }
}

/// GroupQueryAttention of ONNX Runtime with do_rotary, local_window_size, softcap and smooth_softmax: q, k and v are
/// columns of one packed tensor, past and present are one buffer, and seqlens_k is the number of the last key. The
/// smooth softmax has one more logit, which is 0: a sink. A window counts the query's own key.
TEST(Callers, OnnxGroupQueryAttention) {
  const int64_t batch = 3, sequence = 2, most = 40, window = 16;
  const std::vector<int32_t> past = {0, 30, 7};
  std::vector<int32_t> last = past;
  for (int32_t &key : last)
    key += int32_t(sequence) - 1;
  const int64_t packed = (kHeads + 2 * kKvHeads) * kDim;
  const Array query(f32, {batch, sequence, packed}, 1), key(f32, {batch, kKvHeads, most, kDim}, 2),
      value(f32, {batch, kKvHeads, most, kDim}, 3), cos_cache(f32, {most, kDim / 2}, 4),
      sin_cache(f32, {most, kDim / 2}, 5), seqlens_k({batch}, last), zero({1}, {0}),
      q_rotated(f32, {batch, kHeads, sequence, kDim}), output(f32, {batch, sequence, kHeads * kDim}),
      lse(f32, {batch, kHeads, sequence});
  const Array key_before(f32, {batch, kKvHeads, most, kDim}, 2), value_before(f32, {batch, kKvHeads, most, kDim}, 3);
  const auto heads = [&](const Array &x, int64_t columns, int64_t first, int64_t count) {
    const TensorRef all = x.as({batch, sequence, columns / kDim, kDim});
    return swapped(part(all, 2, first, count), 1, 2);
  };
  run(appending({.rotary_dim = kDim, .rotates_queries = true, .lengths = CacheLengths::last_key}),
      {{"k_new", heads(query, packed, kHeads, kKvHeads)},
       {"k", key.ref()},
       {"lengths", seqlens_k.ref()},
       {"cos", cos_cache.ref()},
       {"sin", sin_cache.ref()},
       {"v_new", heads(query, packed, kHeads + kKvHeads, kKvHeads)},
       {"v", value.ref()},
       {"q", heads(query, packed, 0, kHeads)},
       {"q_rotated", q_rotated.ref()}});
  TensorRef sinks = repeated(zero.ref(), kHeads);
  sinks.dtype = f32; // 0 has the same bits.
  run(decoding({.dtype = f32,
                .lengths = CacheLengths::last_key,
                .variant = combine(slidingWindow(window - 1, kNoBound, Alignment::bottom_right), softcap(5)),
                .sinks = true}),
      {{"q", q_rotated.ref()},
       {"k", key.ref()},
       {"lengths", seqlens_k.ref()},
       {"v", value.ref()},
       {"scale", kScale},
       {"o", heads(output, kHeads * kDim, 0, kHeads)},
       {"lse", lse.ref()},
       {"sinks", sinks}});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < sequence; ++i) {
        const int64_t before = past[size_t(b)], diagonal = before + i;
        const auto turned = [&](int64_t position, int64_t head, int c) {
          return rotated(cos_cache, sin_cache, kDim, false, position, c,
                         [&](int c) { return query(b, position - before, head * kDim + c); });
        };
        const auto score = [&](int64_t j) {
          const double dot = product(
              [&](int c) { return turned(diagonal, h, c); },
              [&](int c) { return j < before ? key_before(b, h / kGroup, j, c) : turned(j, kHeads + h / kGroup, c); });
          return j <= diagonal && j > diagonal - window ? 5 * std::tanh(dot / 5) : -kInfinity;
        };
        const auto v = [&](int64_t j, int c) {
          return j < before ? value_before(b, h / kGroup, j, c)
                            : query(b, j - before, (kHeads + kKvHeads + h / kGroup) * kDim + c);
        };
        expectRow(attention(before + sequence, kDim, score, v, 0), [&](int c) { return output(b, i, h * kDim + c); });
      }
}

/// vLLM and SGLang: the tokens of a step lie one after another, first those of requests that decode, then the prompts.
/// slot_mapping, i64, has the place of each new key in the cache, where -1 is none: the cache is pages of one key, and
/// the table the lower halves of slot_mapping. The requests that decode are one launch, and each prompt is one.
TEST(Callers, Vllm) {
  const int64_t blocks = 12, block = 16, columns = 4;
  const std::vector<int32_t> starts = {0, 1, 2, 7, 10}, lengths = {20, 1, 37, 3}; // query_start_loc, seq_lens
  const std::vector<int32_t> pages = {3, 11, -1, -1, 5, -1, -1, -1, 0, 8, 2, -1, 10, -1, -1, -1};
  const int64_t requests = 4, tokens = starts.back() + 1; // The last token is padding.
  const auto slotOf = [&](int64_t r, int64_t j) { return pages[size_t(r * columns + j / block)] * block + j % block; };
  std::vector<int32_t> slots(size_t(2 * tokens), -1);
  for (int64_t r = 0; r < requests; ++r)
    for (int64_t t = starts[size_t(r)]; t < starts[size_t(r) + 1]; ++t) {
      slots[size_t(2 * t)] = int32_t(slotOf(r, lengths[size_t(r)] - starts[size_t(r) + 1] + t));
      slots[size_t(2 * t) + 1] = 0;
    }
  const Array q(f32, {tokens, kHeads, kDim}, 1), k(f32, {tokens, kKvHeads, kDim}, 2),
      v(f32, {tokens, kKvHeads, kDim}, 3), kv_cache(f32, {2, blocks, block, kKvHeads, kDim}, 4),
      slot_mapping({tokens, 2}, slots), block_table({requests, columns}, pages), seq_lens({requests}, lengths),
      zero({1}, {0}), out(f32, {tokens, kHeads, kDim}), lse(f32, {tokens, kHeads});
  const Array before(f32, {2, blocks, block, kKvHeads, kDim}, 4);

  const TensorRef slots_of_pages = kv_cache.as({2, blocks * block, kKvHeads, 1, kDim});
  run(appending({.has_pages = true}), {{"k_new", withAxis(k.ref(), 2)},
                                       {"k", fixed(slots_of_pages, 0, 0)},
                                       {"lengths", repeated(zero.ref(), tokens)},
                                       {"page_table", part(slot_mapping.ref(), 1, 0, 1)},
                                       {"v_new", withAxis(v.ref(), 2)},
                                       {"v", fixed(slots_of_pages, 0, 1)}});
  const auto attend = [&](int64_t first, int64_t count, TensorRef (*rows)(TensorRef x)) {
    const int64_t from = starts[size_t(first)], size = starts[size_t(first + count)] - from;
    run(decoding({.dtype = f32, .page_size = int(block)}), {{"q", rows(part(q.ref(), 0, from, size))},
                                                            {"k", swapped(fixed(kv_cache.ref(), 0, 0), 1, 2)},
                                                            {"lengths", part(seq_lens.ref(), 0, first, count)},
                                                            {"page_table", part(block_table.ref(), 0, first, count)},
                                                            {"v", swapped(fixed(kv_cache.ref(), 0, 1), 1, 2)},
                                                            {"scale", kScale},
                                                            {"o", rows(part(out.ref(), 0, from, size))},
                                                            {"lse", rows(part(lse.ref(), 0, from, size))}});
  };
  attend(0, 2, [](TensorRef x) { return withAxis(x, 2); }); // [batch, heads, 1]
  for (int64_t r : {2, 3})
    attend(r, 1, [](TensorRef x) { return withAxis(swapped(x, 0, 1), 0); }); // [1, heads, tokens]

  for (int64_t r = 0; r < requests; ++r)
    for (int64_t t = starts[size_t(r)]; t < starts[size_t(r) + 1]; ++t)
      for (int64_t h = 0; h < kHeads; ++h) {
        const int64_t past = lengths[size_t(r)] - starts[size_t(r) + 1] + starts[size_t(r)];
        const auto number = [&](int64_t which, const Array &added, int64_t j, int c) {
          const int64_t slot = slotOf(r, j);
          return j < past ? before(which, slot / block, slot % block, h / kGroup, c)
                          : added(starts[size_t(r)] + j - past, h / kGroup, c);
        };
        const auto score = [&](int64_t j) {
          return product([&](int c) { return q(t, h, c); }, [&](int c) { return number(0, k, j, c); });
        };
        const Row row = attention(past + t - starts[size_t(r)] + 1, kDim, score,
                                  [&](int64_t j, int c) { return number(1, v, j, c); });
        expectRow(row, [&](int c) { return out(t, h, c); });
        EXPECT_NEAR(lse(t, h), row.lse, 1e-5);
      }
}

/// TensorRT-LLM: one pool has the blocks of keys and of values of all layers, and block_offsets [batch, 2, columns]
/// names both. A layer begins at a pointer of its own.
TEST(Callers, TensorRtLlm) {
  const int64_t batch = 2, blocks = 5, layers = 3, layer = 1, tokens = 32, columns = 2;
  const std::vector<int32_t> lengths = {40, 17};
  // Block n of the pool has keys at 2 n, and values at 2 n + 1.
  const std::vector<int32_t> offsets = {6, 0, 7, 1, 8, -1, 9, -1};
  const Array q(f32, {batch, kHeads, kDim}, 1), pool(f32, {2 * blocks, layers, kKvHeads, tokens, kDim}, 2),
      block_offsets({batch, 2, columns}, offsets), sequence_length({batch}, lengths), out(f32, {batch, kHeads, kDim}),
      lse(f32, {batch, kHeads});
  const TensorRef of_layer = fixed(pool.ref(), 1, layer);
  run(decoding({.dtype = f32, .page_size = int(tokens), .page_table_v = true}),
      {{"q", withAxis(q.ref(), 2)},
       {"k", of_layer},
       {"lengths", sequence_length.ref()},
       {"page_table", fixed(block_offsets.ref(), 1, 0)},
       {"page_table_v", fixed(block_offsets.ref(), 1, 1)},
       {"v", of_layer},
       {"scale", kScale},
       {"o", withAxis(out.ref(), 2)},
       {"lse", withAxis(lse.ref(), 2)}});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < kHeads; ++h) {
      const auto number = [&](int64_t which, int64_t j, int c) {
        const int64_t block = offsets[size_t((b * 2 + which) * columns + j / tokens)];
        return pool(block, layer, h / kGroup, j % tokens, c);
      };
      const Row row = attention(
          lengths[size_t(b)], kDim,
          [&](int64_t j) { return product([&](int c) { return q(b, h, c); }, [&](int c) { return number(0, j, c); }); },
          [&](int64_t j, int c) { return number(1, j, c); });
      expectRow(row, [&](int c) { return out(b, h, c); });
    }
}

} // namespace
} // namespace tegula::testing
