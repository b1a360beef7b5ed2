# SPDX-License-Identifier: MIT
"""Attention of new queries on a cache of keys and values."""

import math

import torch

from . import _operators
from ._attention import padded, refusal

_LARGEST_DIMS = 576, 576, 512  # Of q, k and v.
_COUNTS = {"all": 1, "before": 2, "last_key": 3, "last_page": 4}  # TEGULA_LENGTHS_...


def _check_prefix(q, page_table, lengths, own_table, k, v):
    """Raises ValueError unless a prefix has all of its tensors and no others."""
    has_pages = page_table is not None
    given = {"prefix_page_table": own_table is not None, "prefix_k": k is not None, "prefix_v": v is not None}
    for name, is_given in given.items():
        wanted = lengths is not None and has_pages == (name == "prefix_page_table")
        if is_given and not wanted:
            raise ValueError(f"tegula.decode: {name} is given, but " + (
                "prefix_lengths is not" if lengths is None else f"the caches have {'' if has_pages else 'no '}pages"))
        if wanted and not is_given:
            raise ValueError(f"tegula.decode: prefix_lengths is given, but {name} is not")
    reason = refusal(q, k, v, _LARGEST_DIMS) if k is not None else None
    if reason:
        raise NotImplementedError("tegula.decode: of the prefix, " + reason)
    if own_table is not None and own_table.dim() != 2:
        raise ValueError(f"tegula.decode: prefix_page_table must have 2 dimensions; it has {own_table.dim()}")


def _inputs(q, k_cache, v_cache, lengths, page_table, page_offsets, causal, window, scale, softcap, alibi_slopes, sinks, begins,
            keys_per_part, prefix_lengths, prefix_page_table, prefix_k, prefix_v, page_table_v, lengths_count):
    """Returns the inputs of the operators, or raises the errors of decode."""
    reason = refusal(q, k_cache, v_cache, _LARGEST_DIMS)
    if reason:
        raise NotImplementedError("tegula.decode: " + reason)
    for name, x in (("lengths", lengths), ("page_table", page_table), ("page_offsets", page_offsets), ("begins", begins),
                    ("page_table_v", page_table_v),
                    ("prefix_lengths", prefix_lengths), ("prefix_page_table", prefix_page_table)):
        if x is not None and (x.dtype != torch.int32 or x.device != q.device):
            raise ValueError(f"tegula.decode: {name} is {x.dtype} on {x.device}; it must be torch.int32 on {q.device}")
    if lengths_count not in _COUNTS:
        raise ValueError(f"tegula.decode: lengths_count is {lengths_count!r}; it must be one of {', '.join(_COUNTS)}")
    if page_offsets is None and page_table is not None and page_table.dim() != 2:
        raise ValueError("tegula.decode: page_table must have 2 dimensions, because page_offsets are not given")
    if page_offsets is not None and (page_table is None or page_table.dim() != 1):
        raise ValueError("tegula.decode: page_table must have 1 dimension, because page_offsets are given")
    if page_table_v is not None and (page_table is None or page_table_v.shape != page_table.shape):
        raise ValueError("tegula.decode: page_table_v is given; it must have the shape of page_table")
    _check_prefix(q, page_table, prefix_lengths, prefix_page_table, prefix_k, prefix_v)
    if any(x.requires_grad for x in (q, k_cache, v_cache)) and torch.is_grad_enabled():
        raise NotImplementedError("tegula.decode: it has no gradients; call it under torch.no_grad()")
    left, right = (-1 if bound is None else bound for bound in window)
    return (padded(q), padded(k_cache), padded(v_cache), lengths, 1 / math.sqrt(q.shape[-1]) if scale is None else scale, causal,
            page_table, page_offsets, alibi_slopes, sinks, begins, left, right, softcap, keys_per_part, prefix_lengths,
            prefix_page_table, *(x if x is None else padded(x) for x in (prefix_k, prefix_v)), page_table_v,
            _COUNTS[lengths_count])


def decode(q, k_cache, v_cache, lengths, page_table=None, page_offsets=None, *, causal=True, window=(None, None), scale=None,
           softcap=0.0, alibi_slopes=None, sinks=None, begins=None, keys_per_part=0, prefix_lengths=None,
           prefix_page_table=None, prefix_k=None, prefix_v=None, page_table_v=None, lengths_count="all", prepared=None,
           return_lse=False):
    """Returns o [batch, heads, seqlen_q, value_dim], attention of the last queries of each sequence on the keys in a cache; with
    `return_lse` o and lse, float32 [batch, heads, seqlen_q].

    q           [batch, heads, seqlen_q, head_dim], in float32, float16 or bfloat16, with any strides. head_dim is at most 576,
                value_dim 512
    k_cache     [batch, kv_heads, longest, head_dim]; with a page table [pages, kv_heads, page_size, head_dim]. Pages of
                a multiple of 16 keys are the fastest
    v_cache     the same with value_dim. If it is the first columns of k_cache, as k_cache[..., :512] with multi-head latent
                attention, kernels load each key once
    lengths     int32 [batch], on the device of q: the keys of each sequence, with those of its queries, or what lengths_count
                says
    page_table  int32 [batch, pages of a sequence]: key j lies in page page_table[j // page_size], at j % page_size. With
                page_offsets it is int32 [entries]
    page_offsets  int32 [batch + 1]: the row of sequence b is page_table[page_offsets[b]:page_offsets[b + 1]], as kv_indptr and
                kv_indices of FlashInfer have it
    page_table_v  the same as page_table, if v has pages of its own; v_cache then has as many as it likes. Not with a prefix
    lengths_count  the keys that lengths counts: "all", "before" for those before the queries, "last_key" for the number of the
                last key, or "last_page" for the keys in the last page, with page_offsets only
    causal      the last query is at the last key, and a query sees the keys up to its own
    window      (left, right): a query sees keys from its own - left to its own + right; None is no bound
    scale       factor on the scores; None: 1 / sqrt(head_dim)
    softcap     cap on the scores, as cap * tanh(score / cap); 0: none
    alibi_slopes  float32 [heads]
    sinks       float32 [heads], logits that are added to the denominators
    begins      int32 [batch]: no query sees the keys before it, such as padding on the left
    keys_per_part  cuts sequences after this number of keys, a multiple of 256, or of the largest power of two that divides the
                page size, if that is less. The bits of a result then do not depend on the other sequences. 0: parts that share
                the work equally

    prefix_lengths  int32 [1], on the device of q: all sequences begin with this number of keys, which are read once for all of
                them. The other tensors are then about the keys that follow, which may be none. The keys of the prefix are in
    prefix_page_table  int32 [1, pages of the prefix], if the caches have pages, or in
    prefix_k, prefix_v  [1, kv_heads, longest, head_dim] and [1, kv_heads, longest, value_dim]. If v_cache is a part of k_cache,
                prefix_v is one of prefix_k; otherwise kernels load values again

    prepared    what prepare_decode returned for the same lengths, tables, begins, prefix_lengths and options, and for tensors of
                the same shapes

    No call waits for the GPU or compiles for new lengths. What lies after the last key of a sequence, or before its begin,
    reaches no result. A cache is copied if its elements are apart along the last dimension, and on a GPU also if that is no
    multiple of 8. There are no gradients. Raises NotImplementedError for tensors that no kernel takes, ValueError, and
    RuntimeError with the message of the library."""
    if prepared is not None and (prepared.dtype != torch.uint8 or prepared.device != q.device):
        raise ValueError(f"tegula.decode: prepared is {prepared.dtype} on {prepared.device}; it must be what "
                         f"tegula.prepare_decode returns on {q.device}")
    o, lse = _operators.decode(*_inputs(q, k_cache, v_cache, lengths, page_table, page_offsets, causal, window, scale, softcap,
                                        alibi_slopes, sinks, begins, keys_per_part, prefix_lengths, prefix_page_table, prefix_k,
                                        prefix_v, page_table_v, lengths_count), prepared)
    o = o if o.shape[-1] == v_cache.shape[-1] else o[..., :v_cache.shape[-1]]
    return (o, lse) if return_lse else o


def prepare_decode(q, k_cache, v_cache, lengths, page_table=None, page_offsets=None, *, causal=True, window=(None, None),
                   scale=None, softcap=0.0, alibi_slopes=None, sinks=None, begins=None, keys_per_part=0, prefix_lengths=None,
                   prefix_page_table=None, prefix_k=None, prefix_v=None, page_table_v=None, lengths_count="all"):
    """Returns what calls of decode with these arguments have in common, uint8 [bytes]: how sequences are cut. All layers of a
    model's step have it in common. Each call computes it again if it does not get it as `prepared`.

    Only shapes and strides of q and of the caches count here, so that they may be those of any layer, or empty tensors. Calls
    only read the result, and may be on several streams. They must not run later than the lengths change: prepare once in each
    step, also in a captured graph. Results of decode are the same bits with and without it. A result of another size raises
    RuntimeError in decode. One for other lengths or shapes gives wrong numbers."""
    return _operators.prepare_decode(*_inputs(q, k_cache, v_cache, lengths, page_table, page_offsets, causal, window, scale,
                                              softcap, alibi_slopes, sinks, begins, keys_per_part, prefix_lengths,
                                              prefix_page_table, prefix_k, prefix_v, page_table_v, lengths_count))
