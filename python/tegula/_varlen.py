# SPDX-License-Identifier: MIT
"""Attention of sequences that lie one after another. Tensors are [total, heads, dim], as in flash_attn, and cu_seqlens, int32
[sequences + 1], has the first position of each sequence and the end of the last one. Windows count from the last query and key
of a sequence. No call waits for the device."""

import math

import torch

from . import _operators
from ._attention import attention, padded, refusal

_LARGEST_DIMS = 576, 576, 576  # Of queries, keys and values, if keys lie in pages.
_COMPUTED = 1  # Kernels find the tiles in which scores exist.


def _sequence_of(offsets, total):
    """Returns the sequence of each of `total` packed positions, int64 [total]. `offsets` are its cu_seqlens."""
    positions = torch.arange(total, dtype=offsets.dtype, device=offsets.device)
    return torch.searchsorted(offsets[1:].contiguous(), positions, right=True)


def _intervals(cu_seqlens_q, cu_seqlens_k, total_q, total_k, left, right):
    """Returns interval_begin, interval_end, query_begin and query_end of tegula.attention for packed sequences. In a sequence,
    query i sees keys from i + shift - left to i + shift + right, where shift is its number of keys minus that of queries.
    Positions after the last sequence see nothing."""
    bounds = (-1 if bound is None else bound for bound in (left, right))
    return _operators.packed_intervals(cu_seqlens_q.int(), cu_seqlens_k.int(), total_q, total_k, *bounds)


def _heads_first(*tensors):
    """Returns tensors [total, heads, dim] as [1, heads, total, dim]."""
    return [x.transpose(0, 1)[None] for x in tensors]


def attend(q, k, v, cu_seqlens_q, cu_seqlens_k, *, left, right, scale, softcap, dropout_p, deterministic):
    """Returns o [total_q, heads, value_dim] and lse [heads, total_q]."""
    begin, end, query_begin, query_end = _intervals(cu_seqlens_q, cu_seqlens_k, q.shape[0], k.shape[0], left, right)
    o, lse = attention(*_heads_first(q, k, v), interval_begin=begin, interval_end=end, query_begin=query_begin,
                       query_end=query_end, query_offsets=cu_seqlens_q.int(), key_offsets=cu_seqlens_k.int(), scale=scale,
                       softcap=softcap, dropout_p=dropout_p, deterministic=deterministic)
    return o.squeeze(0).transpose(0, 1), lse.squeeze(0)  # The derivative of an index would be a copy.


def attend_with_slopes(q, k, v, cu_seqlens_q, cu_seqlens_k, slopes, *, left, right, scale, softcap, deterministic):
    """Does what attend() does, with ALiBi. Slopes are float32 [heads] or [sequences, heads]."""
    reason = refusal(*_heads_first(q, k, v))
    if reason:
        raise NotImplementedError("flash_attn.flash_attn_varlen_func: " + reason)
    begin, end, _, _ = _intervals(cu_seqlens_q, cu_seqlens_k, q.shape[0], k.shape[0], left, right)
    sequence = _sequence_of(cu_seqlens_q, q.shape[0]).clamp(max=cu_seqlens_q.shape[0] - 2)
    diagonal = torch.arange(q.shape[0], device=q.device) + (cu_seqlens_k - cu_seqlens_q)[1:][sequence]
    slopes = slopes.expand(cu_seqlens_q.shape[0] - 1, -1)
    capped = f"{softcap!r} * tanh(score / {softcap!r})" if softcap else "score"
    text = ("variant 1\ntensor first i32[any]\ntensor last i32[any]\ntensor sequence i32[any]\ntensor diagonal i32[any]\n"
            "tensor slope f32[any, heads]\n"
            f"score = {capped} - slope[sequence[query], head] * abs(diagonal[query] - key)\n"
            "mask = (first[query] <= key) & (key < last[query])\n")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
    o, lse = _operators.flex(*map(padded, _heads_first(q, k, v)), [],
                             [begin[0], end[0], sequence.int(), diagonal.int(), slopes], [], None, text, scale, _COMPUTED, 0, 0,
                             deterministic)
    return o.squeeze(0)[..., :v.shape[-1]].transpose(0, 1), lse.squeeze(0)


def attend_pages(q, k_pages, v_pages, cu_seqlens_q, lengths, page_table, *, left, right, scale, softcap, alibi_slopes=None):
    """Does what attend() does, for keys in pages [pages, kv_heads, page_size, dim]. Sequence n has lengths[n] keys, in the pages of
    row n of page_table, int32 [sequences, pages of a sequence]. Slopes are float32 [heads] or [sequences, heads]. There are no
    gradients."""
    reason = refusal(q, k_pages, v_pages, _LARGEST_DIMS)
    if reason:
        raise NotImplementedError("attention of sequences with keys in pages: " + reason)
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k_pages, v_pages)):
        raise NotImplementedError("attention of sequences with keys in pages has no gradients; call it under torch.no_grad()")
    page_size, cu_seqlens_q, lengths = k_pages.shape[2], cu_seqlens_q.int(), lengths.int()
    left, right = (-1 if bound is None else bound for bound in (left, right))
    begin, end, pages, page_lengths = _operators.packed_pages(cu_seqlens_q, lengths, page_table.int(), None, page_size, q.shape[0],
                                                              page_table.numel(), left, right)
    tensors, text = [], ""
    if alibi_slopes is not None:
        sequence = _sequence_of(cu_seqlens_q, q.shape[0]).clamp(max=lengths.shape[0] - 1)
        count = (lengths + page_size - 1) // page_size  # The pages of each sequence stand after those of the one before.
        last = (count.cumsum(0) - count) * page_size + lengths
        diagonal = torch.arange(q.shape[0], device=q.device) + (last - cu_seqlens_q[1:])[sequence]
        tensors = [sequence.int(), diagonal.int(), alibi_slopes.expand(lengths.shape[0], -1)]
        text = ("variant 1\ntensor sequence i32[any]\ntensor diagonal i32[any]\ntensor slope f32[any, heads]\n"
                "score = score - slope[sequence[query], head] * abs(diagonal[query] - key)\n")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    o, lse = _operators.pages_forward(padded(q.transpose(0, 1)[None]), padded(k_pages), padded(v_pages), pages, page_lengths, begin,
                                      end, cu_seqlens_q, scale, softcap, None, tensors, text)
    return o.squeeze(0)[..., :v_pages.shape[-1]].transpose(0, 1), lse.squeeze(0)


def varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None,
                window_size=(-1, -1), seqused_k=None, block_table=None):
    """torch.nn.attention.varlen.varlen_attn, by Tegula's kernels, with gradients. Returns o [total_q, heads, value_dim]; if
    return_aux.lse is set, o and lse, float32 [heads, total_q].

    key and value may have fewer heads, which divide those of query. window_size is (left, right), where -1 is no bound;
    (-1, 0) is causal. max_q and max_k have no effect.

    With a block_table, int32 [sequences, pages of a sequence], key and value are [pages, page_size, kv_heads, dim], sequence n has
    seqused_k[n] keys in the pages of its row, and there are no gradients. Without seqused_k, cu_seq_k says how many. Rows of
    pages after the last key reach no result."""
    left, right = (None if bound < 0 else bound for bound in window_size)
    if block_table is not None:
        lengths = cu_seq_k.diff() if seqused_k is None else seqused_k
        o, lse = attend_pages(query, key.transpose(1, 2), value.transpose(1, 2), cu_seq_q, lengths, block_table, left=left,
                              right=right, scale=scale, softcap=0.0)
    elif seqused_k is not None:
        raise ValueError("tegula.varlen_attn: seqused_k is given, but block_table is not")
    else:
        o, lse = attend(query, key, value, cu_seq_q, cu_seq_k, left=left, right=right, scale=scale, softcap=0.0, dropout_p=0.0,
                        deterministic=False)
    return (o, lse) if return_aux is not None and return_aux.lse else o
