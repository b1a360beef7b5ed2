# SPDX-License-Identifier: MIT
"""A drop-in for torch.nn.functional.scaled_dot_product_attention."""

import contextlib
import threading

import torch

from . import _operators
from ._attention import compute, refusal

_original = torch.nn.functional.scaled_dot_product_attention


class Counts:
    """How many calls Tegula computed while `patched` was active, and how many it left to PyTorch, by reason."""

    def __init__(self):
        self.lock, self.computed, self.left = threading.Lock(), 0, {}

    def add(self, reason):
        with self.lock:
            if reason is None:
                self.computed += 1
            else:
                self.left[reason] = self.left.get(reason, 0) + 1


def _four_dimensional(x, lead):
    """Returns `x` with the first dimensions `lead`, as [batch, heads, length, dim]."""
    if x.shape[:-2] != lead:
        x = x.expand(*lead, *x.shape[-2:])
    if x.dim() == 4:
        return x
    if x.dim() > 4:
        return x.reshape(-1, *x.shape[-3:])
    return x[(None,) * (4 - x.dim())]


def _leads(query, key, value, enable_gqa):
    """Returns the shapes before the last two dimensions, after broadcasting. With enable_gqa, the numbers of heads stay."""
    kept = 3 if enable_gqa else 2
    leads = [x.shape[:-kept] for x in (query, key, value)]
    if leads[0] != leads[1] or leads[0] != leads[2]:
        leads = [torch.broadcast_shapes(*leads)] * 3
    return [(*lead, *x.shape[-kept:-2]) for lead, x in zip(leads, (query, key, value))]


def _autocast(*tensors):
    """Returns the tensors in the type of an active autocast, as PyTorch's function takes them."""
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        return tensors
    return [x.to(torch.get_autocast_dtype(device)) if x is not None and x.is_floating_point() else x for x in tensors]


def _reason(query, key, value, attn_mask, dropout_p, enable_gqa):
    """Returns why Tegula does not compute a call, or None."""
    if min(x.dim() for x in (query, key, value)) < (3 if enable_gqa else 2):
        return "a tensor has too few dimensions"
    if 0.998 < dropout_p:
        return f"dropout_p is {dropout_p}; it may be at most 0.998"
    if 0 < dropout_p < 0.002:
        return f"dropout_p is {dropout_p}; it must be 0 or at least 0.002"
    if attn_mask is not None and attn_mask.dim() > 4:
        return f"attn_mask has {attn_mask.dim()} dimensions; it may have 4"
    if attn_mask is not None and attn_mask.device != query.device:
        return f"attn_mask is on {attn_mask.device}, and query is on {query.device}; they must be equal"
    return refusal(query, key, value)


def _compute(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    if attn_mask is not None and is_causal:
        raise ValueError("scaled_dot_product_attention: attn_mask must be None if is_causal is set")
    leads = _leads(query, key, value, enable_gqa)
    q, k, v = (_four_dimensional(x, lead) for x, lead in zip((query, key, value), leads))
    bias = mask = None
    if attn_mask is not None:
        if len(leads[0]) > 2:
            attn_mask = _four_dimensional(attn_mask.expand(*attn_mask.shape[:-2], q.shape[-2], k.shape[-2]), leads[0])
        if attn_mask.dtype == torch.bool:
            mask = attn_mask
        else:
            bias = attn_mask if attn_mask.dtype in (q.dtype, torch.float32) else attn_mask.float()
    o, _ = compute(q, k, v, bias=bias, mask=mask, causal=is_causal, scale=scale, dropout_p=dropout_p)
    return o if o.dim() == len(leads[0]) + 2 == 4 else o.reshape(*leads[0], *o.shape[-2:])


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """Computes what torch.nn.functional.scaled_dot_product_attention computes, with the same arguments.

    A causal mask counts from the first query and key. A bool mask is True where a query sees a key, and a float mask is added.
    A row that sees no key gives 0. attn_mask may want a gradient. Raises NotImplementedError with the reason for what Tegula
    does not compute, such as float64."""
    if attn_mask is None and not dropout_p:
        o, _ = _operators.plain(query, key, value, scale, is_causal, enable_gqa)
        if o is not None:
            return o
    query, key, value, attn_mask = _autocast(query, key, value, attn_mask)
    reason = _reason(query, key, value, attn_mask, dropout_p, enable_gqa)
    if reason:
        raise NotImplementedError("tegula.scaled_dot_product_attention: " + reason)
    return _compute(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


@contextlib.contextmanager
def patched():
    """Redirects torch.nn.functional.scaled_dot_product_attention to Tegula, and returns Counts.

    PyTorch computes the calls that Tegula does not compute, and those under a sdpa_kernel() that excludes flash attention.
    Compiled code does not see sdpa_kernel(), and does not count. Code that imported the function by name before is not
    redirected."""
    counts = Counts()

    def function(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if attn_mask is None and not dropout_p and not torch.compiler.is_compiling() and torch.backends.cuda.flash_sdp_enabled():
            o, _ = _operators.plain(query, key, value, scale, is_causal, enable_gqa)
            if o is not None:
                counts.add(None)
                return o
        inputs = _autocast(query, key, value, attn_mask)
        reason = _reason(*inputs, dropout_p, enable_gqa)
        if not torch.compiler.is_compiling():  # What follows has no graph.
            if not torch.backends.cuda.flash_sdp_enabled():
                reason = "sdpa_kernel() excludes flash attention"
            counts.add(reason)
        if reason is None:
            return _compute(*inputs, dropout_p, is_causal, scale, enable_gqa)
        return _original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    before = torch.nn.functional.scaled_dot_product_attention
    torch.nn.functional.scaled_dot_product_attention = function
    try:
        yield counts
    finally:
        torch.nn.functional.scaled_dot_product_attention = before
