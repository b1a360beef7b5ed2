# SPDX-License-Identifier: MIT
"""The functions of the package flash_attn (Dao-AILab/flash-attention, version 2).

Tensors are [batch, length, heads, dim]. Causal masks, windows and ALiBi count from the last query and key. What Tegula does not
compute raises NotImplementedError with its name.
"""

import sys

import torch

from . import _operators, _varlen
from ._attention import attention
from ._decode import decode

__all__ = ["install", "flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache"]


def install():
    """Makes this module the package flash_attn of the process, for code that imports flash_attn by name."""
    sys.modules["flash_attn"] = sys.modules["flash_attn.flash_attn_interface"] = sys.modules[__name__]


def _window(window_size):
    """Returns the window of tegula.attention, where None is no bound."""
    return tuple(None if bound < 0 else int(bound) for bound in window_size)


def _with_slopes(q, k, v, alibi_slopes, **options):
    """Computes attention. Slopes of shape [batch, heads] take one call for each entry of the batch."""
    if alibi_slopes is None or alibi_slopes.dim() == 1:
        return attention(q, k, v, alibi_slopes=alibi_slopes, **options)
    parts = [attention(q[n:n + 1], k[n:n + 1], v[n:n + 1], alibi_slopes=alibi_slopes[n], **options)
             for n in range(q.shape[0])]
    return tuple(torch.cat(results) for results in zip(*parts))


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Returns o [batch, seqlen_q, heads, value_dim]; with `return_attn_probs`, o, lse, and s_dmask if there is dropout, otherwise
    None.

    A window (left, right) lets a query see keys from diagonal - left to diagonal + right; -1 is no bound. alibi_slopes are
    float32 [heads] or [batch, heads]. s_dmask [batch, heads, seqlen_q, seqlen_k], in the type of q, is exp(score - maximum of
    the row), negative where dropout drops it."""
    with_scores = return_attn_probs and dropout_p > 0
    o, lse, *scores = _with_slopes(
        *(x.transpose(1, 2) for x in (q, k, v)), alibi_slopes, causal=causal, bottom_right=True,
        window=_window(window_size), scale=softmax_scale, softcap=softcap,
        dropout_p=dropout_p, deterministic=deterministic, return_scores="probabilities" if with_scores else None)
    o = o.transpose(1, 2)
    if dropout_p:  # flash_attn divides by 1 - dropout_p, although it too keeps a multiple of 1/256.
        o = o * (round(256 * (1 - dropout_p)) / 256 / (1 - dropout_p))
    if not return_attn_probs:
        return o
    return o, lse, _relative_to_maximum(scores[0]).to(q.dtype) if with_scores else None


def _relative_to_maximum(probabilities):
    """Divides each row by its largest magnitude. A row without keys stays 0."""
    largest = probabilities.abs().amax(-1, keepdim=True)
    return probabilities / largest.where(largest > 0, 1)


def flash_attn_kvpacked_func(q, kv, *args, **options):
    """Calls flash_attn_func with the keys and values of kv [batch, seqlen_k, 2, kv_heads, dim]."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], *args, **options)


def flash_attn_qkvpacked_func(qkv, *args, **options):
    """Calls flash_attn_func with the queries, keys and values of qkv [batch, seqlen, 3, heads, dim]."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], *args, **options)


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None,
                            cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, causal=False,
                            window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0,
                            return_softmax_lse=False):
    """Returns o [batch, seqlen_q, heads, value_dim]; with `return_softmax_lse` o and lse, float32 [batch, heads, seqlen_q].

    q is [batch, seqlen_q, heads, dim]. The caches are [batch_cache, longest, kv_heads, dim], or with a block_table, int32 [batch,
    pages], [pages, page_size, kv_heads, dim]. cache_seqlens, an int or int32 [batch], are the keys in the cache before the call;
    None: all. k and v [batch, new, kv_heads, dim] are written after them first, and then count as keys. rotary_cos and
    rotary_sin [positions, rotary_dim / 2] rotate q and k. cache_batch_idx, [batch], names the entries of the cache.
    cache_leftpad, int32 [batch], is the first key of each sequence. num_splits has no effect. There are no gradients, as in
    flash_attn."""
    if block_table is not None and cache_batch_idx is not None:
        raise NotImplementedError("flash_attn.flash_attn_with_kvcache: block_table and cache_batch_idx exclude each other")
    if cache_batch_idx is not None:  # The entries of the cache are pages, each with a whole sequence.
        block_table = cache_batch_idx.int()[:, None]
    batch, device = q.shape[0], q.device
    longest = k_cache.shape[1] * (block_table.shape[1] if block_table is not None else 1)
    if cache_seqlens is None:
        cache_seqlens = longest
    if rotary_cos is not None and k is None:
        raise ValueError("flash_attn.flash_attn_with_kvcache: rotary_cos needs k and v")
    if isinstance(cache_seqlens, int):
        cache_seqlens = torch.full((batch,), cache_seqlens, dtype=torch.int32, device=device)
    lengths = cache_seqlens
    if k is not None:
        rotated = None if rotary_cos is None else torch.empty_like(q)
        queries = (None, None) if rotated is None else (q.transpose(1, 2), rotated.transpose(1, 2))
        has_positions = causal or tuple(window_size) != (-1, -1)  # Otherwise all queries are at the first new key.
        _operators.append(*(x.transpose(1, 2) for x in (k, k_cache, v, v_cache)), cache_seqlens.int(), block_table, rotary_cos,
                          rotary_sin, *queries, rotary_interleaved, not has_positions)
        q = q if rotated is None else rotated
        lengths = cache_seqlens + k.shape[1]

    def attend(rows, alibi_slopes):
        k, v = (x.transpose(1, 2) if block_table is not None else x.transpose(1, 2)[rows] for x in (k_cache, v_cache))
        return decode(q.transpose(1, 2)[rows], k, v, lengths.int()[rows], None if block_table is None else block_table[rows],
                      causal=causal, window=_window(window_size), scale=softmax_scale, softcap=softcap,
                      alibi_slopes=alibi_slopes, begins=None if cache_leftpad is None else cache_leftpad[rows],
                      return_lse=True)

    with torch.no_grad():
        if alibi_slopes is None or alibi_slopes.dim() == 1:
            o, lse = attend(slice(None), alibi_slopes)
        else:  # [batch, heads] takes one call for each entry of the batch.
            parts = [attend(slice(n, n + 1), alibi_slopes[n]) for n in range(batch)]
            o, lse = (torch.cat(results) for results in zip(*parts))
    o = o.transpose(1, 2)
    return (o, lse) if return_softmax_lse else o


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, max_seqlen_k=None, dropout_p=0.0,
                           softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                           deterministic=False, return_attn_probs=False, block_table=None):
    """Returns o [total_q, heads, value_dim]; with `return_attn_probs` o, lse, float32 [heads, total_q], and None.

    q is [total_q, heads, dim], k and v [total_k, kv_heads, dim]: sequences one after another. Sequence n has queries
    cu_seqlens_q[n] to cu_seqlens_q[n + 1] - 1, and keys in the same way; both are int32 [sequences + 1] on the device of q, and
    no call waits for them. Causal masks, windows and ALiBi count from the last query and key of each sequence. alibi_slopes are
    float32 [heads] or [sequences, heads]. With a block_table, int32 [sequences, pages], k and v are [pages, page_size, kv_heads,
    dim], and there are no gradients. max_seqlen_q and max_seqlen_k have no effect."""
    name = "flash_attn.flash_attn_varlen_func: Tegula has no "
    if return_attn_probs and dropout_p > 0:
        raise NotImplementedError(name + "s_dmask with cu_seqlens")
    left, right = _window(window_size)
    options = dict(left=left, right=0 if causal else right, scale=softmax_scale, softcap=softcap)
    if block_table is not None:
        if dropout_p:
            raise NotImplementedError(name + "dropout with block_table")
        o, lse = _varlen.attend_pages(q, k.transpose(1, 2), v.transpose(1, 2), cu_seqlens_q, cu_seqlens_k.diff(), block_table,
                                      alibi_slopes=alibi_slopes, **options)
    elif alibi_slopes is None:
        o, lse = _varlen.attend(q, k, v, cu_seqlens_q, cu_seqlens_k, dropout_p=dropout_p, deterministic=deterministic, **options)
    elif dropout_p:
        raise NotImplementedError(name + "dropout with alibi_slopes and cu_seqlens")
    else:
        o, lse = _varlen.attend_with_slopes(q, k, v, cu_seqlens_q, cu_seqlens_k, alibi_slopes, deterministic=deterministic,
                                            **options)
    if dropout_p:  # As in flash_attn_func.
        o = o * (round(256 * (1 - dropout_p)) / 256 / (1 - dropout_p))
    return (o, lse, None) if return_attn_probs else o


def flash_attn_varlen_kvpacked_func(q, kv, *args, **options):
    """Calls flash_attn_varlen_func with the keys and values of kv [total_k, 2, kv_heads, dim]."""
    return flash_attn_varlen_func(q, kv[:, 0], kv[:, 1], *args, **options)


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen=None, *args, **options):
    """Calls flash_attn_varlen_func with the queries, keys and values of qkv [total, 3, heads, dim]."""
    return flash_attn_varlen_func(*qkv.unbind(1), cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **options)
