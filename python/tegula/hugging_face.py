# SPDX-License-Identifier: MIT
"""Attention for Hugging Face transformers: register(), then from_pretrained(..., attn_implementation="tegula")."""

import torch

from ._attention import attention


def _attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, softcap=None,
               s_aux=None, **_):
    """Returns o as [batch, length, heads, dim], and None for the probabilities. `s_aux` are the sinks.

    Windows and padding arrive in attention_mask, bool [batch, 1, seqlen_q, seqlen_k], True where a query sees a key."""
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    causal = attention_mask is None and is_causal and query.shape[2] > 1
    is_bool = attention_mask is not None and attention_mask.dtype == torch.bool
    o, _ = attention(query, key, value, mask=attention_mask if is_bool else None,
                     bias=None if is_bool else attention_mask, causal=causal, scale=scaling, softcap=softcap or 0.0,
                     sinks=None if s_aux is None else s_aux.float(), dropout_p=dropout if module.training else 0.0)
    return o.transpose(1, 2).contiguous(), None


def register(name="tegula"):
    """Registers the attention and its mask. Without the mask function transformers would drop padding."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    AttentionInterface.register(name, _attention)
    AttentionMaskInterface.register(name, sdpa_mask)
