# SPDX-License-Identifier: MIT
"""Attention from the Python package `tegula`, with gradients, and in place of PyTorch's own (docs/python.md)."""

import torch
import tegula

q, k, v = (torch.randn(2, 8, 512, 64, requires_grad=True) for _ in range(3))
o, lse = tegula.attention(q, k, v, causal=True, window=(128, None), softcap=30.0)
o.sum().backward()

import torch.nn.functional as F

with tegula.patched() as counts:
    F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(counts.computed, counts.left)

table = torch.randn(8, 1023, requires_grad=True)


def relative_bias(score, b, h, q_idx, kv_idx):
    return score + table[h, q_idx - kv_idx + 511]


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


block_mask = tegula.create_block_mask(causal, None, None, 512, 512)
tegula.flex_attention(q, k, v, relative_bias, block_mask).sum().backward()
assert table.grad.shape == table.shape
