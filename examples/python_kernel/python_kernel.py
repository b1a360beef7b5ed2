# SPDX-License-Identifier: MIT
"""Flash attention, written in Python (docs/python.md), compared with PyTorch's."""

import math

import torch

import tegula
from tegula import language as tl


@tegula.kernel
def attention(q: tl.Tensor(None, 4), k: tl.Tensor(None, 4), v: tl.Tensor(None, 4), o: tl.Tensor(None, 4),
              scale: tl.Scalar("f32"), *, dim, causal=False, block_m=64, block_n=64):
    row, head, batch = tl.program_id(0) * block_m, tl.program_id(1), tl.program_id(2)
    k, v = k.at(batch, head), v.at(batch, head)
    queries = q.at(batch, head).load(row, [block_m, dim])
    end = tl.min(row + block_m, k.dim(0)) if causal else k.dim(0)
    m = tl.Var(tl.fill([block_m], -1e30))
    l = tl.Var(tl.fill([block_m], 0.0))
    acc = tl.Var(tl.fill([block_m, dim], 0.0))
    for key in tl.range(0, end, block_n):
        s = tl.dot(queries, tl.transpose(k.load(key, [block_n, dim]))) * scale
        columns = tl.as_row(key + tl.iota(block_n))
        seen = columns < k.dim(0)
        if causal:
            seen = seen & (columns <= tl.as_column(row + tl.iota(block_m)))
        s = tl.select(seen, s, -math.inf)
        larger = tl.max(m, tl.row_max(s))
        p, factor = tl.exp(s - tl.as_column(larger)), tl.exp(m - larger)
        l.assign(l * factor + tl.row_sum(p))
        acc.assign(tl.dot(tl.cast(v.dtype, p), v.load(key, [block_n, dim]), acc * tl.as_column(factor)))
        m.assign(larger)
    o.at(batch, head).store(row, acc / tl.as_column(l))


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q, k, v = (torch.randn(2, 4, 300, 64, device=device) for _ in range(3))
    for causal in (False, True):
        o = torch.empty_like(q)
        attention[-(-300 // 64), 4, 2](q, k, v, o, 64 ** -0.5, dim=64, causal=causal)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        print(f"causal {causal}: equal {torch.allclose(o, expected, atol=1e-5)}")


main()
