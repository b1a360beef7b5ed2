# SPDX-License-Identifier: MIT
"""Sigmoid attention forward in Triton, with the usual tiles for an H100 tried by its tuner."""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"M": m, "N": n}, num_warps=warps, num_stages=stages)
           for m, n, warps in ((128, 64, 4), (128, 64, 8), (128, 128, 8)) for stages in (2, 3)]


@triton.autotune(CONFIGS, key=["queries", "keys"])
@triton.jit
def kernel(Q, K, V, O, scale, shift, queries, keys, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    head, i = tl.program_id(1), tl.program_id(0) * M + tl.arange(0, M)
    d, j = tl.arange(0, D), tl.arange(0, N)
    rows, columns = head.to(tl.int64) * queries * D, head.to(tl.int64) * keys * D
    q = tl.load(Q + rows + i[:, None] * D + d[None, :], mask=i[:, None] < queries, other=0.0)
    o = tl.zeros([M, D], tl.float32)
    for start in range(0, keys, N):
        inside = (start + j)[:, None] < keys
        at = columns + (start + j)[:, None] * D + d[None, :]
        k, v = tl.load(K + at, mask=inside, other=0.0), tl.load(V + at, mask=inside, other=0.0)  # v is 0 beyond the end.
        p = tl.sigmoid(tl.dot(q, tl.trans(k)) * scale + shift)
        o = tl.dot(p.to(v.dtype), v, o)
    tl.store(O + rows + i[:, None] * D + d[None, :], o.to(O.dtype.element_ty), mask=i[:, None] < queries)


def forward(q, k, v, scale, shift):
    """q, k, v: contiguous [batch, heads, length, head_dim]."""
    o = torch.empty_like(q)
    batch, heads, queries, dim = q.shape
    kernel[lambda of: (triton.cdiv(queries, of["M"]), batch * heads)](q, k, v, o, scale, shift, queries, k.shape[2], D=dim)
    return o
