# SPDX-License-Identifier: MIT
"""Kernels that are written in Python (docs/python.md): a sum, a matrix product and flash attention."""

import math

import torch

import tegula
from tegula import language as tl


@tegula.kernel
def scaled_add(x: tl.Tensor("f32", 1), y: tl.Tensor("f32", 1), out: tl.Tensor("f32", 1), a: tl.Scalar("f32")):
    i = tl.program_id(0) * 256
    out.store(i, x.load(i, [256]) * a + y.load(i, [256]))


x, y, out = torch.randn(1000), torch.randn(1000), torch.empty(1000)
scaled_add[(1000 + 255) // 256](x, y, out, 2.0)
print(f"scaled_add: equal {torch.allclose(out, 2.0 * x + y)}")


@tegula.kernel
def matmul(a: tl.Tensor(None, 2), b: tl.Tensor(None, 2), c: tl.Tensor("f32", 2), m=64, n=64, k=32):
    i, j = tl.program_id(0) * m, tl.program_id(1) * n
    acc = tl.Var(tl.fill([m, n], 0.0))
    for p in tl.range(0, a.dim(1), k):
        acc += a.load([i, p], [m, k]) @ b.load([p, j], [k, n])
    c.store([i, j], acc)


a, b, c = torch.randn(300, 200), torch.randn(200, 100), torch.empty(300, 100)
matmul[5, 2](a, b, c)
print(f"matmul: equal {torch.allclose(c, a @ b, atol=1e-4)}")

tuned = matmul.tune(lambda c, m, n: ((c.shape[0] + m - 1) // m, (c.shape[1] + n - 1) // n), a, b, c, m=[32, 64],
                    n=[32, 64], seconds=20)
tuned(a, b, c)
print(f"matmul, tuned: equal {torch.allclose(c, a @ b, atol=1e-4)}")


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


device = "cuda" if torch.cuda.is_available() else "cpu"
q, k, v = (torch.randn(2, 4, 300, 64, device=device) for _ in range(3))
for causal in (False, True):
    o = torch.empty_like(q)
    attention[(300 + 63) // 64, 4, 2](q, k, v, o, 64 ** -0.5, dim=64, causal=causal)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    print(f"attention, causal {causal}: equal {torch.allclose(o, expected, atol=1e-4)}")
