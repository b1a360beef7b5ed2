# SPDX-License-Identifier: MIT
"""What writes keys and values into a cache, and rotary embeddings."""

import torch

from . import _operators


def append_to_cache(k_new, k_cache, lengths, v_new=None, v_cache=None, page_table=None):
    """Writes new keys and values of each sequence into a cache, after those that it has.

    k_new       [batch, kv_heads, new, head_dim], in float32, float16 or bfloat16, with any strides
    k_cache     [batch, kv_heads, longest, head_dim]; with a page table [pages, kv_heads, page_size, head_dim]
    lengths     int32 [batch], on the device of k_new: the keys that each sequence has before
    v_new, v_cache  the same with value_dim
    page_table  int32 [batch, pages of a sequence]: key j goes to page page_table[j // page_size], at j % page_size

    No call waits for the GPU. Rows that have no place in the cache are dropped. There are no gradients. Raises RuntimeError with the
    message of the library."""
    with torch.no_grad():
        _operators.append(k_new, k_cache, v_new, v_cache, lengths, page_table, None, None, None, None, False, False)


class _Rotary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin, positions, interleaved):
        ctx.save_for_backward(cos, sin, positions)
        ctx.interleaved = interleaved
        y = torch.empty_like(x)
        _operators.rotary(x, cos, sin, positions, y, interleaved)
        return y

    @staticmethod
    def backward(ctx, dy):
        cos, sin, positions = ctx.saved_tensors
        return _Rotary.apply(dy, cos, -sin, positions, ctx.interleaved), None, None, None, None


def rotary_embedding(x, cos, sin, positions, *, interleaved=False):
    """Returns x [batch, heads, length, dim] with a rotary embedding (RoFormer, Su et al. 2021), in float32, float16 or bfloat16.

    cos, sin     [count, rotary_dim / 2], in the type of x: the first rotary_dim columns rotate
    positions    int32 [batch, length], rows of cos and sin
    interleaved  columns 2 i and 2 i + 1 are a pair, as in RoFormer; otherwise i and i + rotary_dim / 2

    x has a gradient. Raises RuntimeError with the message of the library."""
    return _Rotary.apply(x, cos, sin, positions, interleaved)
