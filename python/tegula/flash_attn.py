# SPDX-License-Identifier: MIT
"""The functions of the package flash_attn (Dao-AILab/flash-attention, version 2) for fixed lengths.

Tensors are [batch, length, heads, dim]. Causal masks, windows and ALiBi count from the last query and key. What Tegula does not
compute raises NotImplementedError with its name.
"""

import sys

import torch

from ._attention import attention

__all__ = ["install", "flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache"]


def install():
    """Makes this module the package flash_attn of the process, for code that imports flash_attn by name."""
    sys.modules["flash_attn"] = sys.modules["flash_attn.flash_attn_interface"] = sys.modules[__name__]


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
        window=tuple(None if bound < 0 else int(bound) for bound in window_size), scale=softmax_scale, softcap=softcap,
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


def _refused(name, what):
    def function(*args, **options):
        raise NotImplementedError(f"flash_attn.{name}: Tegula has no {what}")

    function.__name__ = name
    return function


flash_attn_varlen_func = _refused("flash_attn_varlen_func", "sequences of variable lengths in one tensor")
flash_attn_varlen_kvpacked_func = _refused("flash_attn_varlen_kvpacked_func",
                                           "sequences of variable lengths in one tensor")
flash_attn_varlen_qkvpacked_func = _refused("flash_attn_varlen_qkvpacked_func",
                                            "sequences of variable lengths in one tensor")
flash_attn_with_kvcache = _refused("flash_attn_with_kvcache", "cache of keys and values")
