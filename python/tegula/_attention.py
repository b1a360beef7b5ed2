# SPDX-License-Identifier: MIT
"""Attention with all options that the operators have."""

import math

import torch

from . import _operators

_NO_BOUND = -1
_LARGEST_DIM = 256
_DIM_UNIT = 8
_SCORES = ("products", "scores", "probabilities")
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def refusal(q, k, v, largest=(_LARGEST_DIM,) * 3):
    """Returns why no kernel computes attention of these tensors, or None. `largest` are the largest last dimensions."""
    dtype, device = q.dtype, q.device
    for name, x, most in zip(("q", "k", "v"), (q, k, v), largest):
        shape = x.shape
        if x.dtype != dtype:
            return f"{name} is {x.dtype}, and q is {dtype}; they must be equal"
        if x.device != device:
            return f"{name} is on {x.device}, and q is on {device}; they must be equal"
        if shape[-1] > most:
            return f"the last dimension of {name} is {shape[-1]}; it may be at most {most}"
        if 0 in shape:
            return f"{name} has the shape {tuple(shape)}; it must have elements"
    if dtype not in _TYPES:
        return f"q is {dtype}; it must be float32, float16 or bfloat16"
    if not (q.is_cpu or q.is_cuda):
        return f"q is on {device}; it must be on a CPU or a CUDA device"
    return None


def padded(x):
    """Returns `x` with adjacent elements along the last dimension. On a GPU it gets zeros there up to a multiple of 8, because rows
    are then copied 16 bytes at a time."""
    missing = -x.shape[-1] % _DIM_UNIT
    if missing and not x.is_cpu:
        return torch.nn.functional.pad(x, (0, missing))
    return x if x.is_contiguous() or x.stride(-1) == 1 else x.contiguous()  # The first test is the cheaper one.


def attention(q, k, v, *, bias=None, mask=None, causal=False, window=(None, None), bottom_right=False, diagonal_offset=None,
              interval_begin=None, interval_end=None, query_begin=None, query_end=None, query_offsets=None, key_offsets=None,
              scale=None, softcap=0.0, alibi_slopes=None, sinks=None, dropout_p=0.0, dropout_state=None, deterministic=False,
              return_scores=None):
    """Returns o [batch, heads, seqlen_q, value_dim] and lse, float32 [batch, heads, seqlen_q], the natural logarithm of the
    denominator; with `return_scores` also a number of each score, float32 [batch, heads, seqlen_q, seqlen_k].

    q [batch, heads, seqlen_q, head_dim], k [batch, kv_heads, seqlen_k, head_dim] and v [batch, kv_heads, seqlen_k, value_dim]
    have any strides. Query heads share kv heads as repeat_interleave would repeat them. A row that sees no key gives o = 0.

    bias             added to the scores, in the type of q or float32; repeats to [batch, heads, seqlen_q, seqlen_k]
    mask             bool or int8: a query sees a key where it is not 0; repeats in the same way
    causal           a query sees keys up to its diagonal
    window           (left, right): a query sees keys from diagonal - left to diagonal + right; None is no bound
    bottom_right     the diagonal is the last query's: query i counts from key i + seqlen_k - seqlen_q; otherwise from key i
    diagonal_offset  int32 [batch] or [1], added to the diagonal: the number of keys before the first query's, as in a cache
    interval_begin   int32: a query sees keys from interval_begin on; repeats to [batch, seqlen_q], and does not decrease there
    interval_end     int32: a query sees keys before interval_end; the same. [batch, 1] has the lengths of padded sequences
    query_begin      int32 [batch, seqlen_k]: the inverse of the intervals, which are then [batch, seqlen_q]. Queries query_begin
    query_end        to query_end - 1 see a key; neither decreases. With them the backward pass skips tiles, too
    query_offsets    int32 [sequences + 1], if these are the intervals of sequences that lie one after another: the first query of
    key_offsets      each sequence and the end of the last one, and the same for keys. Kernels then begin with long sequences
    scale            factor on the scores; None: 1 / sqrt(head_dim)
    softcap          score -> softcap * tanh(score / softcap); 0: none
    alibi_slopes     float32 [heads]: score -> score - slope * |diagonal - key|
    sinks            float32 [heads]: a logit in the denominator of each row
    dropout_p        the probability of dropping an element of the softmax, up to 0.998
    dropout_state    int64 [2] on the device of q: seed and offset of dropout; None: drawn from PyTorch's generator
    deterministic    writes the same gradients in each run, as torch.use_deterministic_algorithms() does
    return_scores    "products": scale * q k^T; "scores": what bias, softcap, ALiBi and masks make of them, -inf where a query
                     does not see a key; "probabilities": the softmax, negated where dropout drops. They have no gradient

    o and lse have gradients for q, k, v, bias and sinks. Raises ValueError, NotImplementedError, or RuntimeError with the
    message of the library."""
    has_tensors = not (bias is mask is diagonal_offset is interval_begin is interval_end is alibi_slopes is sinks is None)
    bounds = [x is not None for x in (query_begin, query_end, interval_begin, interval_end)]
    if any(bounds[:2]) and not all(bounds):
        raise ValueError("tegula.attention: query_begin and query_end need each other, interval_begin and interval_end")
    offsets = [x is not None for x in (query_offsets, key_offsets)]
    if any(offsets) and not all(offsets + bounds):
        raise ValueError("tegula.attention: query_offsets and key_offsets need each other, and all four bounds of intervals")
    has_diagonal = window != (None, None) or causal and bottom_right
    if not (has_tensors or has_diagonal or softcap or dropout_p or deterministic or return_scores):
        o, lse = _operators.plain(q, k, v, scale, causal, grouped=True)
        if o is not None:
            return o, lse
    reason = refusal(q, k, v)
    if reason:
        raise NotImplementedError("tegula.attention: " + reason)
    if return_scores is not None and return_scores not in _SCORES:
        raise ValueError(f"tegula.attention: return_scores is {return_scores!r}; it must be None or one of {_SCORES}")
    return compute(q, k, v, bias, mask, causal, window, bottom_right, diagonal_offset, interval_begin, interval_end,
                   query_begin, query_end, query_offsets, key_offsets, scale, softcap, alibi_slopes, sinks, dropout_p,
                   dropout_state, deterministic, return_scores)


def compute(q, k, v, bias=None, mask=None, causal=False, window=(None, None), bottom_right=False, diagonal_offset=None,
            interval_begin=None, interval_end=None, query_begin=None, query_end=None, query_offsets=None, key_offsets=None,
            scale=None, softcap=0.0, alibi_slopes=None, sinks=None, dropout_p=0.0, dropout_state=None, deterministic=False,
            return_scores=None):
    """Returns what attention() returns, for tensors that it does not refuse."""
    if dropout_p and dropout_state is None:
        dropout_state = torch.randint(2**62, (2,), dtype=torch.int64, device=q.device)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    elif scale == 0:  # The library takes 0 for the default.
        q, scale = q * 0, 1.0
    left, right = (_NO_BOUND if bound is None else bound for bound in window)
    if not interval_begin is interval_end is None:
        interval_begin = q.new_zeros(1, dtype=torch.int32) if interval_begin is None else interval_begin
        interval_end = q.new_full((1,), k.shape[2], dtype=torch.int32) if interval_end is None else interval_end
    tensors = padded(q), padded(k), padded(v)
    options = (scale, causal, bias, mask, alibi_slopes, sinks, dropout_state if dropout_p else None, diagonal_offset,
               interval_begin, interval_end, query_begin, query_end, query_offsets, key_offsets, bottom_right, left, right,
               softcap, dropout_p, deterministic or torch.are_deterministic_algorithms_enabled())
    o, lse = _operators.attention(*tensors, *options)
    o = o if o.shape[-1] == v.shape[-1] else o[..., :v.shape[-1]]
    if return_scores is None:
        return o, lse
    with torch.no_grad():
        return o, lse, _operators.scores(*tensors, _SCORES.index(return_scores) + 1, *options)
